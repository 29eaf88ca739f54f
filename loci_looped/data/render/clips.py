"""A scene by its name -> its clip."""

from __future__ import annotations

from loci_looped.configs.scenes import FAMILIES, family_of
from loci_looped.data import scenes
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import Size
from loci_looped.data.render.balls_render import render_balls
from loci_looped.data.render.collide_render import render_story
from loci_looped.data.render.draw import SAMPLES
from loci_looped.data.render.scene_render import render_scene
from loci_looped.data.scenes.balls import Balls
from loci_looped.data.scenes.scene import Scene
from loci_looped.utils.errors import LociError


def make_clip(
    name: str, seed: int, size: Size | None = None, frames: range | None = None, *, samples: int = SAMPLES
) -> Clip:
    """The clip of a scene at a size (by default its family's own); of `frames`, only these are kept."""
    scene, source = scenes.make(name, seed), scenes.source_of(name, seed)
    size = size or FAMILIES[family_of(name)].size
    if isinstance(scene, Balls):
        return _balls(scene, size, frames, source)
    numbers = scenes.frames_of(name, seed) if frames is None else frames
    if isinstance(scene, Scene):
        return render_scene(scene, size, numbers, seed=seed, source=source, samples=samples)
    return render_story(scene, size, numbers, seed=seed, source=source, samples=samples)


def _balls(balls: Balls, size: Size, frames: range | None, source: str) -> Clip:
    """Balls are drawn at G-SWM's size and resized afterwards."""
    if size[0] != size[1]:
        raise LociError(f"Bouncing balls are square pictures, so they cannot be {size[0]}x{size[1]}.")
    clip = render_balls(balls, source)
    if frames is not None:
        clip = clip.strided(frames.step, frames.start, frames.stop)
    return clip.resized(size)
