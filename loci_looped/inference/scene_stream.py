"""Generated scenes as sources: rendered one frame at a time, so that a scene can be as long as one likes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from loci_looped.data.clip import ObjectTruth
from loci_looped.data.formats.images import Size
from loci_looped.data.formats.video import Selection
from loci_looped.data.render.draw import empty, quantised
from loci_looped.data.render.scene_render import SceneFrame, check_size, render_frame, scene_events
from loci_looped.data.scenes.scene import VIOLATIONS, Scene, Violation
from loci_looped.data.scenes.vanish import REMOVAL_TIME, STRIDE, crossing_scene, training_scene
from loci_looped.data.scenes.violations import matched_scenes
from loci_looped.inference.stream import Frame, Source
from loci_looped.utils.errors import LociError

KINDS = ("control", "control-1", "surprise", "training", *VIOLATIONS, *(f"{kind}-control" for kind in VIOLATIONS))
"""`surprise` is the paper's scenario; `vanish` and the other violations have each a control of their own."""


def scene_source(scene: Scene, size: Size, chosen: Sequence[int] | None = None, name: str = "scene") -> Source:
    """The chosen frame numbers of a scene (every third by default), with the truth about each."""
    check_size(size)
    numbers = range(0, scene.num_frames, STRIDE) if chosen is None else chosen
    step = numbers[1] - numbers[0] if len(numbers) > 1 else STRIDE

    def frames() -> Iterator[Frame]:
        for number in numbers:
            taken = render_frame(scene, number, size)
            yield Frame(taken.image, truth_of(scene, taken))

    return Source(name, frames, scene.fps / step, len(numbers), quantised(empty(scene.backdrop, size)),
                  events=scene_events(scene, numbers))


def truth_of(scene: Scene, taken: SceneFrame) -> ObjectTruth:
    return ObjectTruth(
        scene.names(), scene.kinds(), taken.positions[None], taken.visible_masks[None], taken.object_masks[None],
        taken.depths[None],
    )


def vanish_source(text: str, selection: Selection, size: Size) -> Source:
    """'seed=7,kind=surprise' -> the scene of that seed; what is not said is seed 0, kind control."""
    values = {"seed": "0", "kind": "control"}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if key not in values or not equals:
            raise LociError(f"'vanish:{text}' is not understood at {part!r}; write vanish:seed=7,kind=surprise.")
        values[key] = value
    if not values["seed"].isdecimal():
        raise LociError(f"A seed is a whole number from 0 on, not {values['seed']!r}; write vanish:seed=7.")
    scene = _named_scene(int(values["seed"]), values["kind"])
    numbers = range(0, scene.num_frames, STRIDE)[selection.start : selection.stop : selection.stride]
    if not numbers:
        raise LociError(f"The scene has {len(range(0, scene.num_frames, STRIDE))} frames; none of them was asked for.")
    return scene_source(scene, size, numbers, f"vanish seed {values['seed']}, {values['kind']}")


def _named_scene(seed: int, kind: str) -> Scene:
    if kind == "training":
        return training_scene(seed)
    scene = crossing_scene(seed)
    if kind == "control":
        return scene
    if kind == "control-1":
        return replace(scene, movers=scene.movers[:1])
    if kind == "surprise":
        return replace(scene, violation=Violation("vanish", REMOVAL_TIME, mover=1))
    for name in VIOLATIONS:
        if kind in (name, f"{name}-control"):
            control, violated = matched_scenes(name, seed)
            return violated if kind == name else control
    raise LociError(f"There is no kind of scene {kind!r}. Choose one of: {', '.join(KINDS)}.")
