"""May a run be taken up with this configuration? Only with its own, apart from what does not change its course."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from loci_looped.configs.rivals import read_run_config
from loci_looped.configs.training import RunConfig, differences
from loci_looped.utils.checkpoint import Checkpoint
from loci_looped.utils.errors import LociError

RESUME_MAY_CHANGE = ("minutes", "checkpoint_minutes", "log_every", "validate_every", "validation_scenes")
"""What does not change the course of training may differ when a run is resumed."""


def config_of(found: Checkpoint) -> RunConfig:
    """The configuration a checkpoint's run was started with."""
    return read_run_config(found.values["config"])


def resumed_config(found: Checkpoint, wanted: RunConfig, folder: Path) -> RunConfig:
    """The wanted configuration, unless it differs from the run's own in a way that matters."""
    own = config_of(found)
    if own.kind != wanted.kind:
        raise LociError(
            f"The run in {folder} trains a {own.kind} network, but {wanted.name} is a recipe for {wanted.kind}: resume "
            f"it with its own recipe, {own.name}, or with none."
        )
    if wanted.precision == "auto":
        wanted = dataclasses.replace(wanted, precision=own.precision)
    harmless = {name: getattr(wanted, name) for name in RESUME_MAY_CHANGE}
    changed = differences(dataclasses.replace(own, **harmless), wanted)
    if changed:
        raise LociError(
            f"The run in {folder} cannot go on with another configuration. These fields differ (the run's -> yours): "
            + "; ".join(changed) + ". Leave them as they were, or start a new run with --out."
        )
    return wanted
