"""One clip, watched and scored: the rows from which all tracking and surprise figures are made."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.baselines.protocol import VideoModel
from loci_looped.configs.experiments import BATCH
from loci_looped.configs.surprise import SurpriseScale
from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.store.clip_cache import ProgressCallback, cached_clip, fill_cache, no_progress
from loci_looped.data.store.clip_spec import AnyClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments.recording import Recording, in_batches, record
from loci_looped.evaluation.experiments.test_sets import SetName, set_of
from loci_looped.evaluation.metrics import official
from loci_looped.evaluation.metrics.boxes import gap_to_screen
from loci_looped.evaluation.metrics.mota import MotCounts, count_events
from loci_looped.evaluation.metrics.phantoms import phantoms
from loci_looped.evaluation.metrics.tracking import TrackingTable, of_object, successes, tracking_table
from loci_looped.inference.surprised_model import SurprisedModel
from loci_looped.inference.video_model import LociVideoModel
from loci_looped.model import GateKind
from loci_looped.utils.atomic import replacing
from loci_looped.utils.errors import LociError

RELEASED_PIXELS = 320 * 480
"""The released networks were measured at this size; masks are scaled to it where the released test counts pixels."""


@dataclass(frozen=True)
class ScoredClip:
    """Everything the figures need of a clip, without its pixels. T frames, K slots, O objects."""

    model: str                          # "adept-small learned"
    set: SetName
    source: str
    seed: int | None
    names: tuple[str, ...]              # (O,)
    movers: NDArray[np.bool_]           # (O,)
    events: tuple[Event, ...]
    places: NDArray[np.float32]         # (T, O, 2) true pixels
    seen: NDArray[np.bool_]             # (T, O) some pixel of the object can be seen
    hidden_share: NDArray[np.float32]   # (T, O) true share of the object that is hidden
    screen_gap: NDArray[np.floating]    # (T, O) distance to the nearest screen over the diagonal; inf without one
    recording: Recording
    table: TrackingTable
    tried: NDArray[np.bool_]            # (K,) the slot held a visible mover early enough
    succeeded: NDArray[np.bool_]        # (K,)
    counts: MotCounts
    phantoms: NDArray[np.bool_]         # (T, K) the slot is at no object
    official_rows: official.OfficialRows        # `object` is the one each row was compared with, never -1
    official_success: tuple[int, int]   # tried, succeeded
    official_counts: MotCounts

    @property
    def rows(self) -> NDArray[np.bool_]:
        """(T, K) the rows of the tracking error: scored, and of a mover."""
        return self.table.scored & ~self.table.screen

    @property
    def held(self) -> NDArray[np.bool_]:
        """(O,) objects that some slot held while they could be seen."""
        rows = self.table.scored & self.table.visible
        return np.array([bool((rows & (self.table.object == index)).any()) for index in range(len(self.names))])

    def object_of_slot(self) -> NDArray[np.int64]:
        """(K,) the object each slot ended up with; -1 for none."""
        return np.asarray(self.table.object[-1])


def score(model: str, clip: Clip, recording: Recording) -> ScoredClip:
    """Corrected and released figures of one clip; what a model says must be numbers."""
    truth = clip.truth
    if truth is None:
        raise LociError(f"{_called(clip)} has no ground truth, so nothing about it can be scored.")
    track = recording.track()
    if recording.slot_errors is not None and not np.isfinite(recording.slot_errors[:-1]).all():
        raise LociError("its predicted frames are not numbers: the network has diverged, take an earlier checkpoint.")
    table = tracking_table(track, truth)
    tried, succeeded = successes(table)
    seen = np.asarray(truth.visible_masks.any(axis=(2, 3)))
    rows, success, counts = _as_released(recording, truth, seen, clip.size)
    return ScoredClip(
        model=model, set=set_of(clip), source=clip.source, seed=clip.seed, names=truth.names,
        movers=np.array([kind == "mover" for kind in truth.kinds]), events=clip.events, places=truth.positions,
        seen=seen, hidden_share=truth.occluded_fraction(), screen_gap=gap_to_screen(truth),
        recording=recording, table=table, tried=tried, succeeded=tried & succeeded,
        counts=count_events(track, truth), phantoms=phantoms(track, truth),
        official_rows=rows, official_success=success, official_counts=counts,
    )


def _as_released(
    recording: Recording, truth: ObjectTruth, seen: NDArray[np.bool_], size: tuple[int, int]
) -> tuple[official.OfficialRows, tuple[int, int], MotCounts]:
    """The released protocol, faults included, as if at its own resolution.

    It compares a slot that holds nothing yet with the last object. Its files cannot have had the screen there (nearly
    all movers are in its success rate, whose screen flag is read before they enter), so here screens come first.
    """
    order = np.argsort([kind != "screen" for kind in truth.kinds], kind="stable")
    screens = np.array([kind == "screen" for kind in truth.kinds])[order]
    positions = official.official_coordinates(recording.positions, size)
    targets = official.official_coordinates(truth.positions[:, order].astype(np.float64), size)
    may_bind = recording.present & ~recording.hidden
    with np.errstate(invalid="ignore"):
        in_front = truth.depths[:, order] > 0
        rows = official.official_tracking_rows(positions, recording.present, may_bind, targets, in_front)
    tried, succeeded = official.official_success(rows, recording.present, seen[:, order], screens)
    areas = recording.object_areas
    scaled = None if areas is None else areas * RELEASED_PIXELS / (size[0] * size[1])
    counts = official.official_mota(positions, recording.present, targets, scaled)
    compared = replace(rows, object=order[rows.object])         # -1, too, becomes the object it was compared with
    return compared, (int(tried.sum()), int(succeeded.sum())), counts


def watch_and_score(
    evaluated: EvaluatedModel, specs: Sequence[AnyClipSpec], gate: GateKind, *, batch: int = BATCH, workers: int = 1,
    on_progress: ProgressCallback = no_progress, label: str = "", scale: SurpriseScale | None = None,
) -> tuple[list[ScoredClip], list[str]]:
    """Every clip that can be scored, and a sentence for each that cannot. With a `scale`, surprise is told in bits."""
    if not specs:
        raise LociError("The test set is empty: ask for one scene or more.")
    fill_cache(specs, workers, on_progress)
    name = evaluated.label(gate)
    label = label or f"watching, {name}"
    scored: list[ScoredClip] = []
    failures: list[str] = []

    def work(part: Sequence[AnyClipSpec]) -> list[ScoredClip | str]:
        clips = [cached_clip(spec) for spec in part]
        answers: list[ScoredClip | str] = [""] * len(part)
        usable = [index for index, clip in enumerate(clips) if clip.truth is not None and clip.truth.count > 0]
        for index in set(range(len(part))) - set(usable):
            answers[index] = f"{_called(clips[index])} has no ground truth about objects and was left out."
        # A user's clips may differ in length; those of one length are watched together.
        for length in sorted({len(clips[index]) for index in usable}):
            chosen = [index for index in usable if len(clips[index]) == length]
            together = [clips[index] for index in chosen]
            model: VideoModel[Any] = evaluated.video_model(together, gate)
            if scale is not None and isinstance(model, LociVideoModel):
                model = SurprisedModel(model, scale)
            recordings = record(model, together)
            for index, recording in zip(chosen, recordings, strict=True):
                try:
                    answers[index] = score(name, clips[index], recording)
                except LociError as error:
                    answers[index] = f"{_called(clips[index])} was left out ({name}): {error}"
        return answers

    for answer in in_batches(specs, work, batch=batch, workers=workers, on_progress=on_progress, label=label):
        if isinstance(answer, str):
            failures.append(answer)
        else:
            scored.append(answer)
    if not scored:
        raise LociError(f"None of the {len(specs)} clips could be scored. {failures[0]}")
    return scored, failures


def _called(clip: Clip) -> str:
    named = clip.source or "A clip"
    return named if clip.seed is None else f"{named} (seed {clip.seed})"


# ---------------------------------------------------------------------------------------------------- the table

COLUMNS = (
    "model", "set", "source", "seed", "frame", "slot", "present", "believed_hidden", "row", "column",
    "object", "object_name", "screen", "visible", "scored", "true_row", "true_column", "error", "phantom",
    "occlusion", "gate_gestalt", "gate_position", "object_area", "visible_area_ahead", "slot_error_ahead",
    "official_object", "official_error", "official_inside",
)


def write_table(path: Path, clips: Iterable[ScoredClip]) -> int:
    """One row per clip, frame and slot, so that anybody can count again; returns the number of rows."""
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for clip in clips:
            rows = _rows(clip)
            writer.writerows(rows)
            count += len(rows)
    return count


def _rows(clip: ScoredClip) -> list[tuple[object, ...]]:
    said, table = clip.recording, clip.table
    frames, slots = said.present.shape
    targets = of_object(clip.places, table.object)
    rows: list[tuple[object, ...]] = []
    for t in range(frames):
        for k in range(slots):
            thing = int(table.object[t, k])
            rows.append((
                clip.model, clip.set, clip.source, "" if clip.seed is None else clip.seed, t, k,
                int(said.present[t, k]), int(said.hidden[t, k]), *(f"{value:.3f}" for value in said.positions[t, k]),
                thing, clip.names[thing] if thing >= 0 else "", int(table.screen[t, k]), int(table.visible[t, k]),
                int(table.scored[t, k]), *(_cell(value if thing >= 0 else None) for value in targets[t, k]),
                _cell(table.error[t, k]), int(clip.phantoms[t, k]), _at(said.occlusion, t, k),
                *(("", "") if said.gate is None else (_cell(said.gate[t, k, 0]), _cell(said.gate[t, k, 1]))),
                _at(said.object_areas, t, k), _at(said.visible_areas, t, k), _at(said.slot_errors, t, k),
                int(clip.official_rows.object[t, k]), _cell(clip.official_rows.error[t, k]),
                int(clip.official_rows.inside[t, k]),
            ))
    return rows


def _at(values: NDArray[np.floating] | None, t: int, k: int) -> str:
    return "" if values is None else _cell(values[t, k])


def _cell(value: float | None) -> str:
    return "" if value is None or not np.isfinite(value) else f"{value:.6g}"
