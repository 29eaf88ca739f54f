"""Bounding boxes of masks, their centres and their overlaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import ObjectTruth
from loci_looped.data.coordinates import diagonal

Floats = NDArray[np.floating]


def boxes(masks: NDArray[np.bool_]) -> Floats:
    """(..., H, W) -> (..., 4) first row, first column, last row, last column of the mask; NaN if it is empty."""
    rows, columns = np.asarray(masks.any(axis=-1)), np.asarray(masks.any(axis=-2))
    edges = np.stack([
        rows.argmax(axis=-1),
        columns.argmax(axis=-1),
        masks.shape[-2] - 1 - rows[..., ::-1].argmax(axis=-1),
        masks.shape[-1] - 1 - columns[..., ::-1].argmax(axis=-1),
    ], axis=-1).astype(np.float64)
    return np.where(rows.any(axis=-1, keepdims=True), edges, np.nan)


def box_centres(masks: NDArray[np.bool_]) -> Floats:
    """(..., H, W) -> (..., 2) pixel (row, column) of the middle of the bounding box; NaN if the mask is empty."""
    edges = boxes(masks)
    return (edges[..., :2] + edges[..., 2:]) / 2


def box_overlaps(first: Floats, second: Floats, edge: float = 1.0) -> Floats:
    """(..., N, 4) and (..., M, 4) -> (..., N, M) intersection over union; 0 with an empty mask's box.

    A box from pixel a to pixel b is b - a + 1 pixels wide; `edge=0` measures it as b - a, as SlotFormer does.
    """
    a, b = first[..., :, None, :], second[..., None, :, :]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2]) + edge
    shared = np.clip(sides, 0, None).prod(axis=-1)
    union = (a[..., 2:] - a[..., :2] + edge).prod(axis=-1) + (b[..., 2:] - b[..., :2] + edge).prod(axis=-1) - shared
    with np.errstate(invalid="ignore"):
        return np.where(union > 0, shared / np.where(union > 0, union, 1), 0.0)


def gap_to_screen(truth: ObjectTruth) -> Floats:
    """(T, O) pixels between the boxes of each object and of the nearest screen, over the diagonal; 0 where they meet,
    inf where there is no screen or the object is outside of the image."""
    edges = boxes(truth.object_masks)                                                       # (T, O, 4)
    screens = edges[:, [kind == "screen" for kind in truth.kinds]]
    if screens.shape[1] == 0:
        return np.full(edges.shape[:2], np.inf)
    one, other = edges[:, :, None], screens[:, None]
    apart = np.maximum(one[..., :2] - other[..., 2:], other[..., :2] - one[..., 2:]).clip(min=0)
    gaps = np.linalg.norm(apart, axis=-1) / diagonal(truth.size)
    return np.asarray(np.where(np.isnan(gaps), np.inf, gaps).min(axis=2))
