"""Matched pairs: of two clips that differ by one impossible event behind a screen, which surprises the network more?

Chance is one half. Surprise in bits (`inference/surprise.py`) is judged by its largest value from the event on, and by
the sum of all bits, which also hears what goes on for a while. Beside it the errors, both by their largest value: the
paper's slot error over all slots that hold no screen, and the error of the whole predicted frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loci_looped.configs.experiments import BATCH
from loci_looped.configs.scenes import VIOLATIONS, ViolationKind
from loci_looped.configs.surprise import SurpriseScale
from loci_looped.data.coordinates import Size
from loci_looped.data.store.clip_cache import ProgressCallback, no_progress
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.experiments.scoring import ScoredClip, watch_and_score
from loci_looped.evaluation.experiments.test_sets import pair_specs
from loci_looped.evaluation.metrics.statistics import pairwise_accuracy
from loci_looped.model import GateKind
from loci_looped.utils.errors import LociError

PROTOCOLS = {
    "bits": "violations/sum-of-bits-from-event", "peak": "violations/peak-bits-from-event",
    "slot": "violations/peak-slot-error-from-event", "frame": "violations/peak-frame-error-from-event",
}


@dataclass(frozen=True)
class Pairs:
    """The pairs of one kind; equal clips are watched once, whatever kinds they serve."""

    kind: ViolationKind
    specs: list[tuple[ClipSpec, ClipSpec]]


def all_pairs(count: int, size: Size, seed: int, kinds: Sequence[ViolationKind] = VIOLATIONS) -> list[Pairs]:
    if count < 1:
        raise LociError(f"{count} pairs of each violation are none: ask for one or more with --pairs.")
    return [Pairs(kind, pair_specs(kind, count, size, seed)) for kind in kinds]


def put_violations(
    results: Results, case: Case, evaluated: EvaluatedModel, gate: GateKind, pairs: Sequence[Pairs], *,
    batch: int = BATCH, workers: int = 1, on_progress: ProgressCallback = no_progress, seed: int = 0,
    scale: SurpriseScale | None = None,
) -> list[ScoredClip]:
    """Accuracy with its bootstrap interval for each kind and for all together; returns the watched clips."""
    unique = {spec.key(): spec for group in pairs for pair in group.specs for spec in pair}
    scored, failures = watch_and_score(
        evaluated, list(unique.values()), gate, batch=batch, workers=workers, on_progress=on_progress,
        label=f"watching pairs, {evaluated.label(gate)}", scale=scale,
    )
    for sentence in failures:
        results.fail(sentence)
    # Clips that could not be scored are missing, so the others are found again by source and seed.
    found = {(clip.source, clip.seed): clip for clip in scored}
    by_key = {key: found.get((spec.source, spec.seed)) for key, spec in unique.items()}
    measures = [name for name in PROTOCOLS if name in ("slot", "frame") or scale is not None]
    everything: dict[str, list[tuple[float, float]]] = {name: [] for name in measures}
    for group in pairs:
        watched = [(by_key[control.key()], by_key[violation.key()]) for control, violation in group.specs]
        whole = [(usual, strange) for usual, strange in watched if usual is not None and strange is not None]
        if not whole:
            results.warn(f"{case}: none of the {group.kind} pairs could be scored.")
            continue
        for name in measures:
            values = [(surprise(usual, strange, name), surprise(strange, strange, name)) for usual, strange in whole]
            everything[name] += values
            _put(results, case.under(group.kind), values, name, seed)
    for name, values in everything.items():
        if values:
            _put(results, case.under("all"), values, name, seed)
    return scored


def _put(results: Results, case: Case, values: Sequence[tuple[float, float]], name: str, seed: int) -> None:
    usual, strange = (np.array(column) for column in zip(*values, strict=True))
    estimate = pairwise_accuracy(strange, usual, seed)
    results.put(case, f"{name}_accuracy", estimate, PROTOCOLS[name], percent=True)


def surprise(clip: ScoredClip, violation: ScoredClip, measure: str) -> float:
    """The largest surprise in a clip from the moment on at which its violation twin departs from it."""
    event = next(event.frame for event in violation.events if event.kind == "violation")
    first = max(0, event - 1)           # the prediction for the frame of the event is made one frame before
    said = clip.recording
    if measure in ("bits", "peak"):
        assert said.surprise is not None and said.unexpected is not None
        bits = np.maximum(np.where(said.present, said.surprise, 0.0).max(axis=1), said.unexpected)[event:]
        return float(bits.max() if measure == "peak" else np.maximum(bits, 0).sum())
    if said.slot_errors is None or said.frame_errors is None:
        raise LociError("Surprise needs a predicted frame, but this model predicts none: evaluate a network instead.")
    if measure == "frame":
        return float(said.frame_errors[first:-1].max())
    owners = clip.object_of_slot()
    is_screen = np.array([owner >= 0 and not clip.movers[owner] for owner in owners])
    errors = np.where(said.present & ~is_screen, said.slot_errors, 0.0)
    return float(errors[first:-1].max()) if errors.size else 0.0
