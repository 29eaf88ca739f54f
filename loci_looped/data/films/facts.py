"""What kind of film is this? Facts that need no network, and what they mean for one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip
from loci_looped.data.films.camera_motion import CameraMotion, CameraMotionEstimate
from loci_looped.data.films.moving import SMALLEST, blobs, foreground

BUSY = 0.4
"""A share of the picture that differs from the background; above it there is hardly a background left."""


@dataclass(frozen=True)
class FilmFacts:
    """About a film at a network's size."""

    camera: CameraMotion
    changing: float         # share of the picture that differs from the background, mean over the frames
    things: float           # moving blobs per frame
    thing_pixels: float     # median size of a blob, in pixels of the network's picture; NaN if there is none
    pixels: int             # of the network's picture

    def sentences(self) -> list[str]:
        told = [self._about_camera()]
        cuts = len(self.camera.cuts)
        if cuts:
            told.append(f"It is cut {'once' if cuts == 1 else f'{cuts} times'}: what was in mind before a cut is wrong "
                        "behind it.")
        if not self.things:
            told.append("Nothing moves that is large enough to be seen: less than "
                        f"{SMALLEST} pixels of the network's picture.")
            return told
        share = 100 * self.thing_pixels / self.pixels
        told.append(f"{100 * self.changing:.0f} % of the picture differ from the background, in {self.things:.1f} "
                    f"things at a time, each about {share:.1f} % of the picture ({self.thing_pixels:.0f} pixels).")
        if self.thing_pixels < 2 * SMALLEST:
            told.append("That is small: come nearer, or crop the film.")
        if self.changing > BUSY:
            told.append("That is much: there is hardly a background left to tell things from.")
        return told

    def _about_camera(self) -> str:
        if not self.camera.certain:
            return "Whether the camera stands still cannot be told: the picture has too little texture."
        if not self.camera.moves():
            return "The camera stands still."
        return (f"The camera moves, by {100 * self.camera.extent():.0f} % of the picture's width: a network that is "
                "told the background once takes this for things that move.")


class FilmObserver:
    """Gathers the facts frame by frame, in constant memory."""

    def __init__(self) -> None:
        self._camera = CameraMotionEstimate()
        self._changing: list[float] = []
        self._areas: list[int] = []
        self._pixels = 1

    def add(
        self, picture: NDArray[np.uint8], frame: NDArray[np.uint8], background: NDArray[np.uint8]
    ) -> NDArray[np.bool_]:
        """A frame as it was filmed, and as the network sees it (H, W, 3); returns its foreground (H, W)."""
        front = foreground(frame, background)
        self._camera.add(picture)
        self._changing.append(float(front.mean()))
        self._areas += [blob.area for blob in blobs(frame, front)]
        self._pixels = front.size
        return front

    def facts(self) -> FilmFacts:
        frames = max(1, len(self._changing))
        return FilmFacts(
            self._camera.result(), sum(self._changing) / frames, len(self._areas) / frames,
            float(np.median(self._areas)) if self._areas else float("nan"), self._pixels,
        )


def facts_of(clip: Clip, size: tuple[int, int] = (40, 60)) -> FilmFacts:
    """Of a clip in memory, at the size of a small network."""
    observer, small = FilmObserver(), clip.resized(size)
    for picture, frame in zip(clip.frames, small.frames, strict=True):
        observer.add(np.asarray(picture), np.asarray(frame), small.background)
    return observer.facts()
