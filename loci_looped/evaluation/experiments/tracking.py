"""The tracking experiment: does a slot stay with its object, also while nobody can see it?

The paper's table 3 with the frames it leaves out, for each way of using the gate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loci_looped.evaluation.experiments.openings import put_openings
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.experiments.scoring import ScoredClip
from loci_looped.evaluation.metrics import mota, official, phantoms, tracking
from loci_looped.evaluation.metrics.statistics import bootstrap
from loci_looped.evaluation.metrics.tracking import Moments, moments, summarise

Floats = NDArray[np.floating]
DRAWS = 2000        # of the intervals over scenes


def put_tracking(results: Results, case: Case, clips: Sequence[ScoredClip]) -> None:
    """All tracking figures of one model; the paper's are those of the control scenes."""
    control = [clip for clip in clips if clip.set == "control"]
    surprise = [clip for clip in clips if clip.set == "surprise"]
    if control:
        _put_errors(results, case, control)
        _put_finding(results, case, control)
        _put_gates(results, case, control)
        put_openings(results, case, control)
        _put_official(results, case, control)
        _put_curves(results, case, control)
    else:
        results.warn("There is no control scene, so the tracking table is empty.")
    for name, chosen in (("", control), ("_surprise", surprise)):
        if chosen:
            _put_mota(results, case, name, chosen)
            _put_phantoms(results, case, name, chosen)


def _put_errors(results: Results, case: Case, clips: Sequence[ScoredClip]) -> None:
    summary = summarise([clip.table for clip in clips])
    for name, value, visible in (
        ("visible", summary.visible, True), ("occluded", summary.occluded, False), ("overall", summary.overall, None),
    ):
        results.put(case, f"error_{name}", value, tracking.PROTOCOL, percent=True,
                    interval=_over_scenes(clips, visible))
    rate = summary.success_rate
    results.put(case, "successful", rate, tracking.PROTOCOL, percent=True, n=summary.tried)
    if summary.tried == 0:
        results.warn(
            f"{case}: no slot held a visible mover in the first {tracking.FIRST_SEEN_BEFORE} frames, so there is "
            "nothing to track. Is the network trained?"
        )


def _over_scenes(clips: Sequence[ScoredClip], visible: bool | None) -> tuple[float, float] | None:
    """95 % interval of the pooled mean error, if other scenes had been drawn: rows of one scene are no sample."""
    sums, counts = scene_sums(clips, visible)
    if counts.sum() == 0:
        return None

    def pooled(chosen: NDArray[np.int64]) -> float:
        return float(sums[chosen].sum() / max(1, counts[chosen].sum()))

    estimate = bootstrap(pooled, len(clips), draws=DRAWS)
    return estimate.low, estimate.high


def scene_sums(clips: Sequence[ScoredClip], visible: bool | None) -> tuple[Floats, Floats]:
    """(N,) summed error of movers and (N,) number of rows, per scene; of seen rows, hidden rows, or all."""
    chosen = [clip.rows if visible is None else clip.rows & (clip.table.visible == visible) for clip in clips]
    sums = np.array([clip.table.error[rows].sum() for clip, rows in zip(clips, chosen, strict=True)])
    return sums, np.array([float(rows.sum()) for rows in chosen])


def _put_finding(results: Results, case: Case, clips: Sequence[ScoredClip]) -> None:
    """How many movers were found at all, and by how many slots: errors alone could be bought by looking away."""
    movers, found, slots = finding(clips)
    results.put(case, "movers_found", found / max(1, movers), tracking.PROTOCOL, percent=True, n=movers)
    results.put(case, "slots_per_mover", slots / found if found else None, tracking.PROTOCOL, n=found)


def finding(clips: Sequence[ScoredClip]) -> tuple[int, int, int]:
    """How many movers there are, how many of them some slot held while they could be seen, and how many slots did."""
    movers = sum(int(clip.movers.sum()) for clip in clips)
    found = sum(int((clip.held & clip.movers).sum()) for clip in clips)
    slots = sum(int(clip.rows.any(axis=0).sum()) for clip in clips)
    return movers, found, slots


