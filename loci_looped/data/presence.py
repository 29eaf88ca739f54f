"""Is anything at a place? What a model believes in, held against the truth, for figures, pictures and the lab."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import ObjectTruth
from loci_looped.data.coordinates import diagonal, inside

Bools = NDArray[np.bool_]
NEAR = 0.10
"""Of the diagonal: an object's centre within this distance is what a place stands for."""


def at_no_object(places: NDArray[np.floating], hidden: Bools, truth: ObjectTruth) -> Bools:
    """(T, K) the place, a pixel (row, column) of (T, K, 2), is inside the image, and no object is there.

    A slot is at an object whose centre is near, or, if it claims to see it, on a pixel at which the object can be seen:
    the centre of a wide screen is far from its edge. A slot that believes its object `hidden` (T, K) cannot be at a
    screen, which is what hides: behind it, only movers count.
    """
    in_picture = np.asarray(truth.object_masks.any(axis=(2, 3)))                     # (T, O)
    gaps = np.linalg.norm(places[:, :, None] - truth.positions[:, None], axis=-1)     # (T, K, O)
    with np.errstate(invalid="ignore"):
        near = (gaps <= NEAR * diagonal(truth.size)) & in_picture[:, None]
    is_screen = np.array([kind == "screen" for kind in truth.kinds], dtype=bool)
    near = near & ~(hidden[..., None] & is_screen)
    on_pixels = _seen_at(places, truth) & ~hidden
    return np.asarray(inside(places, truth.size) & ~near.any(axis=-1) & ~on_pixels)


def _seen_at(places: NDArray[np.floating], truth: ObjectTruth) -> Bools:
    """(T, K) some object can be seen at this pixel."""
    height, width = truth.size
    pixels = np.nan_to_num(places)
    rows = np.clip(np.rint(pixels[..., 0]), 0, height - 1).astype(int)
    columns = np.clip(np.rint(pixels[..., 1]), 0, width - 1).astype(int)
    seen = np.asarray(truth.visible_masks.any(axis=1))                               # (T, H, W)
    return np.asarray(seen[np.arange(len(seen))[:, None], rows, columns])
