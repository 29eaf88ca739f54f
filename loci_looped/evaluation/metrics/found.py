"""Are all objects found, each by one slot, and does no slot show what is not there? Counted in label maps.

A slot belongs to the object on which most of its pixels lie; where most of them lie on the background it is a false
positive. Slots and objects of a few pixels are not judged: a rim, or what is just about to enter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.evaluation.metrics.segmentation import Floats, Labels, contingency

PROTOCOL = "found/most-pixels"
SMALLEST = 10
"""Pixels."""


@dataclass(frozen=True)
class Found:
    """Of N frames, (N,) each; NaN where there is nothing to be found."""

    found: Floats               # share of the objects that a slot belongs to
    slots_per_object: Floats    # of those that are found
    false_positives: Floats     # slots per frame that show no object


def found_objects(truth: Labels, prediction: Labels) -> Found:
    """Label maps (N, H, W), 0 is the background."""
    table = contingency(truth, prediction)[..., 1:]                     # (N, R, C): truth with background, slots
    shown = table.sum(axis=1) >= SMALLEST                               # (N, C)
    there = contingency(truth, prediction)[:, 1:].sum(axis=2) >= SMALLEST           # (N, R - 1)
    frames, rows, columns = table.shape
    if columns == 0 or rows == 1:
        nothing = np.full(frames, np.nan)
        return Found(np.where(there.any(axis=1), 0.0, np.nan), nothing, shown.sum(axis=1).astype(np.float64))
    elsewhere = 2 * table[:, 0] >= table.sum(axis=1)                    # most of it lies on the background
    belongs = np.where(elsewhere, -1, table[:, 1:].argmax(axis=1))      # (N, C)
    objects: NDArray[np.int64] = np.arange(rows - 1)
    held = ((belongs[:, None] == objects[None, :, None]) & shown[:, None]).sum(axis=2)           # (N, R - 1)
    caught = (held > 0) & there
    count = caught.sum(axis=1)
    return Found(
        found=np.where(there.any(axis=1), count / np.maximum(there.sum(axis=1), 1), np.nan),
        slots_per_object=np.where(count > 0, (held * caught).sum(axis=1) / np.maximum(count, 1), np.nan),
        false_positives=(shown & elsewhere).sum(axis=1).astype(np.float64),
    )
