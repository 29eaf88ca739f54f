"""What is evaluated: a shipped network or a stored one, a rival's too, a run's newest checkpoint, or the Kalman filter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from loci_looped.baselines.kalman import KalmanTracker
from loci_looped.baselines.protocol import VideoModel
from loci_looped.configs.network import Placement
from loci_looped.configs.recipes import EVERY_RECIPE
from loci_looped.configs.rivals import read_run_config
from loci_looped.data.clip import Clip
from loci_looped.inference.network_kinds import can_imagine, frame_of, kind_of, rival_video_model
from loci_looped.inference.networks import (
    WEIGHTS,
    checkpoint_of,
    evaluated_weights,
    find_network,
    is_unfinished_run,
    load_any_network,
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
    network: nn.Module | None
    facts: dict[str, Any]                   # where it comes from: hash of the weights, recipe, seed, updates ...
    frame: tuple[int, int] = KALMAN_SIZE    # the size (H, W) of what it is shown

    def video_model(
        self, clips: Sequence[Clip], gate: GateKind = "learned", *, warm_up: int = WARM_UP_STEPS,
        placement: Placement = "incremental", seed: int = 0,
    ) -> VideoModel[Any]:
        """The model that watches these clips together."""
        if self.network is None:
            return KalmanTracker(clips)
        if not isinstance(self.network, LociLooped):
            return rival_video_model(self.network)
        generator = None if placement == "incremental" else torch.Generator().manual_seed(seed)
        return LociVideoModel(self.network, gate, warm_up, placement, generator)

    @property
    def has_gate(self) -> bool:
        """Only Loci-Looped decides how far to believe its eyes."""
        return isinstance(self.network, LociLooped)

    @property
    def can_imagine(self) -> bool:
        """Can it go on without a frame? The Kalman filter can."""
        return self.network is None or can_imagine(self.network)

    def label(self, gate: GateKind) -> str:
        """With the gate, if it has one: "adept-small learned"."""
        return f"{self.name} {gate}" if self.has_gate else self.name


def open_model(name_or_path: str) -> EvaluatedModel:
    """By name (adept-small, kalman), or by the folder of a network or of a training run, finished or under way."""
    if name_or_path == KALMAN:
        return EvaluatedModel(KALMAN, None, {"kind": "constant-velocity Kalman filter on true visible centroids"})
    if is_unfinished_run(name_or_path):
        return _from_checkpoint(Path(name_or_path))
    place = find_network(name_or_path)
    network = load_any_network(place)
    manifest = read_manifest(place)
    facts: dict[str, Any] = {
        "kind": "network" if isinstance(network, LociLooped) else kind_of(network).name,
        "weights_sha256": hashlib.sha256((place / WEIGHTS).read_bytes()).hexdigest(),
        **{name: manifest[name] for name in REPORTED if name in manifest}, **_world(manifest),
    }
    folder = Path(name_or_path)
    name = folder.name if folder.is_dir() and folder.name not in ("network", "") else name_or_path
    return EvaluatedModel(name, network, facts, frame_of(network))


def _world(manifest: dict[str, Any]) -> dict[str, str]:
    """The scenes a network was trained on, as far as its manifest tells; older ones name only their recipe."""
    if "world" in manifest:
        return {"world": str(manifest["world"])}
    known = EVERY_RECIPE.get(manifest.get("recipe", ""))
    return {} if known is None else {"world": known.data.world}


def _from_checkpoint(run: Path) -> EvaluatedModel:
    checkpoint = checkpoint_of(run)
    config = read_run_config(checkpoint.values["config"])
    weights = evaluated_weights(checkpoint, config)
    digest = hashlib.sha256(b"".join(
        name.encode() + tensor.contiguous().numpy().tobytes() for name, tensor in sorted(weights.items())
    )).hexdigest()
    network = network_of(checkpoint)
    facts = {
        "kind": "checkpoint of an unfinished run", "weights_sha256": digest, "recipe": config.name, "seed": config.seed,
        "world": config.data.origin, "updates": checkpoint.update,
        "minutes": round(float(checkpoint.values.get("seconds", 0.0)) / 60, 1),
    }
    return EvaluatedModel(run.name, network, facts, frame_of(network))
