"""What can be wrong with a command line is said before any work is done, and before torch is loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from loci_looped.utils.errors import LociError

if TYPE_CHECKING:
    from loci_looped.configs.training import RunConfig


def check_seed(seed: int, flag: str = "--seed") -> None:
    if seed < 0:
        raise LociError(f"{flag} is a whole number from 0 on, not {seed}.")


def check_at_least(value: float, least: float, flag: str) -> None:
    if not value >= least:
        raise LociError(f"{flag} is {least:g} or more, not {value:g}.")


def check_folder(path: Path, flag: str = "--out") -> None:
    """Can files be put into this folder, which may not exist yet?"""
    for place in (path, *path.parents):
        if place.is_dir():
            if not os.access(place, os.W_OK | os.X_OK):
                raise LociError(f"{flag} {path} cannot be written: you are not allowed to put files into {place}.")
            return
        if place.exists():
            raise LociError(f"{place} is a file, but a folder is needed there; choose another with {flag}.")


def check_file(path: Path, flag: str) -> None:
    """Can this file be written?"""
    if path.is_dir():
        raise LociError(f"{flag} {path} is a folder; give the name of a file.")
    check_folder(path.parent, flag)


def check_training(config: RunConfig) -> None:
    """The numbers of a run that would otherwise fail, or end it, somewhere inside."""
    check_seed(config.seed)
    check_seed(config.data.first_seed, "--data.first-seed")
    for flag, value, least in (
        ("--minutes", config.minutes, 0), ("--checkpoint-minutes", config.checkpoint_minutes, 0),
        ("--log-every", config.log_every, 1), ("--validate-every", config.validate_every, 1),
        ("--validation-scenes", config.validation_scenes, 0), ("--warm-up", config.warm_up_steps, 0),
    ):
        check_at_least(value, least, flag)
