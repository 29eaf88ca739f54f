"""Checkpoints: everything a run needs to go on exactly, in a folder that appears whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from loci_looped.utils.errors import LociError

STATE = "state.json"
NAME = re.compile(r"update-(\d{9})")
KEPT = 3
VERSION = 1


@dataclass(frozen=True)
class Checkpoint:
    update: int
    tensors: dict[str, dict[str, Tensor]]   # by file: "weights", "average", "optimiser", "random"
    values: dict[str, Any]                  # counters, clocks, running means, configuration


def write_checkpoint(
    folder: Path, checkpoint: Checkpoint, keep: int = KEPT, spared: Collection[int] = ()
) -> Path:
    """Write beside, flush to disk, rename: a kill or a full disk at any moment leaves the one before intact.

    The newest `keep` stay, and those of the updates `spared`.
    """
    target = folder / f"update-{checkpoint.update:09d}"
    partial = folder / f".partial-{os.getpid()}-{checkpoint.update:09d}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left_over in folder.glob(".partial-*"):
            shutil.rmtree(left_over, ignore_errors=True)
        partial.mkdir()
        sums = {}
        for name, tensors in checkpoint.tensors.items():
            content = save({key: value.detach().cpu().contiguous() for key, value in tensors.items()})
            sums[f"{name}.safetensors"] = hashlib.sha256(content).hexdigest()
            _write(partial / f"{name}.safetensors", content)
        state = {"version": VERSION, "update": checkpoint.update, "sha256": sums, "values": checkpoint.values}
        state["checksum"] = _checksum(state)
        _write(partial / STATE, json.dumps(state, indent=1).encode())
        _sync(partial)
        if target.exists():
            # A second checkpoint of one update holds the same; the first is only worth moving if it is damaged.
            if _is_whole(target):
                shutil.rmtree(partial)
                return target
            os.replace(target, folder / f".partial-damaged-{checkpoint.update:09d}")
        os.replace(partial, target)
        _sync(folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        reason = error.strerror or str(error)
        raise LociError(
            f"The checkpoint of update {checkpoint.update} could not be written to {folder}: {reason}. "
            "The one before it is intact; free some space."
        ) from error
    passing = [path for path in checkpoints(folder) if int(path.name.removeprefix("update-")) not in spared]
    for old in passing[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def _checksum(state: dict[str, Any]) -> str:
    """Of what will be read again: JSON makes lists of tuples, and words of the numbers that name things."""
    return hashlib.sha256(json.dumps(json.loads(json.dumps(state)), sort_keys=True).encode()).hexdigest()


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_whole(path: Path) -> bool:
    try:
        read_checkpoint(path)
    except LociError:
        return False
    return True


def checkpoints(folder: Path) -> list[Path]:
    """Finished checkpoints, oldest first."""
    return sorted(path for path in folder.glob("update-*") if NAME.fullmatch(path.name))


def read_checkpoint(path: Path) -> Checkpoint:
    """One checkpoint, its checksums verified; anything wrong is a sentence."""
    try:
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        if state["version"] != VERSION:
            raise LociError(f"{path} was written by another version of this package ({state['version']}).")
        told = state.pop("checksum", None)          # those of version 0.1.0 had none
        if told is not None and told != _checksum(state):
            raise LociError(f"{path / STATE} is damaged: its checksum does not match.")
        tensors = {}
        for name, wanted in state["sha256"].items():
            file = path / name
            content = file.read_bytes()
            if hashlib.sha256(content).hexdigest() != wanted:
                raise LociError(f"{file} is damaged: its checksum does not match.")
            tensors[file.stem] = load(content)
        return Checkpoint(int(state["update"]), tensors, state["values"])
    except LociError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, SafetensorError) as error:
        raise LociError(f"{path} is no complete checkpoint ({error}).") from error


def newest_checkpoint(folder: Path) -> Checkpoint:
    """The newest one that is whole; a damaged newer one is passed over with a warning."""
    found = checkpoints(folder)
    if not found:
        raise LociError(f"There is no checkpoint in {folder}: nothing can be resumed or loaded from there.")
    for path in reversed(found):
        try:
            return read_checkpoint(path)
        except LociError as error:
            warnings.warn(f"{error} Falling back to the checkpoint before it.", stacklevel=2)
    raise LociError(f"None of the {len(found)} checkpoints in {folder} is whole; the run has to be started again.")
