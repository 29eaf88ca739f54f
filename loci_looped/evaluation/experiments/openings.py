"""How far the gates are open, by how much of an object is hidden and by how near it is to the screen.

Whoever shuts the gate only when nothing can be seen any more takes over the misleading places of half-hidden objects.
The paper's finding is a gate that shuts before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.experiments.scoring import ScoredClip
from loci_looped.evaluation.metrics.tracking import moments, of_object

Floats = NDArray[np.floating]

PROTOCOL = "gate/mean-opening-by-true-occlusion"
GATES = ("gestalt", "position")
BINS: tuple[tuple[str, float, float], ...] = (
    ("0", 0.0, 0.0), ("0-0.2", 0.0, 0.2), ("0.2-0.4", 0.2, 0.4), ("0.4-0.6", 0.4, 0.6), ("0.6-0.8", 0.6, 0.8),
    ("0.8-1", 0.8, 1.0), ("1", 1.0, 1.0),
)
"""(name, above, up to) of the hidden share; a bin from a number to itself holds that number alone."""
NEAR = 0.1
"""Beside the screen: less than this share of the diagonal between their outlines."""


def in_bin(hidden: Floats, above: float, up_to: float) -> NDArray[np.bool_]:
    """Which hidden shares fall into a bin. Wholly visible and wholly hidden have bins of their own."""
    if above == up_to:
        return np.asarray(hidden == above)
    return np.asarray((hidden > above) & (hidden <= up_to) & (hidden < 1))


def openings_by_occlusion(clips: Sequence[ScoredClip]) -> list[tuple[str, Floats]]:
    """Per bin of the true hidden share the openings (N, 2) for gestalt and position, at the rows of movers."""
    openings, hidden, _ = _rows(clips)
    return [(name, openings[in_bin(hidden, above, up_to)]) for name, above, up_to in BINS]


def put_openings(results: Results, case: Case, clips: Sequence[ScoredClip]) -> None:
    """Rows per bin, for what is in plain sight far from the screen and beside it; nothing for models without gates."""
    if any(clip.recording.gate is None for clip in clips):
        return
    openings, hidden, gaps = _rows(clips)
    chosen = {f"occlusion {name}": in_bin(hidden, above, up_to) for name, above, up_to in BINS}
    plain = hidden == 0
    chosen |= {"in sight, far from the screen": plain & (gaps > NEAR), "in sight, beside it": plain & (gaps <= NEAR)}
    for name, rows in chosen.items():
        for index, gate in enumerate(GATES):
            results.put(case.under(name), f"{gate}_gate", moments(openings[rows, index]), PROTOCOL)


def _rows(clips: Sequence[ScoredClip]) -> tuple[Floats, Floats, Floats]:
    """(N, 2) openings, (N,) true hidden share, (N,) gap to the screen, of every scored row of a mover."""
    openings, hidden, gaps = [], [], []
    for clip in clips:
        assert clip.recording.gate is not None
        rows = clip.rows
        openings.append(clip.recording.gate[rows])
        hidden.append(of_object(clip.hidden_share, clip.table.object)[rows])
        gaps.append(of_object(clip.screen_gap, clip.table.object)[rows])
    return np.concatenate(openings), np.concatenate(hidden), np.concatenate(gaps)
