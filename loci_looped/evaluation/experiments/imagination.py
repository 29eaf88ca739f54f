"""The imagination experiment: ten frames of bouncing balls, then nothing; how far do the imagined balls drift?

Three ways of getting nothing: `black` (black frames and a zero error map; the gate must close by itself), `imagine`
(the senses are shut) and `auto` (the model is shown its own prediction). The first unseen frame is step 1, as in G-SWM.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from loci_looped.baselines.protocol import Slots
from loci_looped.configs.experiments import BATCH, SEEN, STEPS, Mode
from loci_looped.configs.network import Placement
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import to_pixels
from loci_looped.data.store.clip_cache import ProgressCallback, cached_clip, fill_cache, no_progress
from loci_looped.data.store.clip_spec import AnyClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments.recording import in_batches
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.metrics import balls, official
from loci_looped.inference.run import Show, Shown, run
from loci_looped.model import GateKind
from loci_looped.utils.atomic import replacing
from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]
OFFICIAL = official.PROTOCOL + "+no-error-leak"
"""The released metric. Its runs also leaked ball positions through the error map, which is not repeated here."""
MASK = 0.8          # of the released position estimate
LOOKED_AT = (10, 30, 50)
"""Imagined steps at which the distance is told."""
IN_THE_BOX = 1 / 64
"""So far, in shares of the width, may a ball reach into a wall: one pixel."""
FIRST_LOOKED_AT = 5
"""Percepts are judged from this frame on, when slots have settled."""


@dataclass(frozen=True)
class ImaginedClip:
    """One sequence in one mode: S imagined steps, O balls, K slots; places count from the image's edge, in widths."""

    model: str
    mode: Mode
    source: str
    seed: int | None
    positions: Floats                       # (S, K, 2)
    present: NDArray[np.bool_]              # (K,) at the first imagined step
    truth: Floats                           # (S, O, 2)
    seen: Floats                            # (SEEN, K, 2) percepts of the frames before
    seen_truth: Floats                      # (SEEN, O, 2)
    released: Floats | None                 # (S, K, 2) the released estimate in [-1, 1], one step later
    released_truth: Floats                  # (S, O, 2) in [-1, 1]

    @property
    def slots(self) -> NDArray[np.int64]:
        """(O,) the slot of each ball, found at the first imagined step as distances are."""
        usable = np.flatnonzero(self.present)
        return np.asarray(usable[balls.match_balls(self.positions[0][usable], self.truth[0])])

    def distances(self) -> Floats:
        """(S,) mean distance over all balls; raises if fewer slots hold something than there are balls."""
        return np.asarray(balls.ball_distances(self.positions[None], self.truth[None], self.present[None])[0])


def watch_imagining(
    evaluated: EvaluatedModel, gate: GateKind, mode: Mode, specs: Sequence[AnyClipSpec], *, steps: int = STEPS,
    warm_up: int = 10,
    placement: Placement = "incremental", seed: int = 0, batch: int = BATCH, workers: int = 1,
    on_progress: ProgressCallback = no_progress,
) -> Iterator[ImaginedClip | str]:
    """Every sequence that can be scored; a sentence in place of one that cannot."""
    if not specs:
        raise LociError("The test set is empty: ask for one scene or more.")
    fill_cache(specs, workers, on_progress)
    label = evaluated.label(gate)

    def work(part: Sequence[AnyClipSpec]) -> list[ImaginedClip | str]:
        clips = [cached_clip(spec) for spec in part]
        model = evaluated.video_model(clips, gate, warm_up=warm_up, placement=placement, seed=seed)
        said = [slots for _, slots in run(model, clips, show=shown_in(mode, label), steps=SEEN + steps)]
        return [_imagined(label, mode, clip, said, index, steps) for index, clip in enumerate(clips)]

    return in_batches(specs, work, batch=batch, workers=workers, on_progress=on_progress,
                      label=f"imagining, {label}, {mode}")


