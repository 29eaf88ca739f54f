"""The quick look during training: does the network find movers, and does it keep them in mind while they are hidden?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch

from loci_looped.configs.scenes import FIRST_HELD_OUT_SEED, FIRST_VALIDATION_SEED
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import to_pixels
from loci_looped.data.render.clips import make_clip
from loci_looped.evaluation.metrics.tracking import Track, TrackingTable, summarise, tracking_table
from loci_looped.inference.belief import believe_now
from loci_looped.model import GateKind, LociLooped, Regime


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
        return (
            f"error visible {self.visible_error:.1f} % occluded {self.occluded_error:.1f} %, "
            f"successful {self.successful:.0f} %, "
            f"movers found {self.movers_found:.0f} %, slots per mover {self.slots_per_mover:.2f}, "
            f"position gate {self.position_gate_visible:.2f} visible {self.position_gate_hidden:.2f} hidden, "
            f"gestalt gate {self.gestalt_gate_visible:.2f} / {self.gestalt_gate_hidden:.2f}, "
            f"hidden object imagined {self.hidden_mask:.0f} %"
        )


def validation_clips(count: int, size: tuple[int, int], world: str = "vanish", stride: int = 1) -> list[Clip]:
    """Scenes that are never trained on: for the vanish world the control scenes of the tracking experiment."""
    if world == "vanish":
        return [make_clip("vanish-control", FIRST_VALIDATION_SEED + i, size) for i in range(count)]
    return [make_clip(world, FIRST_HELD_OUT_SEED + i, size).strided(stride) for i in range(count)]


@torch.no_grad()
def validate(model: LociLooped, clips: Sequence[Clip], gate: GateKind, batch: int = 16) -> Validation:
    """Run the control scenes with the network in evaluation mode; it is left in the mode it was in."""
    was_training = model.training
    model.eval()
    tables: list[TrackingTable] = []
    gates, masks, movers, held = [], [], 0, 0
    for start in range(0, len(clips), batch):
        chosen = clips[start : start + batch]
        for clip, (track, opening) in zip(chosen, run(model, chosen, gate), strict=True):
            assert clip.truth is not None and track.areas is not None
            table = tracking_table(track, clip.truth)
            tables.append(table)
            rows = table.scored & ~table.screen
            gates.append(np.concatenate([opening[rows], table.visible[rows][:, None]], axis=1))
            masks.append(track.areas[rows & ~table.visible] > 4)
            for index, kind in enumerate(clip.truth.kinds):
                movers += kind == "mover"
                held += kind == "mover" and bool((table.scored & table.visible & (table.object == index)).any())
    model.train(was_training)
    summary = summarise(tables)
    opened = np.concatenate(gates)
    slots = sum(int((table.scored & ~table.screen).any(axis=0).sum()) for table in tables)

    def mean(values: np.ndarray) -> float:
        return float(values.mean()) if len(values) else float("nan")

    seen, unseen = opened[opened[:, 2] > 0], opened[opened[:, 2] == 0]
    return Validation(
        visible_error=100 * summary.visible.mean,
        occluded_error=100 * summary.occluded.mean,
        successful=100 * summary.succeeded / max(1, summary.tried),
        movers_found=100 * held / max(1, movers),
        slots_per_mover=slots / max(1, held),
        hidden_mask=100 * mean(np.concatenate(masks)),
        gestalt_gate_visible=mean(seen[:, 0]), gestalt_gate_hidden=mean(unseen[:, 0]),
        position_gate_visible=mean(seen[:, 1]), position_gate_hidden=mean(unseen[:, 1]),
    )


def run(model: LociLooped, clips: Sequence[Clip], gate: GateKind) -> list[tuple[Track, np.ndarray]]:
    """Per clip its track and the gate openings (T, K, 2)."""
    device = next(model.parameters()).device
    frames = torch.stack([torch.from_numpy(c.frames) for c in clips]).permute(0, 1, 4, 2, 3)
    background = torch.stack([torch.from_numpy(c.background) for c in clips]).permute(0, 3, 1, 2)
    regime = Regime(gate=gate)
    state = model.initial(background.to(device).float() / 255)
    state = model.warm_up(frames[:, 0].to(device).float() / 255, state, regime=regime)
    positions, present, hidden, areas, openings = [], [], [], [], []
    for t in range(frames.shape[1]):
        state, output = model.step(frames[:, t].to(device).float() / 255, state, regime=regime)
        positions.append(output.percept.position)
        present.append(output.bound)
        hidden.append(output.occlusion >= 1)
        areas.append((believe_now(model, output, state.background).whole_masks > 0.5).sum((2, 3)))
        openings.append(output.gate)

    def over_time(parts: list[torch.Tensor]) -> np.ndarray:
        return torch.stack(parts, dim=1).cpu().numpy()

    size = clips[0].size
    everything = (
        to_pixels(over_time(positions), size), over_time(present), over_time(hidden),
        over_time(areas).astype(np.float64),
    )
    gates = over_time(openings)
    return [(Track(*(part[i] for part in everything)), gates[i]) for i in range(len(clips))]
