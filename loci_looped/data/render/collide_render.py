"""A story of the `collide` scenes -> frames with their truth, at any size."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.coordinates import Size
from loci_looped.data.events import hiding
from loci_looped.data.render.draw import SAMPLES, draw, empty, quantised
from loci_looped.data.render.scene_render import check_size
from loci_looped.data.scenes.camera import camera_facts
from loci_looped.data.scenes.collide import BACKDROP, CAMERA, FRAMES, NOISE, Story
from loci_looped.utils.errors import LociError


def render_story(story: Story, size: Size, frames: Sequence[int] | None = None, *, seed: int | None = None,
                 source: str = "collide", samples: int = SAMPLES) -> Clip:
    """The chosen frame numbers of a story (all by default); a frame's noise depends on seed and number alone."""
    numbers = list(range(FRAMES)) if frames is None else list(frames)
    if not numbers or min(numbers) < 0 or max(numbers) >= len(story.poses):
        raise LociError(f"A clip needs at least one frame, with numbers from 0 to {len(story.poses) - 1}.")
    check_size(size)
    tint, steps, count = table_tint(size), len(numbers), len(story.things)
    pictures = np.empty((steps, *size, 3), dtype=np.uint8)
    visible, whole = np.empty((2, steps, count, *size), dtype=bool)
    positions, depths = np.empty((steps, count, 2), dtype=np.float32), np.empty((steps, count), dtype=np.float32)
    for index, number in enumerate(numbers):
        picture = draw(BACKDROP, story.bodies(number), size, samples)
        stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([505, seed or 0, number])))
        grain = stream.standard_normal((*size, 3), dtype=np.float32) * np.float32(NOISE)
        pictures[index] = quantised(picture.image * tint, grain)
        visible[index], whole[index] = picture.visible_masks, picture.object_masks
        positions[index], depths[index] = picture.positions, picture.depths
    truth = ObjectTruth(
        names=tuple(thing.name for thing in story.things),
        kinds=tuple("mover" for _ in story.things),
        positions=positions, visible_masks=visible, object_masks=whole, depths=depths,
    )
    touches = [
        Event("collision", shown, thing)
        for frame, *both in story.collisions
        if (shown := next((i for i, number in enumerate(numbers) if number >= frame), None)) is not None
        for thing in both
    ]
    return Clip(
        frames=pictures,
        background=background(size, samples).copy(),    # the cached one stays as it is, whatever users do
        truth=truth,
        events=(*hiding(truth), *touches),
        seed=seed,
        source=source,
        camera=camera_facts(CAMERA),
    )


@lru_cache(maxsize=8)
def background(size: Size, samples: int = SAMPLES) -> NDArray[np.uint8]:
    """(H, W, 3) the empty table, the same in every clip."""
    return quantised(empty(BACKDROP, size, samples) * table_tint(size))


@lru_cache(maxsize=8)
def table_tint(size: Size) -> NDArray[np.float32]:
    """(H, W, 3) CLEVRER's light is a little bluer towards the upper left."""
    rows, columns = np.linspace(1, 0, size[0])[:, None], np.linspace(1, 0, size[1])[None, :]
    corner = rows * columns                                                 # 1 at the upper left, 0 at the other edges
    return np.stack([1 - 0.025 * corner, 1 - 0.005 * corner, 1 + 0.025 * corner], axis=-1).astype(np.float32)
