"""Bouncing balls: how far do imagined balls drift from the true ones, step by step?

All balls are scored. The released metric scores two of three, see `official.official_ball_distance`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]

PROTOCOL = "balls/all-balls-hungarian-at-first-step"
PLAUSIBILITY = "balls/energy-of-the-last-ten-steps-and-box"
SCORED_STEPS = 10


def match_balls(positions: Floats, truth: Floats) -> NDArray[np.int64]:
    """(K, 2) slots and (O, 2) balls at one moment -> (O,) the slot of each ball, least squared distance in total."""
    squared = ((truth[:, None] - positions[None]) ** 2).sum(axis=-1)
    return np.asarray(linear_sum_assignment(squared)[1], dtype=np.int64)


def ball_distances(positions: Floats, truth: Floats, present: NDArray[np.bool_] | None = None) -> Floats:
    """Mean distance over all balls at each imagined step, in shares of the image's width.

    positions (B, T, K, 2) and truth (B, T, O, 2), (row, column) in shares of the image's width. Slots are matched to
    balls at the first step and keep them. `present` (B, K) leaves empty slots out of the matching.
    Returns (B, T).
    """
    if positions.ndim != 4 or positions.shape[:2] != truth.shape[:2] or positions.shape[1] == 0:
        raise LociError(
            f"Positions (B, T, K, 2) and truth (B, T, O, 2) must agree in clips and steps, but they are "
            f"{positions.shape} and {truth.shape}."
        )
    if len(positions) == 0:
        raise LociError("There is no clip to score: the test set is empty.")
    clips, _, slots, _ = positions.shape
    usable = np.ones((clips, slots), dtype=bool) if present is None else present
    distances = np.empty(positions.shape[:2])
    for clip in range(clips):
        chosen = np.flatnonzero(usable[clip])
        if len(chosen) < truth.shape[2]:
            raise LociError(
                f"Clip {clip} has {truth.shape[2]} balls but {len(chosen)} slots hold something at the first step: "
                "a distance over all balls is not defined. Count it as a failed clip."
            )
        mine = positions[clip][:, chosen]
        broken = np.argwhere(~np.isfinite(mine).all(axis=(1, 2)))
        if len(broken):
            raise LociError(f"Clip {clip} has a position that is not a number at step {broken[0, 0]}: it has diverged.")
        pairs = match_balls(mine[0], truth[clip, 0])
        distances[clip] = np.linalg.norm(mine[:, pairs] - truth[clip], axis=-1).mean(axis=-1)
    return distances


def energy_kept(positions: Floats, truth: Floats, steps: int = SCORED_STEPS) -> float:
    """Squared steps of the imagined balls (T, O, 2) over those of the true ones, both in the last `steps` frames.

    Balls of equal mass keep the sum of their squared speeds whatever they hit. Steps stand for speeds in both: a step
    in which a ball turns is shorter than its speed, for true balls, too.
    """
    imagined, real = (np.square(np.diff(places[-steps - 1 :], axis=0)).sum() for places in (positions, truth))
    return float(imagined / real)


def share_in_box(positions: Floats, radius: float, tolerance: float) -> float:
    """Share of the frames (T, O, 2) in which every ball lies in the unit box, off by no more than the tolerance."""
    low = radius - tolerance
    return float(((positions >= low) & (positions <= 1 - low)).all(axis=(1, 2)).mean())


def distance_error(distances: Floats, steps: int = SCORED_STEPS) -> float:
    """The published number: mean over clips, summed over the first steps. distances (B, T)."""
    if distances.shape[1] < steps:
        raise LociError(f"{steps} steps are to be summed, but {distances.shape[1]} were imagined: roll out further.")
    return float(distances[:, :steps].mean(axis=0).sum())
