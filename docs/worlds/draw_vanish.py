"""Draws the contact sheets of the vanish world in this folder: python docs/worlds/draw_vanish.py"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from loci_looped.data.clip import Clip
from loci_looped.data.render.scene_render import render_scene
from loci_looped.data.scenes.scene import VIOLATIONS, Scene
from loci_looped.data.scenes.vanish import crossing_scene, training_scene
from loci_looped.data.scenes.violations import matched_scenes
from loci_looped.utils.atomic import replacing
from loci_looped.viz.contact_sheet import contact_sheet

HERE = Path(__file__).parent
SIZES = ((40, 60), (80, 120), (320, 480))
MOMENTS = (6, 36, 54, 66, 90, 102, 117, 135, 195, 225)      # of a test scene: enter, hide, come out, leave, fall


def film(scene: Scene, size: tuple[int, int], seed: int, source: str, frames: tuple[int, ...]) -> Clip:
    return render_scene(scene, size, frames, seed=seed, source=source)


def save(name: str, clips: list[Clip], columns: int = 10, masks: bool = True) -> None:
    """JPEG with full colour resolution: the noise of the frames makes PNG four times larger."""
    sheet = contact_sheet(clips, columns, width=1244, masks=masks)
    with replacing(HERE / f"{name}.jpg") as temporary:
        Image.fromarray(sheet).save(temporary, quality=88, subsampling=0, optimize=True)


def main() -> None:
    for size in SIZES:
        large = size[0] == 320
        moments, columns = (MOMENTS[1:-1:2], 4) if large else (MOMENTS, 10)
        training = tuple(np.linspace(0, 120, columns).astype(int).tolist())
        clips = [film(training_scene(seed), size, seed, "vanish/training", training) for seed in (1, 2, 6, 7, 9, 13)]
        save(f"vanish-training-{size[0]}x{size[1]}", clips[:4] if large else clips, columns, not large)
        control, surprise = matched_scenes("vanish", 0)
        one = replace(crossing_scene(4), movers=crossing_scene(4).movers[:1])
        clips = [film(control, size, 0, "vanish/control", moments), film(surprise, size, 0, "vanish/surprise", moments),
                 film(one, size, 4, "vanish/control-1", moments)]
        save(f"vanish-test-{size[0]}x{size[1]}", clips, columns, not large)
    clips = [film(scene, (80, 120), 2, f"violations/{kind}{ending}", MOMENTS)
             for kind in VIOLATIONS for scene, ending in zip(matched_scenes(kind, 2), (" control", ""), strict=True)]
    save("vanish-violations", clips, masks=False)


if __name__ == "__main__":
    main()
