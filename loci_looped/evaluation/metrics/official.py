"""The released evaluation, faults and all, so that published tables can be compared with ours. Never a default.

Coordinates here are the release's: (row, column) in [-1, 1] from edge to edge of the image, positions (T, K, 2), truth
(T, O, 2). The image is three wide and two high, so its diagonal is sqrt(13); but it is the rows that are stretched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from loci_looped.evaluation.metrics.boxes import box_centres
from loci_looped.evaluation.metrics.mota import MotCounts, clear_mot
from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

PROTOCOL = "official/released-2024-03-23"
STRETCH = np.array([1.5, 1.0])           # of (row, column); the longer axis is the other one
DIAGONAL = math.sqrt(13)
LARGEST_SQUARED_DISTANCE = 0.1 * DIAGONAL    # meant as 10 % of the diagonal, used on squares: 16.65 % of it
SMALLEST_AREA = 100.0                    # pixels, whatever the resolution


@dataclass(frozen=True)
class OfficialRows:
    """One row per frame and slot (T, K) of a clip, as the released table has them."""

    object: Integers                     # -1 before association; such a row is compared with the last object
    error: Floats                        # share of sqrt(13); 0 where not `inside`
    inside: Bools                        # bound, in front of the camera, and inside by the release's stretched test


def official_coordinates(pixels: Floats, size: tuple[int, int]) -> Floats:
    """(..., 2) pixels with 0 at the first pixel's centre -> (..., 2) in [-1, 1] from edge to edge."""
    return np.asarray((pixels + 0.5) / np.asarray(size) * 2 - 1)


def official_association(positions: Floats, may_bind: Bools, truth: Floats) -> Integers:
    """Each slot is locked at its first visible frame to the nearest of *all* objects, even one outside the image."""
    slots = np.clip(positions, -1, 1) * STRETCH
    distances = np.linalg.norm(slots[:, :, None] - (truth * STRETCH)[:, None], axis=-1)     # (T, K, O)
    distances = np.where(np.isnan(distances), np.inf, distances)
    nearest = distances.argmin(axis=-1)[may_bind.argmax(axis=0), np.arange(may_bind.shape[1])]
    return np.where(np.logical_or.accumulate(may_bind, axis=0), nearest, -1).astype(np.int64)


def official_tracking_rows(
    positions: Floats, bound: Bools, may_bind: Bools, truth: Floats, in_front: Bools | None = None
) -> OfficialRows:
    """Tracking error with the truth's rows stretched twice (2.25) and the slot's once.

    A perfect tracker scores 6.2 % at row 0.3 and 10.4 % at row -0.5, and an object at row 0.8 counts as outside.
    """
    objects = official_association(positions, may_bind, truth)
    frames = np.arange(len(truth))[:, None]
    stretched = truth * STRETCH                              # the association scales the truth in place ...
    within = (np.abs(stretched) < 1).all(axis=-1)            # ... the test for the image sees the scaled rows ...
    if in_front is not None:
        within = within & in_front
    target = (stretched * STRETCH)[frames, objects]          # ... the error scales them again; -1 is the last object
    inside = bound & within[frames, objects]
    error = np.linalg.norm(positions * STRETCH - target, axis=-1) / DIAGONAL
    return OfficialRows(objects, np.where(inside, error, 0.0), inside)


def official_success(rows: OfficialRows, bound: Bools, visible: Bools, screens: Bools) -> tuple[Bools, Bools]:
    """(K,) which slots are tried, which succeed; visible (T, O), screens (O,). The screen flag is read at frame 1."""
    frames = np.arange(len(bound))[:, None]
    seen = visible[frames, rows.object] & bound
    last_seen = seen & rows.inside
    slots = np.arange(bound.shape[1])
    last = len(seen) - 1 - last_seen[::-1].argmax(axis=0)
    flag_frame = min(1, len(seen) - 1)
    tried = last_seen.any(axis=0) & (seen.argmax(axis=0) < 20) & ~screens[rows.object[flag_frame]]
    return tried, tried & (rows.error[last, slots] < 0.1)


def official_mota(positions: Floats, bound: Bools, truth: Floats, areas: Floats | None = None) -> MotCounts:
    """CLEAR MOT on squared distances with a limit that was meant for plain ones: 16.65 % of the diagonal, not 10 %."""
    slots = np.clip(positions, -1, 1)
    difference = (truth[:, :, None] - slots[:, None]) * STRETCH
    squared = (difference**2).sum(axis=-1)                                                  # (T, O, K)
    with np.errstate(invalid="ignore"):
        squared = np.where(squared <= LARGEST_SQUARED_DISTANCE, squared, np.nan)
        objects = np.asarray((np.abs(truth) < 1).all(axis=-1))
    hypotheses = bound & (np.abs(slots) < 1).all(axis=-1)
    if areas is not None:
        hypotheses = hypotheses & (areas > SMALLEST_AREA)
    return clear_mot(squared, objects, hypotheses)


def official_ball_positions(masks: Bools) -> Floats:
    """(B, K, H, W) -> (B, K, 2) box centres in [-1, 1], except that slots from the third on stay in pixels.

    The release divides along the slot axis where it means the coordinate axis; with one clip it fails altogether.
    """
    if len(masks) < 2:
        raise LociError("The released ball metric fails on a batch of one clip; give it two or more, or use balls.py.")
    centres = np.nan_to_num(box_centres(masks), nan=0.0)
    height, width = masks.shape[-2:]
    if height != width:
        raise LociError(f"The released ball metric knows square images only, these are {height} x {width}.")
    centres[:, :2] = centres[:, :2] / height * 2 - 1
    return centres


def official_ball_distance(positions: Floats, truth: Floats) -> Floats:
    """(B, T, K, 2) and (B, T, O, 2), both in [-1, 1] -> (B, T) mean distance in shares of the image's width.

    Pairs further apart than 1 (squared) are out of question at the first step, which drops every slot still in pixels:
    of three balls only two are scored. A clip without any pair is NaN.
    """
    ours, theirs = (positions + 1) / 2, (truth + 1) / 2
    distances = np.full(positions.shape[:2], np.nan)
    for clip, (mine, yours) in enumerate(zip(ours, theirs, strict=True)):
        squared = ((yours[0][:, None] - mine[0][None]) ** 2).sum(axis=-1)                  # (O, K)
        possible = squared <= 1
        balls, slots = linear_sum_assignment(np.where(possible, squared, 1e6))
        kept = possible[balls, slots]
        if kept.any():
            gaps = yours[:, balls[kept]] - mine[:, slots[kept]]
            distances[clip] = np.linalg.norm(gaps, axis=-1).mean(axis=-1)
    return distances
