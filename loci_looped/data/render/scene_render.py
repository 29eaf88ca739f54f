"""A scene description -> frames with their truth, at any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.events import hiding
from loci_looped.data.render.draw import SAMPLES, draw, empty, quantised
from loci_looped.data.scenes.camera import camera_facts
from loci_looped.data.scenes.scene import Scene
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class SceneFrame:
    """One frame of a scene and what is true in it."""

    image: NDArray[np.uint8]                # (H, W, 3)
    visible_masks: NDArray[np.bool_]        # (O, H, W)
    object_masks: NDArray[np.bool_]         # (O, H, W)
    visible_samples: NDArray[np.int64]      # (O,) 0: not even a sliver between the pixel centres
    positions: NDArray[np.float32]          # (O, 2) NaN while not in the world
    depths: NDArray[np.float32]             # (O,) NaN while not in the world

    def truth(self, scene: Scene) -> ObjectTruth:
        """The truth about this frame, with a time axis of length 1."""
        return ObjectTruth(
            scene.names(), scene.kinds(), self.positions[None], self.visible_masks[None], self.object_masks[None],
            self.depths[None],
        )


def frame_noise(scene: Scene, frame: int, size: tuple[int, int]) -> NDArray[np.float32] | None:
    """The noise of one frame depends on the scene's noise seed and the frame number alone."""
    if scene.noise == 0:
        return None
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([scene.noise_seed, frame])))
    return stream.standard_normal((*size, 3), dtype=np.float32) * np.float32(scene.noise)


def render_frame(scene: Scene, frame: int, size: tuple[int, int], samples: int = SAMPLES) -> SceneFrame:
    """Frame number `frame` (at the scene's own rate) at size (H, W)."""
    bodies = scene.bodies(frame / scene.fps)
    here = [index for index, body in enumerate(bodies) if body is not None]
    picture = draw(scene.backdrop, [body for body in bodies if body is not None], size, samples)
    count = len(bodies)
    visible, whole = np.zeros((2, count, *size), dtype=bool)
    seen = np.zeros(count, dtype=np.int64)
    positions, depths = np.full((count, 2), np.nan, np.float32), np.full(count, np.nan, np.float32)
    visible[here], whole[here], seen[here] = picture.visible_masks, picture.object_masks, picture.visible_samples
    positions[here], depths[here] = picture.positions, picture.depths
    image = quantised(picture.image, frame_noise(scene, frame, size))
    return SceneFrame(image, visible, whole, seen, positions, depths)


def render_scene(scene: Scene, size: tuple[int, int], frames: Sequence[int] | None = None, *, seed: int | None = None,
                 source: str = "scene", samples: int = SAMPLES) -> Clip:
    """The chosen frame numbers (all of them by default) as a clip; nothing else is rendered."""
    numbers = list(range(scene.num_frames)) if frames is None else list(frames)
    if not numbers:
        raise LociError("A clip needs at least one frame, but the list of frame numbers is empty.")
    check_size(size)
    rendered = [render_frame(scene, number, size, samples) for number in numbers]
    truth = ObjectTruth(
        names=scene.names(),
        kinds=scene.kinds(),
        positions=np.stack([frame.positions for frame in rendered]),
        visible_masks=np.stack([frame.visible_masks for frame in rendered]),
        object_masks=np.stack([frame.object_masks for frame in rendered]),
        depths=np.stack([frame.depths for frame in rendered]),
    )
    return Clip(
        frames=np.stack([frame.image for frame in rendered]),
        background=quantised(empty(scene.backdrop, size, samples)),
        truth=truth,
        events=(*scene_events(scene, numbers), *hiding(truth)),
        seed=seed,
        source=source,
        camera=camera_facts(scene.backdrop.camera),
    )


def check_size(size: tuple[int, int]) -> None:
    if min(size) < 8 or max(size) > 4096:
        raise LociError(f"A size is (height, width) in pixels, each between 8 and 4096, not {size[0]}x{size[1]}.")


def _first_frame(numbers: Sequence[int], scene: Scene, time: float) -> int | None:
    """Index of the first kept frame at or after the time."""
    return next((index for index, number in enumerate(numbers) if number / scene.fps >= time), None)


def scene_events(scene: Scene, numbers: Sequence[int]) -> tuple[Event, ...]:
    """What the description says will happen, in the numbering of the kept frames."""
    events: list[Event] = []
    if scene.screen is not None and (falls := scene.screen.falls_at()) is not None:
        index = _first_frame(numbers, scene, falls)
        events += [Event("screen_falls", index, len(scene.movers))] if index is not None else []
    for time, mover in scene.collisions:
        index = _first_frame(numbers, scene, time)
        events += [Event("collision", index, mover)] if index is not None else []
    if scene.violation is not None:
        index = _first_frame(numbers, scene, scene.violation.time)
        if index is not None:
            events.append(Event("violation", index, scene.violation.mover))
            if scene.violation.kind == "vanish":
                events.append(Event("removed", index, scene.violation.mover))
            if scene.violation.kind == "appear":
                events.append(Event("inserted", index, scene.violation.mover))
    return tuple(events)
