"""Scenes that come from a browser: read strictly, and refused with a sentence when they are out of bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loci_looped.app.settings import Settings
from loci_looped.configs.scenes import VIOLATIONS
from loci_looped.data.scenes import make_scene
from loci_looped.data.scenes.backdrop import Backdrop
from loci_looped.data.scenes.bodies import COLOURS, MOVER_SHAPES, SHAPES
from loci_looped.data.scenes.camera import REFERENCE_WIDTH
from loci_looped.data.scenes.scene import Mover, Scene, Screen
from loci_looped.data.scenes.scene_json import describe, scene_from
from loci_looped.data.scenes.vanish import STRIDE
from loci_looped.utils.errors import LociError

LARGEST = 1000.0        # of any number in a scene
LONGEST = 12            # entries of any list
DEEPEST = 8
SLOWEST_RATE, FASTEST_RATE = 5.0, 60.0


def lab_scene(description: object, settings: Settings) -> Scene:
    """The scene of a description from outside. It must be small enough to be drawn at once and seen by our camera."""
    _bounded(description, "scene", DEEPEST)
    scene = scene_from(description)
    if not 0 < len(scene.movers) <= settings.scene_movers:
        raise LociError(f"A scene in the lab has 1 to {settings.scene_movers} movers, not {len(scene.movers)}.")
    if not 2 <= scene.num_frames <= settings.scene_frames:
        raise LociError(f"A scene in the lab has 2 to {settings.scene_frames} frames, not {scene.num_frames}.")
    if not SLOWEST_RATE <= scene.fps <= FASTEST_RATE:
        raise LociError(f"A scene in the lab runs at {SLOWEST_RATE:g} to {FASTEST_RATE:g} frames per second.")
    if scene.backdrop.camera != Backdrop().camera:
        raise LociError("The lab's camera stands still: leave the camera out of the scene.")
    if len(scene.backdrop.lights) > 4:
        raise LociError("The lab has room for four lights.")
    if not 0 <= scene.noise <= 0.2 or scene.noise_seed < 0:
        raise LociError("The image noise is between 0 and 0.2, and its seed is not negative.")
    return scene


def _bounded(value: object, where: str, depth: int) -> None:
    """Nothing in the description is huge, not a number, or nested without end."""
    if depth == 0:
        raise LociError(f"{where} is nested too deeply.")
    if isinstance(value, dict | list):
        if len(value) > LONGEST:
            raise LociError(f"{where} has {len(value)} entries; at most {LONGEST} are allowed.")
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, item in items:
            _bounded(item, f"{where}.{str(name)[:40]}", depth - 1)
    elif isinstance(value, str):
        if len(value) > 60:
            raise LociError(f"{where} is too long a word.")
    elif isinstance(value, int | float) and not isinstance(value, bool) and where.rsplit(".", 1)[-1] != "noise_seed":
        if not abs(value) <= LARGEST:
            raise LociError(f"{where} is {value!r}; numbers lie between {-LARGEST:g} and {LARGEST:g}.")
    elif isinstance(value, int) and not 0 <= value < 2**31:
        raise LociError(f"{where} is out of range.")


def opening_scene() -> Scene:
    """What a newcomer sees first: one ball rolls behind a screen, stays there for a while, and comes out again."""
    ball = Mover("sphere", "yellow", 0.3, (-1.0, -3.4), (0.0, 1.2))
    return Scene((ball,), Screen(0.2, 0.0, 0.95, 0.72, "red"), num_frames=165)


def example(name: str, seed: int) -> Scene:
    """A scene to begin with."""
    if name == "one ball":
        return opening_scene()
    if name == "crossing":
        return make_scene("vanish-control", seed)
    if name == "training":
        return replace(make_scene("vanish", seed), num_frames=123)
    if name in VIOLATIONS:
        return make_scene(f"violations-{name}", seed)
    raise LociError(f"There is no example {name[:40]!r}. Choose one of: {', '.join(EXAMPLES)}.")


EXAMPLES = ("one ball", "crossing", "training", *VIOLATIONS)


def limits(settings: Settings) -> dict[str, int]:
    """What the page may ask for."""
    return {
        "movers": settings.scene_movers, "frames": settings.scene_frames, "upload": settings.upload_bytes,
        "clip_frames": settings.clip_frames,
    }


def options(settings: Settings) -> dict[str, Any]:
    """What the page needs to know to draw and edit scenes."""
    camera = Backdrop().camera
    return {
        "shapes": sorted(MOVER_SHAPES, key=list(SHAPES).index),
        "colours": {name: list(value) for name, value in COLOURS.items()},
        "violations": list(VIOLATIONS),
        "examples": list(EXAMPLES),
        "stride": STRIDE,
        "camera": {
            "position": list(camera.position), "axes": camera.axes().tolist(), "focal": camera.focal / REFERENCE_WIDTH,
        },
        "view": list(settings.view),
        "limits": limits(settings),
        "opening": describe(opening_scene()),
    }
