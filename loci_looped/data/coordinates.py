"""The one place that converts between pixels and the network's coordinates.

Both are (row, column). In pixels, 0 is the centre of the first pixel. In the network's coordinates, -1 is the centre of
the first pixel and +1 the centre of the last one, on either axis.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def to_pixels(positions: Floats, size: tuple[int, int]) -> Floats:
    """(..., 2) in [-1, 1] -> (..., 2) in pixels of an image of `size` (H, W)."""
    return (positions + 1) / 2 * (np.asarray(size, dtype=positions.dtype) - 1)


def from_pixels(pixels: Floats, size: tuple[int, int]) -> Floats:
    """(..., 2) in pixels of an image of `size` (H, W) -> (..., 2) in [-1, 1]."""
    return pixels / (np.asarray(size, dtype=pixels.dtype) - 1) * 2 - 1


def inside(pixels: Floats, size: tuple[int, int]) -> NDArray[np.bool_]:
    """(..., 2) pixels -> (...) does the point fall on a pixel of the image? NaN does not."""
    limit = np.asarray(size, dtype=np.float64) - 0.5
    with np.errstate(invalid="ignore"):
        return np.asarray(((pixels >= -0.5) & (pixels <= limit)).all(axis=-1))


def diagonal(size: tuple[int, int]) -> float:
    """Length of the image's diagonal in pixels, the yardstick of every tracking error."""
    return math.hypot(*size)
