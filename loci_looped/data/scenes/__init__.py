"""Descriptions of scenes. `make(name, seed)` is the one door: every scene is asked for here, by its name.

The names are in `loci_looped.configs.scenes`. Some end in more than one word:

    vanish-control-1            the second mover is left out
    vanish-standing             the screen never moves
    violations-colour           something impossible happens; violations-colour-control is the same without it
    balls-occlusion-test        a published split: the seed is then the number of a sequence
"""

from __future__ import annotations

from typing import cast

from loci_looped.configs.scenes import SCENE_NAMES, BallsScenario, Split, ViolationKind, family_of
from loci_looped.data.scenes import balls, collide, vanish
from loci_looped.data.scenes.balls import Balls
from loci_looped.data.scenes.collide import Story
from loci_looped.data.scenes.scene import Scene
from loci_looped.data.scenes.scene_motion import scene_motion
from loci_looped.data.scenes.violations import matched_scenes
from loci_looped.data.scenes.world_motion import WorldMotion
from loci_looped.utils.errors import LociError

Description = Scene | Story | Balls


def make(name: str, seed: int) -> Description:
    """The scene of a name and a seed: the same description every time."""
    _, *words = check_name(name).split("-")
    if family_of(name) == "collide":
        return collide.story(seed)
    if family_of(name) == "balls":
        scenario = cast("BallsScenario", words[0])
        if len(words) == 2:
            seed = balls.sequence_seed(scenario, cast("Split", words[1]), seed)
        return balls.simulate(scenario, seed)
    return make_scene(name, seed)


def make_scene(name: str, seed: int) -> Scene:
    """The same for vanish and violations alone, whose scenes have a screen, movers and a camera."""
    family, *words = check_name(name).split("-")
    if family == "violations":
        control, violated = matched_scenes(cast("ViolationKind", words[0]), seed)
        return control if words[1:] else violated
    if family != "vanish":
        raise LociError(f"{name!r} is not a scene with a screen; choose vanish, violations or one of their kinds.")
    if not words:
        return vanish.training_scene(seed)
    if words == ["surprise"]:
        return vanish.surprise_scene(seed)
    if words == ["standing"]:
        return vanish.standing_scene(seed)
    return vanish.control_scene(seed, movers=1 if words == ["control", "1"] else 2)


def frames_of(name: str, seed: int) -> range:
    """The frame numbers that a clip of the scene keeps."""
    if name == "vanish":
        return vanish.training_frames(seed)
    if name == "vanish-standing":
        return range(0, vanish.STANDING_FRAMES, vanish.STRIDE)
    return {
        "collide": range(collide.FRAMES), "balls": range(balls.FRAMES),
    }.get(family_of(check_name(name)), range(0, vanish.TEST_FRAMES, vanish.STRIDE))


def motion_of(name: str, seed: int) -> WorldMotion:
    """Where everything is in the world, in the frames that a clip keeps; balls have no such world."""
    scene = make(name, seed)
    if isinstance(scene, Story):
        return scene.motion()
    if isinstance(scene, Scene):
        return scene_motion(scene, frames_of(name, seed))
    raise LociError(f"{name} is a flat scene: its objects have no places in a world.")


def source_of(name: str, seed: int) -> str:
    """What a clip of the scene calls itself, such as "vanish/surprise"."""
    family, _, rest = check_name(name).partition("-")
    if family == "balls":
        return f"balls/{rest.replace('-', '/')}/{seed}" if "-" in rest else f"balls/{rest}"
    if family == "vanish":
        return f"vanish/{ {'': 'training', 'control': 'control-2'}.get(rest, rest) }"
    return f"vanish/{rest}" if family == "violations" else family


def check_name(name: str) -> str:
    """The name itself, if there is such a scene."""
    if name not in SCENE_NAMES:
        raise LociError(f"There is no scene {name!r}; choose one of {', '.join(SCENE_NAMES)}.")
    return name
