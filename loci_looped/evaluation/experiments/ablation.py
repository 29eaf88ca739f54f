"""Side by side: the same scenes watched by several networks, with several gates, and by plain physics.

Because the scenes are the same, two models are compared scene by scene: the difference has an interval of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.experiments.scoring import ScoredClip
from loci_looped.evaluation.experiments.tracking import DRAWS, put_tracking, scene_sums
from loci_looped.evaluation.metrics.statistics import Estimate, bootstrap

PAIRED = "tracking/paired-difference-over-scenes"


def put_ablation(results: Results, models: Mapping[Case, Sequence[ScoredClip]]) -> None:
    """Tracking figures of each model, and how far each is from the first."""
    first: Case | None = None
    for case, clips in models.items():
        put_tracking(results, case, clips)
        if first is None:
            first = case
            results.settings["difference_from"] = [first.model, first.gate]
            continue
        for part, visible in (("visible", True), ("occluded", False)):
            difference = paired_difference(models[first], clips, visible)
            results.put(case, f"difference_{part}", difference, PAIRED, percent=True)


def paired_difference(ours: Sequence[ScoredClip], theirs: Sequence[ScoredClip], visible: bool) -> Estimate | None:
    """How much larger their pooled error is than ours, over resampled scenes; None without common rows."""
    mine = {(clip.source, clip.seed): clip for clip in ours if clip.set == "control"}
    yours = {(clip.source, clip.seed): clip for clip in theirs if clip.set == "control"}
    common = [name for name in mine if name in yours]
    if not common:
        return None
    our_sums, our_rows = scene_sums([mine[name] for name in common], visible)
    their_sums, their_rows = scene_sums([yours[name] for name in common], visible)
    if our_rows.sum() == 0 or their_rows.sum() == 0:
        return None

    def difference(chosen: NDArray[np.int64]) -> float:
        theirs_mean = their_sums[chosen].sum() / max(1.0, their_rows[chosen].sum())
        return float(theirs_mean - our_sums[chosen].sum() / max(1.0, our_rows[chosen].sum()))

    return bootstrap(difference, len(common), draws=DRAWS)
