"""What can be said about a prediction when nobody knows the truth: is it better than a copy, or than an empty scene?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from loci_looped.data.films.moving import Blob

Floats = NDArray[np.floating]

RIM = 3
"""Pixels around a thing that may be painted with it: a soft outline, a place that is slightly off."""


@dataclass(frozen=True)
class Explained:
    """Squared errors, summed over the pixels before which something stands or has just stood."""

    prediction: float = 0.0
    invented: float = 0.0           # by how much it is worse than the bare background far from all that stands
    copy: float = 0.0               # of the frame before, taken for this one
    background: float = 0.0         # of the bare background
    pixels: int = 0

    def __add__(self, other: Explained) -> Explained:
        return Explained(
            self.prediction + other.prediction, self.invented + other.invented, self.copy + other.copy,
            self.background + other.background, self.pixels + other.pixels,
        )

    @property
    def error(self) -> float:
        """Of the prediction, what it invents included: who paints everything grey is near to all that is grey."""
        return self.prediction + self.invented

    @property
    def share(self) -> float:
        """How much of what differs from the background the prediction explains: 1 is all, 0 no more than a bare
        background; NaN if nothing ever differs."""
        return 1 - self.error / self.background if self.background > 0 else float("nan")

    def mean(self, name: str) -> float:
        """Mean squared error per pixel and colour."""
        return float(getattr(self, name)) / (3 * self.pixels) if self.pixels else float("nan")


def explained(
    expected: Floats, frame: Floats, before: Floats, background: Floats, moving: NDArray[np.bool_]
) -> Explained:
    """Of one frame; pictures (H, W, 3) in [0, 1], `moving` (H, W) where the foreground is or was."""
    def error(picture: Floats) -> float:
        return float(((picture - frame) ** 2)[moving].sum())

    far = ~ndimage.binary_dilation(moving, iterations=RIM)
    worse = float((((expected - frame) ** 2) - ((background - frame) ** 2))[far].sum())
    return Explained(error(expected), max(0.0, worse), error(before), error(background), int(moving.sum()))


def slots_on(blobs: list[Blob], visible_masks: NDArray[np.bool_]) -> list[int]:
    """Per blob, how many slots (K, H, W) show themselves mostly on it."""
    areas = visible_masks.sum(axis=(1, 2))
    return [
        int(((visible_masks & blob.mask).sum(axis=(1, 2)) > np.maximum(areas, 1) / 2).sum()) for blob in blobs
    ]