def shown_in(mode: Mode, label: str) -> Show:
    """Frames are shown up to the tenth, after that what the mode says."""
    def show(t: int, frame: Tensor, before: Slots | None) -> Shown:
        if t < SEEN:
            return frame, None
        if mode == "black":
            return torch.zeros_like(frame), torch.ones(frame.shape[0], dtype=torch.bool)
        if mode == "imagine":
            return None, None
        if before is None or before.expectation is None:
            raise LociError(f"{label} predicts no frames, so it cannot be shown its own: leave the mode auto out.")
        return torch.nan_to_num(before.expectation.frame).clamp(0, 1), None

    return show


def _imagined(label: str, mode: Mode, clip: Clip, said: Sequence[Slots], index: int, steps: int) -> ImaginedClip | str:
    named = f"{clip.source} was left out ({label}, {mode})"
    if clip.truth is None:
        return f"{clip.source or 'A clip'} has no ground truth and was left out."
    if len(clip) < SEEN + steps:
        return f"{named}: it has {len(clip)} frames, but {SEEN + steps} are needed; imagine fewer steps with --steps."
    balls_there, slots_there = clip.truth.count, said[0].positions.shape[1]
    if balls_there > slots_there:
        return f"{named}: it has {balls_there} balls, but the network has {slots_there} slots, and each ball needs one."
    width = clip.size[1]
    positions = np.stack([slots.positions[index].double().numpy() for slots in said])
    if not np.isfinite(positions).all():
        return f"{named}: its positions are not numbers, the network has diverged."
    places = (to_pixels(positions, clip.size) + 0.5) / width         # from the image's edge, in shares of its width
    truth = (clip.truth.positions[: SEEN + steps].astype(np.float64) + 0.5) / width
    estimates, later = _released(clip, said, index, steps)
    return ImaginedClip(
        model=label, mode=mode, source=clip.source, seed=clip.seed, positions=places[SEEN:],
        present=said[SEEN].presence[index].numpy(), truth=truth[SEEN:], seen=places[:SEEN], seen_truth=truth[:SEEN],
        released=estimates, released_truth=later,
    )


def _released(clip: Clip, said: Sequence[Slots], index: int, steps: int) -> tuple[Floats | None, Floats]:
    """The released estimates, of the frame after the one just given, and the truth they are compared with."""
    assert clip.truth is not None
    later = clip.truth.positions[SEEN + 1 : SEEN + 1 + steps].astype(np.float64)
    truth = official.official_coordinates(later, clip.size)
    masks = [_masks(slots, index) for slots in said[SEEN : SEEN + len(later)]]
    whole = [mask for mask in masks if mask is not None]                        # each (K, H, W)
    if len(whole) < len(masks) or not whole or clip.size[0] != clip.size[1]:
        return None, truth
    # Twice the same clip: alone, the released function fails.
    return np.stack([official.official_ball_positions(np.stack([mask, mask]))[0] for mask in whole]), truth


def _masks(slots: Slots, index: int) -> NDArray[np.bool_] | None:
    """(K, H, W) whole objects expected in the next frame."""
    expected = slots.expectation
    if expected is None or expected.object_masks is None:
        return None
    return np.asarray(expected.object_masks[index].numpy() > MASK)


