"""The kinds of clips that can be generated, by name: `loci generate KIND`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from loci_looped.data.clip import Clip
from loci_looped.data.scenes import balls, collide, vanish
from loci_looped.data.scenes.scene import VIOLATIONS, Scene, Violation, ViolationKind
from loci_looped.data.scenes.scene_motion import scene_motion
from loci_looped.data.scenes.violations import matched_pair, matched_scenes
from loci_looped.data.scenes.world_motion import WorldMotion
from loci_looped.utils.errors import LociError

Size = tuple[int, int]
Layout = Literal["native", "adept", "clevrer", "gswm", "loci"]


@dataclass(frozen=True)
class Generator:
    """A generator with the size, rate and layouts that belong to it. One seed gives one clip, or a pair."""

    names: Callable[[int], tuple[str, ...]]         # seed -> the names of its clips
    make: Callable[[int, Size], tuple[Clip, ...]]   # seed, size -> its clips
    size: Size
    fps: float
    layouts: tuple[Layout, ...]
    scenario: balls.ScenarioName | None = None      # of bouncing balls
    motion: Callable[[int], tuple[WorldMotion, ...]] | None = None      # seed -> poses in the world, per clip


def generator_of(kind: str) -> Generator:
    """The generator of a kind."""
    if kind not in GENERATORS:
        raise LociError(f"There is no kind of clip {kind!r}; choose one of {', '.join(GENERATORS)}.")
    return GENERATORS[kind]


def published(kind: str, split: balls.Split) -> Generator:
    """The bouncing balls of G-SWM's published data set; in place of seeds it takes numbers of sequences."""
    base = generator_of(kind)
    scenario = base.scenario
    if scenario is None:
        raise LociError(f"Only bouncing balls have published splits that can be regenerated; {kind} does not.")

    def make(index: int, size: Size) -> tuple[Clip, ...]:
        _only_64(size)
        return (balls.sequence(scenario, split, index),)

    return replace(base, names=lambda index: (f"balls_{scenario}_{split}_{index:05d}",), make=make)


def _only_64(size: Size) -> None:
    if size != (balls.CANVAS, balls.CANVAS):
        raise LociError(f"Bouncing balls are drawn at 64x64, as G-SWM does, not at {size[0]}x{size[1]}.")


def _vanish(
    pattern: str, make: Callable[[int, Size], Clip], scene: Callable[[int], Scene],
    frames: Callable[[int], range] = lambda seed: range(0, vanish.TEST_FRAMES, vanish.STRIDE),
) -> Generator:
    return Generator(
        names=lambda seed: (pattern.format(seed),),
        make=lambda seed, size: (make(seed, size),),
        size=(40, 60), fps=25 / vanish.STRIDE, layouts=("native", "adept"),
        motion=lambda seed: (scene_motion(scene(seed), frames(seed)),),
    )


def _control_scene(seed: int, movers: int) -> Scene:
    scene = vanish.crossing_scene(seed)
    return replace(scene, movers=scene.movers[:movers])


def _surprise_scene(seed: int) -> Scene:
    return replace(vanish.crossing_scene(seed), violation=Violation("vanish", vanish.REMOVAL_TIME, mover=1))


def _violations(kinds: tuple[ViolationKind, ...]) -> Generator:
    """Number n is pair n // len(kinds) of kind n % len(kinds): any run of numbers has all kinds in turn."""
    def names(number: int) -> tuple[str, ...]:
        stem = f"{kinds[number % len(kinds)]}_{number // len(kinds):05d}"
        return f"{stem}_control", f"{stem}_violation"

    def make(number: int, size: Size) -> tuple[Clip, ...]:
        return matched_pair(kinds[number % len(kinds)], number // len(kinds), size)

    def motion(number: int) -> tuple[WorldMotion, ...]:
        pair = matched_scenes(kinds[number % len(kinds)], number // len(kinds))
        return tuple(scene_motion(scene, range(0, scene.num_frames, vanish.STRIDE)) for scene in pair)

    return Generator(names, make, (40, 60), 25 / vanish.STRIDE, ("native", "adept"), motion=motion)


def _balls(scenario: balls.ScenarioName) -> Generator:
    def make(seed: int, size: Size) -> tuple[Clip, ...]:
        _only_64(size)
        return (balls.clip(scenario, seed),)

    return Generator(lambda seed: (f"balls_{scenario}_{seed:05d}",), make, (balls.CANVAS, balls.CANVAS), 25.0,
                 ("native", "gswm", "loci"), scenario)


# ADEPT's names of the test scenes: 0 has two movers, 3 only one, in 1 the second one vanishes.
_TEST = "human_disappear_fixed_{:05d}_"

GENERATORS: dict[str, Generator] = {
    "vanish": _vanish("train_{:05d}", vanish.training_clip, vanish.training_scene, vanish.training_frames),
    "vanish-control": _vanish(_TEST + "0", lambda seed, size: vanish.control_clip(seed, 2, size),
                              lambda seed: _control_scene(seed, 2)),
    "vanish-control-1": _vanish(_TEST + "3", lambda seed, size: vanish.control_clip(seed, 1, size),
                                lambda seed: _control_scene(seed, 1)),
    "vanish-surprise": _vanish(_TEST + "1", vanish.surprise_clip, _surprise_scene),
    "violations": _violations(VIOLATIONS),
    **{f"violations-{kind}": _violations((kind,)) for kind in VIOLATIONS},
    "collide": Generator(
        lambda seed: (f"collide_{seed:05d}",), lambda seed, size: (collide.clip(seed, size),), (80, 120), collide.FPS,
        ("native", "clevrer"), motion=lambda seed: (collide.story(seed).motion(),),
    ),
    "balls": _balls("interaction"),
    **{f"balls-{name}": _balls(name) for name in balls.SCENARIOS},
}