def _put_gates(results: Results, case: Case, clips: Sequence[ScoredClip]) -> None:
    """Openings and the paper's inner-loop share over the rows of the tracking error."""
    if any(clip.recording.gate is None for clip in clips):
        return
    for name, visible in (("visible", True), ("occluded", False)):
        openings = gate_openings(clips, visible)
        results.put(case, f"inner_loop_{name}", moments(1 - openings.mean(axis=-1)), "gate/1-mean-opening",
                    percent=True)
        for index, gate in enumerate(("gestalt", "position")):
            results.put(case, f"{gate}_gate_{name}", moments(openings[:, index]), "gate/mean-opening")


def gate_openings(clips: Sequence[ScoredClip], visible: bool) -> Floats:
    """(N, 2) openings for gestalt and position at the rows of movers that can, or cannot, be seen."""
    parts = []
    for clip in clips:
        assert clip.recording.gate is not None
        parts.append(clip.recording.gate[clip.rows & (clip.table.visible == visible)])
    return np.concatenate(parts)


def _put_official(results: Results, case: Case, clips: Sequence[ScoredClip]) -> None:
    for name, visible in (("visible", True), ("occluded", False)):
        errors = _official_errors(clips, visible)
        results.put(case, f"official_error_{name}", errors, official.PROTOCOL, percent=True)
    tried = sum(clip.official_success[0] for clip in clips)
    succeeded = sum(clip.official_success[1] for clip in clips)
    results.put(case, "official_successful", succeeded / tried if tried else None, official.PROTOCOL, percent=True,
                n=tried)


def _official_errors(clips: Sequence[ScoredClip], visible: bool) -> Moments:
    parts = []
    for clip in clips:
        rows = clip.official_rows
        frames = np.arange(len(rows.object))[:, None]
        seen, mover = clip.seen[frames, rows.object], clip.movers[rows.object]
        parts.append(rows.error[rows.inside & mover & (seen == visible)])
    return moments(np.concatenate(parts))


def _put_mota(results: Results, case: Case, name: str, clips: Sequence[ScoredClip]) -> None:
    pooled = mota.total(clip.counts for clip in clips)
    results.put(case, f"mota{name}", pooled.mota, mota.PROTOCOL, n=pooled.objects)
    for part in ("recall", "precision", "misses", "false_positives", "switches"):
        results.put(case, f"mota{name}_{part}", getattr(pooled, part), mota.PROTOCOL)
    released = mota.total(clip.official_counts for clip in clips)
    results.put(case, f"official_mota{name}", released.mota, official.PROTOCOL, n=released.objects)


def _put_phantoms(results: Results, case: Case, name: str, clips: Sequence[ScoredClip]) -> None:
    """What is believed beyond what is there. In surprise scenes the vanished object, still believed in, is one."""
    pooled = mota.total(clip.counts for clip in clips)
    results.put(case, f"false_positives_per_frame{name}", pooled.false_positives_per_frame, mota.PROTOCOL,
                n=pooled.frames)
    results.put(case, f"phantom_frames{name}", phantoms.phantom_frames([clip.phantoms for clip in clips]),
                phantoms.PROTOCOL, percent=True, n=pooled.frames)


def _put_curves(results: Results, case: Case, clips: Sequence[ScoredClip]) -> None:
    """Error, openings and visibility over time, over all (clip, slot) pairs that hold a mover."""
    frames = np.arange(min(len(clip.seen) for clip in clips))
    errors, hidden, openings = [], [], []
    for clip in clips:
        rows = clip.rows[: len(frames)]
        errors.append(np.where(rows, 100 * clip.table.error[: len(frames)], np.nan))
        hidden.append(np.where(rows, ~clip.table.visible[: len(frames)], np.nan))
        if clip.recording.gate is not None:
            openings.append(np.where(rows[..., None], clip.recording.gate[: len(frames)], np.nan))
    results.put_mean_curve(case, "error_over_time", frames, np.concatenate(errors, axis=1))
    results.put_mean_curve(case, "hidden_share_over_time", frames, np.concatenate(hidden, axis=1).astype(np.float64))
    if openings:
        stacked = np.concatenate(openings, axis=1)
        results.put_mean_curve(case, "gestalt_gate_over_time", frames, stacked[..., 0])
        results.put_mean_curve(case, "position_gate_over_time", frames, stacked[..., 1])
