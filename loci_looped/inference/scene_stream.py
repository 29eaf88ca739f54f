"""Generated scenes as sources: rendered one frame at a time, so that a scene can be as long as one likes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loci_looped.configs.scenes import BALLS_SCENARIOS, VIOLATIONS
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import Size
from loci_looped.data.formats.video import Selection
from loci_looped.data.render.clips import make_clip
from loci_looped.data.render.draw import empty, quantised
from loci_looped.data.render.scene_render import check_size, render_frame, scene_events
from loci_looped.data.scenes import make_scene
from loci_looped.data.scenes.collide import FRAMES
from loci_looped.data.scenes.scene import Scene
from loci_looped.data.scenes.vanish import STRIDE
from loci_looped.inference.stream import Frame, Source
from loci_looped.utils.errors import LociError

COLLIDE_STRIDE = 2
"""Networks of collisions see every second frame."""
_VANISH = ("control", "control-1", "surprise", "standing")
KINDS = (*_VANISH, "training", *VIOLATIONS, *(f"{kind}-control" for kind in VIOLATIONS))
"""`surprise` is the paper's scenario; `vanish` and the other violations have each a control of their own."""


def scene_source(scene: Scene, size: Size, chosen: Sequence[int] | None = None, name: str = "scene") -> Source:
    """The chosen frame numbers of a scene (every third by default), with the truth about each."""
    check_size(size)
    numbers = range(0, scene.num_frames, STRIDE) if chosen is None else chosen
    step = numbers[1] - numbers[0] if len(numbers) > 1 else STRIDE

    def frames() -> Iterator[Frame]:
        for number in numbers:
            drawn = render_frame(scene, number, size)
            yield Frame(drawn.image, drawn.truth(scene))

    return Source(name, frames, scene.fps / step, len(numbers), quantised(empty(scene.backdrop, size)),
                  events=scene_events(scene, numbers), size=size)


def vanish_source(text: str, selection: Selection, size: Size) -> Source:
    """'seed=7,kind=surprise' -> the scene of that seed; what is not said is seed 0, kind control."""
    values = _values("vanish", text, {"seed": "0", "kind": "control"}, "vanish:seed=7,kind=surprise")
    scene = make_scene(scene_name(values["kind"]), int(values["seed"]))
    numbers = range(0, scene.num_frames, STRIDE)[selection.start : selection.stop : selection.stride]
    if not numbers:
        raise LociError(f"The scene has {len(range(0, scene.num_frames, STRIDE))} frames; none of them was asked for.")
    return scene_source(scene, size, numbers, f"vanish seed {values['seed']}, {values['kind']}")


def world_clip(world: str, text: str, size: Size) -> Clip:
    """'seed=7,kind=occlusion' -> a film of bouncing balls, or ('seed=7') of the table with its collisions."""
    if world == "balls":
        values = _values(world, text, {"seed": "0", "kind": "interaction"}, "balls:seed=7,kind=occlusion")
        if values["kind"] not in BALLS_SCENARIOS:
            raise LociError(f"There are no balls {values['kind']!r}. Choose one of: {', '.join(BALLS_SCENARIOS)}.")
        return make_clip(f"balls-{values['kind']}", int(values["seed"]), size)
    values = _values(world, text, {"seed": "0"}, "collide:seed=7")
    return make_clip("collide", int(values["seed"]), size, range(0, FRAMES, COLLIDE_STRIDE))


def _values(world: str, text: str, known: dict[str, str], example: str) -> dict[str, str]:
    """'seed=7' -> the known values with what is said about them."""
    values = dict(known)
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if key not in values or not equals:
            raise LociError(f"'{world}:{text}' is not understood at {part!r}; write {example}.")
        values[key] = value
    if not values["seed"].isdecimal():
        raise LociError(f"A seed is a whole number from 0 on, not {values['seed']!r}; write {world}:seed=7.")
    return values


def scene_name(kind: str) -> str:
    """'surprise' -> 'vanish-surprise', 'colour-control' -> 'violations-colour-control'."""
    if kind not in KINDS:
        raise LociError(f"There is no kind of scene {kind!r}. Choose one of: {', '.join(KINDS)}.")
    if kind == "training":
        return "vanish"
    return f"vanish-{kind}" if kind in _VANISH else f"violations-{kind}"
