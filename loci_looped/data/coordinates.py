"""The one place that converts between pixels, the network's coordinates and sizes of pictures.

Everything is (row, column).

* Pixels: 0 is the centre of the first pixel, so the picture reaches from -0.5 to size - 0.5.
* The network's coordinates: -1 is the centre of the first pixel and +1 the centre of the last one, on either axis.
* Another size: edges stay edges. A point keeps its share of the way from one edge of the picture to the other, which
  is what resampling does to the pixels themselves; masks, pictures and positions therefore stay together.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Size = tuple[int, int]                  # (H, W)
Floats = NDArray[np.floating]


def to_pixels(positions: Floats, size: Size) -> Floats:
    """(..., 2) in [-1, 1] -> (..., 2) in pixels of an image of `size` (H, W)."""
    return (positions + 1) / 2 * (np.asarray(size, dtype=positions.dtype) - 1)


def from_pixels(pixels: Floats, size: Size) -> Floats:
    """(..., 2) in pixels of an image of `size` (H, W) -> (..., 2) in [-1, 1]."""
    return pixels / (np.asarray(size, dtype=pixels.dtype) - 1) * 2 - 1


def inside(pixels: Floats, size: Size) -> NDArray[np.bool_]:
    """(..., 2) pixels -> (...) does the point fall on a pixel of the image? NaN does not."""
    limit = np.asarray(size, dtype=np.float64) - 0.5
    with np.errstate(invalid="ignore"):
        return np.asarray(((pixels >= -0.5) & (pixels <= limit)).all(axis=-1))


def diagonal(size: Size) -> float:
    """Length of the image's diagonal in pixels, the yardstick of every tracking error."""
    return math.hypot(*size)


def resize_pixels(pixels: Floats, old: Size, new: Size) -> Floats:
    """(..., 2) pixels of an image of size `old` -> (..., 2) pixels of the same image at size `new`."""
    scale = np.asarray(new, dtype=pixels.dtype) / np.asarray(old, dtype=pixels.dtype)
    half = pixels.dtype.type(0.5)
    return (pixels + half) * scale - half


def resize(picture: NDArray[np.uint8], size: Size | None) -> NDArray[np.uint8]:
    """(H, W, 3) at another size, smoothed when it gets smaller."""
    if size is None or picture.shape[:2] == size:
        return picture
    return np.asarray(Image.fromarray(picture).resize((size[1], size[0]), Image.Resampling.BILINEAR))


def resize_masks(masks: NDArray[np.bool_], size: Size | None) -> NDArray[np.bool_]:
    """(..., H, W) at another size: each new pixel takes the old pixel under its centre."""
    height, width = masks.shape[-2:]
    if size is None or (height, width) == size:
        return masks
    rows = ((np.arange(size[0]) + 0.5) * height / size[0]).astype(int)
    columns = ((np.arange(size[1]) + 0.5) * width / size[1]).astype(int)
    return np.ascontiguousarray(masks[..., rows[:, None], columns])
