"""The ball as G-SWM draws it: a small anti-aliased disc, warped to its place, painted over what was there.

The disc is 17 x 17 pixels, and its warp sends the sprite's corner (0, 0) to the ball's top left corner and index 17 to
its right edge. A ball of radius 8 therefore appears with radius 8 * 16/17 = 7.53 around pixel index x - 0.47.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

SPRITE = 17             # pixels on each side
SPRITE_RADIUS = 8.0     # around pixel index 8


@cache
def disc() -> NDArray[np.float64]:
    """(17, 17) how much of each sprite pixel the disc covers, in 1/255."""
    sub = 32                                                    # each pixel is cut into sub x sub points
    centre = SPRITE // 2
    points = (np.arange(SPRITE * sub) + 0.5) / sub - 0.5 - centre
    inside = points[:, None] ** 2 + points[None, :] ** 2 <= SPRITE_RADIUS**2
    covered = inside.reshape(SPRITE, sub, SPRITE, sub).mean(axis=(1, 3))
    return np.asarray(np.rint(255 * covered) / 255)


def alphas(positions: NDArray[np.float64], radius: float, size: tuple[int, int]) -> NDArray[np.float64]:
    """(T, H, W) opacity of one ball, bilinear, rounded to 8 bits; `positions` (T, 2) are (x, y) from the corner."""
    height, width = size
    columns = _tents(positions[:, 0], radius, width)            # (T, W, 17)
    rows = _tents(positions[:, 1], radius, height)              # (T, H, 17)
    return np.rint(255 * (rows @ disc() @ columns.transpose(0, 2, 1))) / 255


def _tents(centre: NDArray[np.float64], radius: float, length: int) -> NDArray[np.float64]:
    """(T, length, 17) share of each sprite index in each pixel. Bilinear sampling is a product of two such matrices."""
    index = (np.arange(length) - (centre - radius)[:, None]) * SPRITE / (2 * radius)
    return np.maximum(0.0, 1.0 - np.abs(index[:, :, None] - np.arange(SPRITE)))


def paint(opacity: NDArray[np.float64], colours: NDArray[np.uint8], layers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """(T, H, W, 3) frames on black. `opacity` (T, M, H, W); low layers first, within a layer low indices first."""
    steps, _, height, width = opacity.shape
    canvas = np.zeros((steps, height, width, 3))
    for ball in drawing_order(layers):
        cover = opacity[:, ball, :, :, None]
        canvas *= 1 - cover
        canvas += colours[ball] / 255.0 * cover
    return np.floor(255 * canvas).astype(np.uint8)


def drawing_order(layers: NDArray[np.int64]) -> NDArray[np.int64]:
    """(M,) ball indices, the one painted first in front of the list."""
    return np.argsort(layers, kind="stable")


def masks(opacity: NDArray[np.float64], layers: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(T, M, H, W) visible and whole-object masks: a pixel belongs to a ball that covers at least half of it."""
    whole = opacity >= 0.5
    return topmost(whole, drawing_order(layers)), whole


def topmost(whole: NDArray[np.bool_], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(T, M, H, W) the part of each whole mask that nothing painted later covers. `order` runs from back to front."""
    visible = np.zeros_like(whole)
    free = np.ones(whole[:, 0].shape, dtype=bool)               # (T, H, W) not yet covered from the front
    for ball in order[::-1]:
        visible[:, ball] = whole[:, ball] & free
        free &= ~whole[:, ball]
    return visible
