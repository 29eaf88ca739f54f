"""What is evaluated: a shipped network, a stored one, the newest checkpoint of a run, or the Kalman filter."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from loci_looped.baselines.kalman import KalmanTracker
from loci_looped.baselines.protocol import VideoModel
from loci_looped.configs.network import Placement
from loci_looped.data.clip import Clip
from loci_looped.inference.networks import WEIGHTS, find_network, load_network, read_manifest, shipped_networks
from loci_looped.inference.video_model import LociVideoModel
from loci_looped.model import WARM_UP_STEPS, GateKind, LociLooped
from loci_looped.utils.errors import LociError

KALMAN = "kalman"
TOLD = ("recipe", "seed", "updates", "minutes", "commit", "command")
"""What of a network's manifest goes into the results."""
KALMAN_SIZE = (40, 60)
"""The filter has no eyes of its own; it is shown clips of this size unless told otherwise."""


@dataclass(frozen=True)
class EvaluatedModel:
    """A video model by its name. `network` is None for the Kalman filter, which must be told the truth of each clip."""

    name: str
    network: LociLooped | None
    facts: dict[str, Any]                   # where it comes from: hash of the weights, recipe, seed, updates ...
    frame: tuple[int, int] = KALMAN_SIZE    # the size (H, W) of what it is shown

    def video_model(
        self, clips: Sequence[Clip], gate: GateKind = "learned", *, warm_up: int = WARM_UP_STEPS,
        placement: Placement = "incremental", seed: int = 0,
    ) -> VideoModel[Any]:
        """The model that watches these clips together."""
        if self.network is None:
            return KalmanTracker(clips)
        generator = None if placement == "incremental" else torch.Generator().manual_seed(seed)
        return LociVideoModel(self.network, gate, warm_up, placement, generator)


def open_model(what: str) -> EvaluatedModel:
    """By name (adept-small, kalman), or by the folder of a network or of a training run, finished or under way."""
    if what == KALMAN:
        return EvaluatedModel(KALMAN, None, {"kind": "constant-velocity Kalman filter on true visible centroids"})
    folder = Path(what)
    if what not in shipped_networks() and folder.is_dir() and _under_way(folder):
        return _from_checkpoint(folder)
    place = find_network(what)
    network = load_network(place)
    digest = hashlib.sha256((place / WEIGHTS).read_bytes()).hexdigest()
    manifest = read_manifest(place)
    told: dict[str, Any] = {name: manifest[name] for name in TOLD if name in manifest}
    name = folder.name if folder.is_dir() and folder.name not in ("network", "") else what
    return EvaluatedModel(name, network, {"kind": "network", "weights_sha256": digest, **told}, network.config.frame)


def _under_way(folder: Path) -> bool:
    """A run that has checkpoints but has not written its network yet."""
    return (folder / "checkpoints").is_dir() and not (folder / "network" / WEIGHTS).is_file()


def _from_checkpoint(folder: Path) -> EvaluatedModel:
    """The network of an unfinished run, as its newest whole checkpoint has it."""
    import dataclasses

    from loci_looped.configs.training import TrainConfig
    from loci_looped.utils.checkpoint import newest_checkpoint

    try:
        found = newest_checkpoint(folder / "checkpoints")
    except LociError as error:
        raise LociError(
            f"The run {folder} has no weights yet ({error}) Wait for its first checkpoint, or train it with "
            f"`loci train --resume {folder}`."
        ) from error
    config = TrainConfig.from_json(found.values["config"])
    network = LociLooped(dataclasses.replace(config.model, level=int(found.values.get("level", config.model.level))))
    part = "average" if config.optimiser.average else "weights"
    network.load_state_dict(found.tensors[part])
    digest = hashlib.sha256(b"".join(
        name.encode() + tensor.contiguous().numpy().tobytes() for name, tensor in sorted(found.tensors[part].items())
    )).hexdigest()
    facts = {
        "kind": "checkpoint of an unfinished run", "weights_sha256": digest, "recipe": config.name, "seed": config.seed,
        "updates": found.update, "minutes": round(float(found.values.get("seconds", 0.0)) / 60, 1),
    }
    return EvaluatedModel(folder.name, network.eval(), facts, network.config.frame)
