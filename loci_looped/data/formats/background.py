"""The scene without its objects, guessed from frames in which objects move, or known where masks say so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.formats.continuity import continued
from loci_looped.utils.errors import LociError

TOLERANCE = 12          # grey levels within which two frames show the same thing
MIN_SUPPORT = 0.15      # share of the frames that must agree before we say a pixel's background was seen
CONTENDER = 0.05        # share of the frames from which on a further colour may be the background's, too
CONTENDERS = 2          # such colours of a pixel, besides the most frequent one
PROPOSALS = 16          # frames whose colours are tried as such; a colour seen in a fifth of them is hardly missed
SAMPLES = 32            # frames looked at, up to twice as many; more do not make the guess better
BAND_BYTES = 1 << 22    # pixels are worked on in bands of rows, so that memory stays small


@dataclass(frozen=True)
class Background:
    """A background picture and how far to trust it."""

    image: NDArray[np.uint8]        # (H, W, 3)
    support: NDArray[np.float32]    # (H, W) share of the frames that show this colour here
    known: NDArray[np.bool_]        # (H, W) False where too few frames agree: perhaps never uncovered


def estimate(frames: NDArray[np.uint8], tolerance: int = TOLERANCE) -> Background:
    """From (T, H, W, 3). Temporal median first; where some other colour is shown more often, that one (the mode); and
    where another one is shown, too, which goes on smoothly from the sure background around, that one.

    The median is right wherever a pixel is free for half of the time, the mode also when it is free for less, as long
    as the things that pass do not all look the same; beyond that the surroundings tell. An object that never moves
    belongs to the background.
    """
    steps, height, width = frames.shape[:3]
    if steps < 1:
        raise LociError("A background needs at least one frame.")
    colours = np.zeros((1 + CONTENDERS, height, width, 3), dtype=np.float32)
    support = np.zeros((1 + CONTENDERS, height, width), dtype=np.float32)
    band = max(1, BAND_BYTES // (steps * width * 3))
    for top in range(0, height, band):
        rows = slice(top, min(top + band, height))
        colours[:, rows], support[:, rows] = _of_band(frames[:, rows], tolerance)
    # Two frames that agree by chance are no evidence when there are many.
    shown = support >= max(CONTENDER, min(3, steps) / steps - 1e-6)
    shown[0] = True
    if shown[1:].any():
        chosen = continued(colours, shown, clearly=tolerance)[None]
        colours = np.take_along_axis(colours, chosen[..., None], axis=0)
        support = np.take_along_axis(support, chosen, axis=0)
    image = np.rint(colours[0]).astype(np.uint8)
    return Background(image, support[0], support[0] >= max(MIN_SUPPORT, min(3, steps) / steps - 1e-6))


def _of_band(frames: NDArray[np.uint8], tolerance: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(1 + CONTENDERS, h, W, 3) the colours a pixel shows, the most frequent one first, and the frames' share of each.
    """
    values = frames.astype(np.int16)                                        # (T, h, W, 3)
    median = np.rint(np.median(values, axis=0)).astype(np.int16)
    first, backing = _agreeing(values, median, tolerance)
    colours = np.zeros((1 + CONTENDERS, *first.shape), dtype=np.float32)
    support = np.zeros((1 + CONTENDERS, *backing.shape), dtype=np.float32)
    colours[0], support[0] = first, backing
    # Static pixels need no second thought, and there most of an image lies.
    unsettled = backing < 0.9
    if unsettled.any():
        doubtful = values[:, unsettled]                                     # (T, N, 3)
        left = np.ones(doubtful.shape[:2], dtype=bool)                      # frames that show none of the colours yet
        for number in range(1 + CONTENDERS):
            tried = len(doubtful) if number == 0 else min(PROPOSALS, len(doubtful))
            guess, share = _agreeing(doubtful, _mode(doubtful, left, tried, tolerance), tolerance)
            share = np.where(left.any(axis=0), share, 0)
            if number == 0:
                better = share > backing[unsettled]
                guess = np.where(better[:, None], guess, first[unsettled])
                share = np.where(better, share, backing[unsettled])
            colours[number, unsettled], support[number, unsettled] = guess, share
            left &= np.abs(doubtful - guess).max(axis=-1) > 2 * tolerance
    return colours, support


def _agreeing(
    values: NDArray[np.int16], centre: NDArray[np.int16], tolerance: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean colour (..., 3) of the frames within `tolerance` of `centre`, and their share (...)."""
    near = np.abs(values - centre).max(axis=-1) <= tolerance                # (T, ...)
    count = near.sum(axis=0)
    total = (values * near[..., None]).sum(axis=0, dtype=np.float32)
    mean = np.where(count[..., None] > 0, total / np.maximum(count, 1)[..., None], centre).astype(np.float32)
    return mean, (count / len(values)).astype(np.float32)


def _mode(values: NDArray[np.int16], left: NDArray[np.bool_], tried: int, tolerance: int) -> NDArray[np.int16]:
    """(N, 3) per pixel, of the T colours in (T, N, 3) that are `left`, the one that most others come near. So many of
    the frames propose one, spread evenly."""
    best = np.zeros(values.shape[1], dtype=np.int64)
    most = np.zeros(values.shape[1], dtype=np.int64)
    for number in np.linspace(0, len(values) - 1, tried).round().astype(int):
        count = (np.abs(values - values[number]).max(axis=-1) <= tolerance).sum(axis=0) * left[number]
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
