"""Validation during training: does the network find movers, and does it keep them in mind while they are hidden?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.baselines.protocol import VideoModel
from loci_looped.configs.scenes import FIRST_HELD_OUT_SEED, FIRST_VALIDATION_SEED
from loci_looped.data.clip import Clip
from loci_looped.data.render.clips import make_clip
from loci_looped.evaluation.experiments.recording import record
from loci_looped.evaluation.experiments.scoring import ScoredClip, score
from loci_looped.evaluation.experiments.tracking import finding, gate_openings
from loci_looped.evaluation.metrics.tracking import summarise
from loci_looped.inference.run import evaluation_mode
from loci_looped.inference.video_model import LociVideoModel
from loci_looped.inference.watch import watch
from loci_looped.inference.watch_slots import watch_slots
from loci_looped.model import GateKind, LociLooped
from loci_looped.viz.canvas import write_png
from loci_looped.viz.panel import slot_panel
from loci_looped.viz.slot_strip import slot_strip

SMALLEST_OBJECT = 4
"""A slot that covers more pixels than this, painted alone, is still an object."""
STRIP_EVERY = 6
"""Frames between two columns of a strip."""


@dataclass(frozen=True)
class Validation:
    """Errors in % of the image's diagonal; gates are mean openings α."""

    visible_error: float
    occluded_error: float
    successful: float               # % of tracked movers still held when last seen
    movers_found: float             # % of movers that any slot held while visible
    slots_per_mover: float
    hidden_mask: float              # % of hidden frames in which the slot, painted alone, still is an object
    gestalt_gate_visible: float
    gestalt_gate_hidden: float
    position_gate_visible: float
    position_gate_hidden: float

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    def line(self) -> str:
        found = (
            f"error visible {self.visible_error:.1f} % occluded {self.occluded_error:.1f} %, "
            f"successful {self.successful:.0f} %, "
            f"movers found {self.movers_found:.0f} %, slots per mover {self.slots_per_mover:.2f}"
        )
        if math.isnan(self.position_gate_visible) and math.isnan(self.hidden_mask):
            return found        # of a model without gates and beliefs
        return (
            f"{found}, position gate {self.position_gate_visible:.2f} visible {self.position_gate_hidden:.2f} hidden, "
            f"gestalt gate {self.gestalt_gate_visible:.2f} / {self.gestalt_gate_hidden:.2f}, "
            f"hidden object imagined {self.hidden_mask:.0f} %"
        )


def validation_clips(count: int, size: tuple[int, int], world: str = "vanish", stride: int = 1) -> list[Clip]:
    """Scenes that are never trained on: for the vanish world the control scenes of the tracking experiment."""
    if world == "vanish":
        return [make_clip("vanish-control", FIRST_VALIDATION_SEED + i, size) for i in range(count)]
    return [make_clip(world, FIRST_HELD_OUT_SEED + i, size).strided(stride) for i in range(count)]


def validate(model: LociLooped, clips: Sequence[Clip], gate: GateKind, batch: int = 16) -> Validation:
    """Let the network watch the scenes and score them as the tracking experiment does; it is left in its mode."""
    with evaluation_mode(model):
        return validate_slots(LociVideoModel(model, gate, paints_beliefs=True), clips, batch)


def validate_slots(watching: VideoModel[Any], clips: Sequence[Clip], batch: int = 16) -> Validation:
    """The same for any video model; what it does not know (gates, beliefs) is NaN."""
    scored: list[ScoredClip] = []
    for start in range(0, len(clips), batch):
        chosen = clips[start : start + batch]
        recordings = record(watching, chosen)
        scored += [score("", clip, said) for clip, said in zip(chosen, recordings, strict=True)]
    summary = summarise([clip.table for clip in scored])
    movers, found, slots = finding(scored)
    unknown = np.full((0, 2), np.nan)
    gated = all(clip.recording.gate is not None for clip in scored)
    visible = gate_openings(scored, visible=True) if gated else unknown
    hidden = gate_openings(scored, visible=False) if gated else unknown
    return Validation(
        visible_error=100 * summary.visible.mean,
        occluded_error=100 * summary.occluded.mean,
        successful=100 * summary.succeeded / max(1, summary.tried),
        movers_found=100 * found / max(1, movers),
        slots_per_mover=slots / max(1, found),
        hidden_mask=100 * _mean(_hidden_areas(scored) > SMALLEST_OBJECT),
        gestalt_gate_visible=_mean(visible[:, 0]), gestalt_gate_hidden=_mean(hidden[:, 0]),
        position_gate_visible=_mean(visible[:, 1]), position_gate_hidden=_mean(hidden[:, 1]),
    )


def _hidden_areas(clips: Sequence[ScoredClip]) -> NDArray[np.floating]:
    """(N,) pixels of each hidden mover's slot, painted alone; none if the model paints no beliefs."""
    parts: list[NDArray[np.floating]] = [np.zeros(0)]
    for clip in clips:
        if clip.recording.believed_areas is not None:
            parts.append(clip.recording.believed_areas[clip.rows & ~clip.table.visible])
    return np.concatenate(parts)


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def write_slot_strip(watching: VideoModel[Any], clip: Clip, path: Path, title: str = "") -> None:
    """A picture of one scene for any video model: what it sees and expects, and the mask of every slot."""
    moments = [seen for seen in watch_slots(watching, clip, clip.size) if seen.number % STRIP_EVERY == 0]
    write_png(path, slot_strip(moments, title))


def write_strip(model: LociLooped, clip: Clip, gate: GateKind, path: Path, title: str = "") -> None:
    """A picture of one scene: what the network sees, expects and believes behind the screen, and every slot."""
    with evaluation_mode(model):
        moments = [seen for seen in watch(model, clip, gate=gate) if seen.number % STRIP_EVERY == 0]
    write_png(path, slot_panel(moments, title))
