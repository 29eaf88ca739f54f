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
from loci_looped.configs.recipes import RECIPES
from loci_looped.configs.training import TrainConfig
from loci_looped.data.clip import Clip
from loci_looped.inference.networks import (
    WEIGHTS,
    checkpoint_of,
    evaluated_weights,
    find_network,
    is_unfinished_run,
    load_network,
    network_of,
    read_manifest,
)
from loci_looped.inference.video_model import LociVideoModel
from loci_looped.model import WARM_UP_STEPS, GateKind, LociLooped

KALMAN = "kalman"
KALMAN_SIZE = (40, 60)
"""The filter does not look at pixels; it is given clips of this size unless told otherwise."""
REPORTED = ("recipe", "seed", "updates", "minutes", "commit", "command")
"""What of a network's manifest goes into the results."""


@dataclass(frozen=True)
class EvaluatedModel:
    """A video model by its name. `network` is None for the Kalman filter, which must know the truth of each clip."""

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

    def label(self, gate: GateKind) -> str:
        """With the gate, if it has one: "adept-small learned"."""
        return self.name if self.network is None else f"{self.name} {gate}"


def open_model(name_or_path: str) -> EvaluatedModel:
    """By name (adept-small, kalman), or by the folder of a network or of a training run, finished or under way."""
    if name_or_path == KALMAN:
        return EvaluatedModel(KALMAN, None, {"kind": "constant-velocity Kalman filter on true visible centroids"})
    if is_unfinished_run(name_or_path):
        return _from_checkpoint(Path(name_or_path))
    place = find_network(name_or_path)
    network = load_network(place)
    manifest = read_manifest(place)
    facts: dict[str, Any] = {
        "kind": "network", "weights_sha256": hashlib.sha256((place / WEIGHTS).read_bytes()).hexdigest(),
        **{name: manifest[name] for name in REPORTED if name in manifest}, **_world(manifest),
    }
    folder = Path(name_or_path)
    name = folder.name if folder.is_dir() and folder.name not in ("network", "") else name_or_path
    return EvaluatedModel(name, network, facts, network.config.frame)


def _world(manifest: dict[str, Any]) -> dict[str, str]:
    """The scenes a network was trained on, as far as its manifest tells; older ones name only their recipe."""
    if "world" in manifest:
        return {"world": str(manifest["world"])}
    known = RECIPES.get(manifest.get("recipe", ""))
    return {} if known is None else {"world": known.data.world}


def _from_checkpoint(run: Path) -> EvaluatedModel:
    checkpoint = checkpoint_of(run)
    config = TrainConfig.from_json(checkpoint.values["config"])
    weights = evaluated_weights(checkpoint, config)
    digest = hashlib.sha256(b"".join(
        name.encode() + tensor.contiguous().numpy().tobytes() for name, tensor in sorted(weights.items())
    )).hexdigest()
    network = network_of(checkpoint)
    facts = {
        "kind": "checkpoint of an unfinished run", "weights_sha256": digest, "recipe": config.name, "seed": config.seed,
        "world": config.data.world, "updates": checkpoint.update,
        "minutes": round(float(checkpoint.values.get("seconds", 0.0)) / 60, 1),
    }
    return EvaluatedModel(run.name, network, facts, network.config.frame)
