"""What moves before a background: changed pixels, and the blobs they form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

THRESHOLD = 0.1
"""Deviation from the background, of at most 1, above which something stands before it; training uses the same."""
SMALLEST = 6
"""Pixels below which a blob is taken for noise."""


@dataclass(frozen=True)
class Blob:
    """One connected part of the foreground of a frame."""

    frame: int
    centre: NDArray[np.float64]     # (2,) row, column
    area: int
    colour: NDArray[np.float64]     # (3,) mean
    mask: NDArray[np.bool_]         # (H, W)
    at_border: bool


def foreground(frames: NDArray[np.uint8], background: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """(..., H, W) where frames (..., H, W, 3) differ from the background (H, W, 3)."""
    difference = (frames.astype(np.float32) - background.astype(np.float32)) / 255
    return np.asarray(np.sqrt((difference**2).mean(axis=-1)) > THRESHOLD)


def blobs(frame: NDArray[np.uint8], front: NDArray[np.bool_], number: int = 0) -> list[Blob]:
    """The connected parts of a foreground (H, W)."""
    labels, count = ndimage.label(front, structure=np.ones((3, 3)))
    found = []
    for mask in (labels == label for label in range(1, count + 1)):
        area = int(mask.sum())
        if area >= SMALLEST:
            rows, columns = np.nonzero(mask)
            inside = mask[1:-1, 1:-1].sum()
            centre = np.array([rows.mean(), columns.mean()])
            found.append(Blob(number, centre, area, frame[mask].mean(axis=0), mask, bool(inside < area)))
    return found
