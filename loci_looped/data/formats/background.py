"""The scene without its objects, guessed from frames in which objects move, or known where masks say so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.utils.errors import LociError

TOLERANCE = 12          # grey levels within which two frames show the same thing
MIN_SUPPORT = 0.15      # share of the frames that must agree before we say a pixel's background was seen
SAMPLES = 32            # frames looked at, up to twice as many; more do not make the guess better
BAND_BYTES = 1 << 22    # pixels are worked on in bands of rows, so that memory stays small


@dataclass(frozen=True)
class Background:
    """A background picture and how far to trust it."""

    image: NDArray[np.uint8]        # (H, W, 3)
    support: NDArray[np.float32]    # (H, W) share of the frames that show this colour here
    known: NDArray[np.bool_]        # (H, W) False where too few frames agree: perhaps never uncovered


def estimate(frames: NDArray[np.uint8], tolerance: int = TOLERANCE) -> Background:
    """From (T, H, W, 3). Temporal median first; where some other colour is shown more often, that one (the mode).

    The median is right wherever a pixel is free for half of the time, the mode also when it is free for less, as long
    as the things that pass do not all look the same. An object that never moves belongs to the background.
    """
    steps, height, width = frames.shape[:3]
    if steps < 1:
        raise LociError("A background needs at least one frame.")
    image = np.empty((height, width, 3), dtype=np.uint8)
    support = np.empty((height, width), dtype=np.float32)
    band = max(1, BAND_BYTES // (steps * width * 3))
    for top in range(0, height, band):
        rows = slice(top, min(top + band, height))
        image[rows], support[rows] = _of_band(frames[:, rows], tolerance)
    # Two frames that agree by chance are no evidence when there are many.
    return Background(image, support, support >= max(MIN_SUPPORT, min(3, steps) / steps - 1e-6))


def _of_band(frames: NDArray[np.uint8], tolerance: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    values = frames.astype(np.int16)                                        # (T, h, W, 3)
    median = np.rint(np.median(values, axis=0)).astype(np.int16)
    colour, support = _agreeing(values, median, tolerance)
    # Static pixels need no second thought, and there most of an image lies.
    unsettled = support < 0.9
    if unsettled.any():
        doubtful = values[:, unsettled]                                     # (T, N, 3)
        guess, backing = _agreeing(doubtful, _mode(doubtful, tolerance), tolerance)
        better = backing > support[unsettled]
        colour[unsettled] = np.where(better[:, None], guess, colour[unsettled])
        support[unsettled] = np.where(better, backing, support[unsettled])
    return np.rint(colour).astype(np.uint8), support


def _agreeing(
    values: NDArray[np.int16], centre: NDArray[np.int16], tolerance: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean colour (..., 3) of the frames within `tolerance` of `centre`, and their share (...)."""
    near = np.abs(values - centre).max(axis=-1) <= tolerance                # (T, ...)
    count = near.sum(axis=0)
    total = (values * near[..., None]).sum(axis=0, dtype=np.float32)
    mean = np.where(count[..., None] > 0, total / np.maximum(count, 1)[..., None], centre).astype(np.float32)
    return mean, (count / len(values)).astype(np.float32)


def _mode(values: NDArray[np.int16], tolerance: int) -> NDArray[np.int16]:
    """(N, 3) per pixel, of the T colours in (T, N, 3), the one that most others come near."""
    best = np.zeros(values.shape[1], dtype=np.int64)
    most = np.zeros(values.shape[1], dtype=np.int64)
    for number, candidate in enumerate(values):
        count = (np.abs(values - candidate).max(axis=-1) <= tolerance).sum(axis=0)
        best, most = np.where(count > most, number, best), np.maximum(count, most)
    return np.asarray(np.take_along_axis(values, best[None, :, None], axis=0)[0])


def from_masks(frames: NDArray[np.uint8], covered: NDArray[np.bool_], fill: float = 0.6) -> Background:
    """The paper's way for ADEPT: mean over the frames in which no mask `covered` (T, H, W) lies on the pixel.

    Pixels that are never free, and pixels darker than 0.2, get the grey `fill`, as the released loader does.
    """
    free = ~covered
    count = free.sum(axis=0)
    total = np.zeros(frames.shape[1:], dtype=np.float64)
    for frame, here in zip(frames, free, strict=True):
        total += frame * here[..., None]
    mean = total / np.maximum(count, 1)[..., None]
    known = count > 0
    hole = ~known | (mean.mean(axis=-1) < 0.2 * 255)
    mean[hole] = fill * 255
    return Background(np.rint(mean).astype(np.uint8), (count / len(frames)).astype(np.float32), known)


def spread(frames: Iterable[NDArray[np.uint8]], limit: int = SAMPLES) -> NDArray[np.uint8]:
    """(T', H, W, 3) at most 2 * `limit` frames spread evenly over a stream of unknown length, in constant memory."""
    kept: list[NDArray[np.uint8]] = []
    stride = 1
    for number, frame in enumerate(frames):
        if number % stride:
            continue
        kept.append(frame)
        if len(kept) > 2 * limit:
            kept, stride = kept[::2], stride * 2
    if not kept:
        raise LociError("A background needs at least one frame.")
    return np.stack(kept)
