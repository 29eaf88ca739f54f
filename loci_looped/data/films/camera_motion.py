"""Does the camera stand still? Phase correlation of many parts of the picture; what most of them agree on counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from loci_looped.data.coordinates import resize

Floats = NDArray[np.float64]

SIZE = (96, 144)            # (H, W) at which films are looked at here
BLOCK = 32                  # pixels of a part
TEXTURE = 3.0               # grey levels of deviation below which a part shows nothing to hold on to
CERTAIN = 0.4               # height of the peak, of at most 1, above which two parts show the same thing
MOVES = 0.015               # of the picture's width: about one pixel of a small network's picture
ALIKE = 0.6                 # correlation of two successive frames of one shot, at least


@dataclass(frozen=True)
class CameraMotion:
    """Where the camera looks, frame by frame, and where shots begin."""

    path: Floats                    # (T, 2) rows and columns, as shares of the picture's width; 0 at each shot's start
    cuts: tuple[int, ...] = ()      # frames that begin another shot
    certain: bool = True            # False: the pictures have too little texture to tell

    def __len__(self) -> int:
        return len(self.path)

    def shots(self) -> list[range]:
        """The frames between cuts."""
        return [range(start, stop) for start, stop in pairwise((0, *self.cuts, len(self.path)))]

    def extent(self, shot: range | None = None) -> float:
        """How far the camera strays from where it mostly looks, in a shot or in the worst one; share of the width."""
        if shot is None:
            return max((self.extent(one) for one in self.shots()), default=0.0)
        path = self.path[shot.start : shot.stop]
        away = np.hypot(*(path - np.median(path, axis=0)).T)
        # A frame or two may go astray when something large passes.
        return float(np.quantile(away, 0.95)) if len(path) else 0.0

    def moves(self, shot: range | None = None) -> bool:
        return self.certain and self.extent(shot) > MOVES


def grey(picture: NDArray[np.uint8]) -> Floats:
    """(H, W, 3) -> SIZE, in grey levels."""
    return np.asarray(resize(picture, SIZE).mean(axis=-1), dtype=np.float64)


class CameraMotionEstimate:
    """Takes frames one by one. Each is compared with an earlier one that stays the same as long as possible, so that
    slow motion adds up and small errors do not."""

    def __init__(self) -> None:
        self._path: list[Floats] = []
        self._cuts: list[int] = []
        self._textured = False
        self._origin, self._place = np.zeros(2), np.zeros(2)    # of the reference, and of the latest frame
        self._reference = self._before = np.zeros(SIZE)

    def add(self, picture: NDArray[np.uint8]) -> None:
        """The next frame (H, W, 3)."""
        now = grey(picture)
        if not self._path:
            self._reference = self._before = now
        shift = displacement(self._reference, now)
        step = displacement(self._before, now) if shift is None else None
        if shift is not None:
            self._textured = True
            self._place = self._origin + shift
            if np.abs(shift).max() > BLOCK / 4:
                self._origin, self._reference = self._place, now
        elif step is not None:          # too far from the reference, but not from the frame before
            self._origin = self._place = self._place + step
            self._reference = now
        elif not _alike(self._before, now):
            self._cuts.append(len(self._path))
            self._origin, self._place, self._reference = np.zeros(2), np.zeros(2), now
        self._path.append(self._place / SIZE[1])
        self._before = now

    def result(self) -> CameraMotion:
        return CameraMotion(np.array(self._path).reshape(-1, 2), tuple(self._cuts), self._textured)


def camera_motion(pictures: Iterable[NDArray[np.uint8]]) -> CameraMotion:
    """Of successive frames (H, W, 3)."""
    estimate = CameraMotionEstimate()
    for picture in pictures:
        estimate.add(picture)
    return estimate.result()


def _coarse() -> Floats:
    """(BLOCK, BLOCK // 2 + 1) how much each frequency counts: of a smooth wall the fine ones are all noise. They sum to
    one over the whole plane, so that a perfect match has a peak of one."""
    squares = np.fft.fftfreq(BLOCK)[:, None] ** 2 + np.fft.fftfreq(BLOCK)[None] ** 2
    weights = np.exp(-squares / (2 * 0.1**2))
    return np.asarray((weights / weights.sum())[:, : BLOCK // 2 + 1])


_COARSE = _coarse()


def displacement(first: Floats, second: Floats) -> Floats | None:
    """(2,) rows and columns by which most of the picture has shifted; None where too little can be recognised."""
    blocks = [_blocks(picture) for picture in (first, second)]              # (N, BLOCK, BLOCK)
    textured = np.minimum(*(block.std(axis=(1, 2)) for block in blocks)) > TEXTURE
    if textured.sum() < 3:
        return None
    window = np.outer(np.hanning(BLOCK), np.hanning(BLOCK))
    spectra = [np.fft.rfft2((b[textured] - b[textured].mean(axis=(1, 2), keepdims=True)) * window) for b in blocks]
    cross = spectra[1] * spectra[0].conj()
    surface = np.fft.irfft2(_COARSE * cross / np.maximum(np.abs(cross), 1e-9), s=(BLOCK, BLOCK)) * BLOCK**2
    peaks = surface.reshape(len(surface), -1)
    heights, places = peaks.max(axis=1), peaks.argmax(axis=1)
    shifts = np.stack(np.unravel_index(places, (BLOCK, BLOCK)), axis=-1).astype(np.float64)
    shifts = np.where(shifts > BLOCK / 2, shifts - BLOCK, shifts)
    # Where a thing passes before a wall both have a peak; the wall's is the one that tells about the camera.
    shifts[peaks[:, 0] > 0.9 * heights] = 0
    found = _most_common(shifts[heights > CERTAIN], at_least=max(3, textured.sum() / 4))
    return found if found is None or _fits(first, second, found) else np.zeros(2)


def _fits(first: Floats, second: Floats, shift: Floats) -> bool:
    """Does more of the picture look as if it had shifted than as if it had stayed? Before a plain wall the hand that
    moves has nearly all the texture, but the wall's faint shading stays where it is."""
    rows, columns = (int(by) for by in np.rint(shift))
    if rows == columns == 0:
        return True
    before, now = (ndimage.gaussian_filter(picture, 1.0) for picture in (first, second))
    moved = ndimage.shift(before, (rows, columns), order=0, mode="constant", cval=np.nan)
    known = ~np.isnan(moved)
    errors = [np.where(known, (now - picture) ** 2, 0.0) for picture in (np.nan_to_num(moved), before)]
    as_moved, as_still = (ndimage.gaussian_filter(error, 2.0) for error in errors)
    return bool((as_moved < as_still / 2).sum() > (as_still < as_moved / 2).sum())


def _most_common(shifts: Floats, at_least: float) -> Floats | None:
    """(2,) the shift that most parts (N, 2) agree on, within a pixel: what passes by moves in ways of its own, and may
    well cover half of the picture. Standing still is believed first."""
    candidates = np.concatenate([np.zeros((1, 2)), shifts])
    agree = np.abs(candidates[:, None] - shifts).max(axis=-1) <= 1          # (1 + N, N)
    best = int(agree.sum(axis=1).argmax())
    return np.asarray(shifts[agree[best]].mean(axis=0)) if agree[best].sum() >= at_least else None


def _alike(first: Floats, second: Floats) -> bool:
    """May two pictures in which no part was recognised be of one shot? A plain one is like another of its grey."""
    if min(first.std(), second.std()) < 1:
        return bool(np.abs(first - second).mean() < 10)
    return bool(np.corrcoef(first.ravel(), second.ravel())[0, 1] > ALIKE)


def _blocks(picture: Floats) -> Floats:
    """(N, BLOCK, BLOCK), each half over the next."""
    step = BLOCK // 2
    parts = np.lib.stride_tricks.sliding_window_view(picture, (BLOCK, BLOCK))[::step, ::step]
    return np.ascontiguousarray(parts.reshape(-1, BLOCK, BLOCK))
