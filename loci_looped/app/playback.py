"""What a session looks at: a scene that is drawn as it goes, or a film that somebody has uploaded."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loci_looped.data.clip import ObjectTruth
from loci_looped.data.render.draw import empty, quantised
from loci_looped.data.render.scene_render import render_frame
from loci_looped.data.scenes.scene import Scene
from loci_looped.data.scenes.vanish import STRIDE
from loci_looped.utils.errors import LociError

Picture = NDArray[np.uint8]
Size = tuple[int, int]


class Playback(Protocol):
    @property
    def length(self) -> int: ...

    @property
    def fps(self) -> float: ...

    @property
    def background(self) -> Picture: ...

    def shot(self, number: int) -> tuple[Picture, ObjectTruth | None]:
        """The frame at the network's size, and what is true in it where that is known."""

    def view(self, number: int) -> bytes:
        """The same moment as a larger picture for people, JPEG."""

    def things(self, number: int) -> list[dict[str, Any]]:
        """How things are at that moment, where the page cannot know it by itself."""


def jpeg(picture: Picture) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, format="JPEG", quality=90, subsampling=0)
    return stream.getvalue()


@dataclass(frozen=True)
class ScenePlayback:
    """Every third frame of the scene, as the networks were trained."""

    scene: Scene
    size: Size
    view_size: Size

    @property
    def length(self) -> int:
        return len(range(0, self.scene.num_frames, STRIDE))

    @property
    def fps(self) -> float:
        return self.scene.fps / STRIDE

    @cached_property
    def background(self) -> Picture:
        return quantised(empty(self.scene.backdrop, self.size))

    def shot(self, number: int) -> tuple[Picture, ObjectTruth | None]:
        drawn = render_frame(self.scene, number * STRIDE, self.size)
        return drawn.image, drawn.truth(self.scene)

    def view(self, number: int) -> bytes:
        # While it runs there is time for one ray per pixel; the first picture is looked at for longer.
        return view_of(self.scene, number * STRIDE, self.view_size, samples=1 if number else 3)

    def things(self, number: int) -> list[dict[str, Any]]:
        del number              # movers go straight on: the page knows where they are
        return []


def view_of(scene: Scene, frame: int, size: Size, samples: int) -> bytes:
    """A picture of the scene without image noise, which only the network needs."""
    return jpeg(render_frame(replace(scene, noise=0.0), frame, size, samples).image)


@dataclass(frozen=True)
class ClipPlayback:
    """A film in memory."""

    frames: Picture                 # (T, H, W, 3) at the network's size
    background: Picture             # (H, W, 3)
    views: tuple[bytes, ...]        # T JPEGs
    fps: float
    name: str
    notes: tuple[str, ...] = ()
    occluder: NDArray[np.bool_] | None = None   # (H, W) what stands still and hides others; the background is without

    @property
    def length(self) -> int:
        return len(self.frames)

    def shot(self, number: int) -> tuple[Picture, ObjectTruth | None]:
        return self.frames[number], None

    def view(self, number: int) -> bytes:
        return self.views[number]

    def things(self, number: int) -> list[dict[str, Any]]:
        del number
        return []

    def check(self, size: Size) -> None:
        if self.frames.shape[1:3] != size:
            raise LociError(f"This film was read for a network of another size; upload it again for {size}.")