def put_imagination(
    results: Results, case: Case, clips: Sequence[ImaginedClip], radius: float | None = None
) -> list[ImaginedClip]:
    """The published sum over ten steps, the curve over all steps, whether the imagined film stays plausible, and how
    many sequences could not be scored. Balls must have a known radius (in widths) to be looked for in their box."""
    scored, distances = [], []
    for clip in clips:
        try:
            distances.append(clip.distances())
            scored.append(clip)
        except LociError:
            continue
    missed = len(clips) - len(scored)
    results.put(case, "failed", missed / len(clips) if clips else None, balls.PROTOCOL, percent=True, n=len(clips))
    if missed:
        results.warn(
            f"{case}: in {missed} of {len(clips)} sequences fewer slots held something than there are balls after "
            f"{SEEN} frames. They have no distance and are not in the mean; their share stands beside it."
        )
    if not scored:
        results.put(case, "distance_sum", None, balls.PROTOCOL, "image widths", n=0)
        return []
    stacked = np.stack(distances)                                                          # (N, S)
    steps = min(balls.SCORED_STEPS, stacked.shape[1])
    sums = stacked[:, :steps].sum(axis=1)
    error = float(sums.std(ddof=1) / np.sqrt(len(sums))) if len(sums) > 1 else float("nan")
    interval = (float(sums.mean()) - 1.96 * error, float(sums.mean()) + 1.96 * error) if np.isfinite(error) else None
    results.put(case, "distance_sum", balls.distance_error(stacked, steps), balls.PROTOCOL, "image widths",
                n=len(scored), interval=interval)
    results.put_mean_curve(case, "distance_over_time", np.arange(1, stacked.shape[1] + 1), stacked.T)
    for step in (step for step in LOOKED_AT if step <= stacked.shape[1]):
        results.put(case, f"distance_at_{step}", float(stacked[:, step - 1].mean()), balls.PROTOCOL, "image widths",
                    n=len(scored))
    _put_plausibility(results, case, scored, radius)
    _put_released(results, case, scored)
    return scored


def _put_plausibility(results: Results, case: Case, clips: Sequence[ImaginedClip], radius: float | None) -> None:
    """Do imagined balls go on as balls do, long after nobody could tell where each of them is? And how well were they
    seen before?"""
    if len(clips[0].truth) > balls.SCORED_STEPS:
        kept = [balls.energy_kept(clip.positions[:, clip.slots], clip.truth) for clip in clips]
        results.put(case, "energy_kept", float(np.mean(kept)), balls.PLAUSIBILITY, percent=True, n=len(kept))
    if radius is not None:
        inside = [balls.share_in_box(clip.positions[:, clip.slots], radius, IN_THE_BOX) for clip in clips]
        results.put(case, "in_box", float(np.mean(inside)), balls.PLAUSIBILITY, percent=True, n=len(inside))
    off = [np.linalg.norm(clip.seen[FIRST_LOOKED_AT:, clip.slots] - clip.seen_truth[FIRST_LOOKED_AT:], axis=-1).mean()
           for clip in clips]
    results.put(case, "percept_error", float(np.mean(off)), balls.PROTOCOL, "image widths", n=len(off))


def _put_released(results: Results, case: Case, clips: Sequence[ImaginedClip]) -> None:
    usable = [clip for clip in clips if clip.released is not None and len(clip.released) >= balls.SCORED_STEPS]
    if not usable:
        return
    rows = []
    for clip in usable:
        assert clip.released is not None
        rows.append(official.official_ball_distance(clip.released[None], clip.released_truth[None])[0])
    stacked = np.stack(rows)
    stacked = stacked[np.isfinite(stacked).all(axis=1)]
    results.put(case, "official_distance_sum", balls.distance_error(stacked) if len(stacked) else None, OFFICIAL,
                "image widths", n=len(stacked))


def write_imagination_table(path: Path, clips: Sequence[ImaginedClip]) -> int:
    """One row per sequence, step and ball; returns the number of rows."""
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("model", "mode", "source", "seed", "step", "ball", "slot", "row", "column", "true_row",
                         "true_column", "distance"))
        for clip in clips:
            for step, (mine, yours) in enumerate(zip(clip.positions, clip.truth, strict=True), start=1):
                for ball, slot in enumerate(clip.slots):
                    gap = float(np.linalg.norm(mine[slot] - yours[ball]))
                    writer.writerow((clip.model, clip.mode, clip.source, clip.seed, step, ball, slot,
                                     *(f"{value:.5f}" for value in (*mine[slot], *yours[ball], gap))))
                    count += 1
    return count
