"""A clip: frames, the clean background, and, where it is known, the truth about every object."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.coordinates import Size, inside, resize, resize_masks, resize_pixels
from loci_looped.utils.errors import LociError

ObjectKind = Literal["mover", "screen"]
EventKind = Literal[
    "hidden_from",      # first frame in which the object is present but nothing of it is visible
    "hidden_to",        # first frame in which it can be seen again
    "removed",          # the object leaves the world from this frame on
    "inserted",         # the object enters the world, hidden, at this frame
    "screen_falls",     # the screen begins to fall
    "violation",        # first frame whose world differs from the matched control
    "collision",
]


@dataclass(frozen=True)
class Event:
    """Something that happens at a frame, to an object (its index in the clip) or to the scene (None)."""

    kind: EventKind
    frame: int
    object: int | None = None


@dataclass(frozen=True)
class ObjectTruth:
    """What is known about the O objects. Pixel coordinates are (row, column), 0 at the centre of the first pixel."""

    names: tuple[str, ...]                  # O words such as "red sphere"
    kinds: tuple[ObjectKind, ...]           # O
    positions: NDArray[np.float32]          # (T, O, 2) pixel of the projected centre; NaN while not in the world
    visible_masks: NDArray[np.bool_]        # (T, O, H, W) what the camera sees of the object
    object_masks: NDArray[np.bool_]         # (T, O, H, W) the whole object, as if nothing stood before it
    depths: NDArray[np.float32]             # (T, O) distance to the camera; the smaller one is in front

    @property
    def count(self) -> int:
        return len(self.names)

    def occluded_fraction(self) -> NDArray[np.float32]:
        """(T, O) share of the whole object that is hidden; 0 where the object is not in the image at all."""
        whole = self.object_masks.sum(axis=(2, 3)).astype(np.float32)
        seen = self.visible_masks.sum(axis=(2, 3)).astype(np.float32)
        return np.where(whole > 0, 1 - seen / np.maximum(whole, 1), 0).astype(np.float32)

    def in_image(self) -> NDArray[np.bool_]:
        """(T, O) is the object's centre inside the image?"""
        return inside(self.positions, self.size)

    @property
    def size(self) -> Size:
        """(H, W) of the masks, in pixels."""
        return self.object_masks.shape[2], self.object_masks.shape[3]

    def pick(self, frames: slice) -> ObjectTruth:
        """The truth about some of the frames."""
        return replace(
            self, positions=self.positions[frames], visible_masks=self.visible_masks[frames],
            object_masks=self.object_masks[frames], depths=self.depths[frames],
        )

    def at(self, t: int) -> ObjectTruth:
        """The truth about frame t, still with a time axis."""
        if not 0 <= t < len(self.positions):
            raise IndexError(f"frame {t} of {len(self.positions)}")
        return self.pick(slice(t, t + 1))

    def resized(self, size: Size) -> ObjectTruth:
        """The same in an image of another size (H, W)."""
        if size == self.size:
            return self
        return replace(
            self, positions=resize_pixels(self.positions, self.size, size).astype(np.float32),
            visible_masks=resize_masks(self.visible_masks, size), object_masks=resize_masks(self.object_masks, size),
        )


@dataclass(frozen=True)
class Clip:
    """A video with a still camera. `truth` is None for films nobody has annotated."""

    frames: NDArray[np.uint8]               # (T, H, W, 3) RGB
    background: NDArray[np.uint8]           # (H, W, 3) RGB, the scene without objects
    truth: ObjectTruth | None = None
    events: tuple[Event, ...] = ()
    seed: int | None = None
    source: str = ""                        # "vanish/control", "adept/human_create_...", "film.mp4"
    camera: dict[str, float | list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.frames.ndim != 4 or self.frames.shape[3] != 3 or self.frames.dtype != np.uint8:
            raise LociError(
                f"A clip needs frames of shape (T, H, W, 3) in uint8, but {self.source or 'this one'} has "
                f"{self.frames.shape} in {self.frames.dtype}."
            )
        if self.background.shape != self.frames.shape[1:]:
            raise LociError(
                f"The background of {self.source or 'this clip'} is {self.background.shape}, its frames are "
                f"{self.frames.shape[1:]}: both must have the same size."
            )

    @property
    def size(self) -> Size:
        """(H, W) in pixels."""
        return self.frames.shape[1], self.frames.shape[2]

    def __len__(self) -> int:
        return int(self.frames.shape[0])

    def known_truth(self) -> ObjectTruth:
        """The truth, for those who cannot do without."""
        if self.truth is None:
            raise LociError(f"{self.source or 'This clip'} has no truth about its objects, so it cannot be written.")
        return self.truth

    def resized(self, size: Size) -> Clip:
        """The clip at another size (H, W), its truth with it."""
        if size == self.size:
            return self
        return replace(
            self, frames=np.stack([resize(np.asarray(frame), size) for frame in self.frames]),
            background=resize(np.asarray(self.background), size), truth=self.truth and self.truth.resized(size),
        )

    def cropped(self, rows: slice, columns: slice) -> Clip:
        """A part of the picture, its truth with it; the camera's facts are about the whole one and are left out."""
        corner = np.array([rows.start, columns.start], dtype=np.float32)
        truth = self.truth and replace(
            self.truth, positions=self.truth.positions - corner,
            visible_masks=self.truth.visible_masks[..., rows, columns],
            object_masks=self.truth.object_masks[..., rows, columns],
        )
        return replace(
            self, frames=self.frames[:, rows, columns], background=self.background[rows, columns], truth=truth,
            camera={},
        )

    def strided(self, stride: int, start: int = 0, stop: int | None = None) -> Clip:
        """Every `stride`-th frame from `start` up to `stop`, with truth and events moved to the new frame numbers."""
        if stride < 1 or not 0 <= start < len(self) or (stop is not None and stop <= start):
            raise LociError(f"Stride {stride} from frame {start} does not fit a clip of {len(self)} frames.")
        pick = slice(start, stop, stride)
        frames = self.frames[pick]
        # An event between two kept frames is first seen in the later one.
        moved = (replace(e, frame=max(0, -(-(e.frame - start) // stride))) for e in self.events)
        events = tuple(event for event in moved if event.frame < len(frames))
        return replace(self, frames=frames, truth=self.truth and self.truth.pick(pick), events=events)
