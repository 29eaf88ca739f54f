"""A new run that begins at a checkpoint of another one, under a configuration of its own.

So variants share a beginning: an Unlooped twin, an ablation. All that a checkpoint holds is kept (weights, moving
average, optimiser, counters, random numbers), and with an equal configuration the branch is the other run, bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from loci_looped.configs.training import RunConfig, differences
from loci_looped.training.log import LOG
from loci_looped.training.resume import config_of
from loci_looped.utils.atomic import write_text
from loci_looped.utils.checkpoint import Checkpoint, checkpoints, newest_checkpoint, read_checkpoint
from loci_looped.utils.errors import LociError

LISTED = 12
"""So many parts of a network are named in a sentence; of more than that, the rest is counted."""


@dataclass(frozen=True)
class Branch:
    """A checkpoint as the new configuration needs it, and what there is to tell about it."""

    checkpoint: Checkpoint
    run: str                        # the name of the other run's folder
    changed: tuple[str, ...]        # "field: the run's value -> ours"
    sentences: tuple[str, ...]


def starting_point(run: Path, update: int | None) -> Checkpoint:
    """The checkpoint of that update, or the newest whole one."""
    folder = run / "checkpoints"
    if update is None:
        return newest_checkpoint(folder)
    there = {int(path.name.removeprefix("update-")): path for path in checkpoints(folder)}
    if not there:
        raise LociError(f"There is no checkpoint in {folder}: no run can start from there.")
    if update not in there:
        raise LociError(
            f"The run in {run} has no checkpoint of update {update}; it has those of {_listed(there)}. Choose one of "
            "them with --start-update, or leave it out for the newest."
        )
    try:
        return read_checkpoint(there[update])
    except LociError as error:
        raise LociError(f"{error} Choose another with --start-update: there are {_listed(there)}.") from error


def branch_of(found: Checkpoint, run: Path, config: RunConfig, fresh: Mapping[str, Tensor]) -> Branch:
    """Fit another run's checkpoint to this configuration, whose untrained network has the tensors `fresh`."""
    own = config_of(found)
    if own.kind != config.kind:
        raise LociError(
            f"The run {run} trains a {own.kind} network, but {config.name} is a recipe for {config.kind}: a run can "
            "start only from one of its own kind."
        )
    _check_that_something_is_left(found, config)
    _check_level(found, config)
    added = _added_parts(found, run, fresh)
    changed = tuple(differences(own, config))
    sentences = ["Its configuration is that of the other run."]
    if changed:
        sentences = ["Its configuration differs from the other run's (the other's -> this one's):"]
        sentences += [f"  {change}" for change in changed]
    if added:
        sentences.append(f"New in its network, and untrained as yet: {_listed(added)}.")
    tensors = dict(found.tensors) | {"weights": {**fresh, **found.tensors["weights"]}}
    if config.optimiser.average:
        if "average" not in found.tensors:
            sentences.append("The other run kept no moving average of its weights; this one's begins with the weights.")
        tensors["average"] = {**fresh, **found.tensors.get("average", found.tensors["weights"])}
    name = run.resolve().name
    origin = {
        # With the configuration and the origin of the other run: its folder may be gone when somebody asks.
        "run": name, "update": found.update, "config": found.values["config"],
        "started_from": found.values.get("started_from"),
    }
    values: dict[str, Any] = {**found.values, "config": config.to_json(), "started_from": origin}
    return Branch(Checkpoint(found.update, tensors, values), name, changed, tuple(sentences))


def take_over_log(run: Path, folder: Path) -> None:
    """What the other run has logged is the beginning of this one's curves; RunLog forgets what came after the start."""
    if (run / LOG).is_file():
        write_text(folder / LOG, (run / LOG).read_text(encoding="utf-8"))


def _check_that_something_is_left(found: Checkpoint, config: RunConfig) -> None:
    updates, minutes = config.updates, found.values["seconds"] / 60
    earlier = "or start from an earlier checkpoint with --start-update."
    if found.update >= updates:
        raise LociError(
            f"Nothing is left to learn: the checkpoint is of update {found.update}, and this configuration ends at "
            f"{updates}. Raise --curriculum.updates, {earlier}"
        )
    if config.minutes and minutes >= config.minutes:
        raise LociError(
            f"Nothing is left to learn: the checkpoint is of minute {minutes:.1f}, which counts, and this "
            f"configuration ends at {config.minutes:g}. Raise --minutes, {earlier}"
        )


def _check_level(found: Checkpoint, config: RunConfig) -> None:
    """A network can grow to the finer level, but not back."""
    wanted = config.level_at(found.update)
    if found.values["level"] > wanted:
        raise LociError(
            f"The network of update {found.update} already works at level {found.values['level']}, but in this "
            f"configuration it is at level {wanted} then: set --level-two-from to at most {found.update}, or start "
            "from an earlier checkpoint with --start-update."
        )


def _added_parts(found: Checkpoint, run: Path, fresh: Mapping[str, Tensor]) -> list[str]:
    """What the new network has beyond the checkpoint's; whatever else differs is refused."""
    trained = dict(sorted(found.tensors["weights"].items()))      # a file has them in any order
    gone = _parts(set(trained) - set(fresh), trained)
    reshaped = [
        f"{name} {tuple(trained[name].shape)} -> {tuple(value.shape)}"
        for name, value in fresh.items() if name in trained and value.shape != trained[name].shape
    ]
    troubles = []
    if reshaped:
        troubles.append(f"These would have another shape: {_listed(reshaped)}.")
    if gone:
        troubles.append(f"These would be dropped: {_listed(gone)}.")
    if troubles:
        raise LociError(
            f"The network of update {found.update} of {run} does not fit into this configuration's. "
            f"{' '.join(troubles)} Leave the fields of --model as that run had them, or add parts only."
        )
    return _parts(set(fresh) - set(trained), fresh)


def _parts(names: Collection[str], network: Mapping[str, Tensor]) -> list[str]:
    """The largest parts of a network that hold nothing but these tensors: one "decoder.trunk.1" for its four."""
    found: dict[str, None] = {}
    for name in network:
        if name in names:
            words = name.split(".")
            prefixes = (".".join(words[:length]) for length in range(1, len(words)))
            whole = (p for p in prefixes if all(n in names for n in network if n.startswith(f"{p}.")))
            found[next(whole, name)] = None
    return list(found)


def _listed(things: Collection[Any]) -> str:
    words = [str(thing) for thing in things]
    more = f" and {len(words) - LISTED} more" if len(words) > LISTED else ""
    return ", ".join(words[:LISTED]) + more
