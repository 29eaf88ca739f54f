"""How fast vanish scenes are drawn on one core: a frame at each size, and the cache of a training run.

    OMP_NUM_THREADS=1 python benchmarks/vanish.py                 # a sample, under a minute
    OMP_NUM_THREADS=1 python benchmarks/vanish.py --clips 1000    # the whole training set

Both clocks are given: on a busy machine the processor's time is the honest one.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from loci_looped.data.render.clips import make_clip
from loci_looped.data.render.scene_render import render_frame
from loci_looped.data.scenes.scene import Scene
from loci_looped.data.scenes.vanish import crossing_scene, training_scene
from loci_looped.data.store.dataset import generated_dataset

SIZES = ((32, 48), (40, 60), (80, 120), (160, 240), (320, 480))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """(wall, processor) seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def single_frames(size: tuple[int, int]) -> None:
    """Frames of scenes whose empty stage is lit already, as the lab draws them, and the cost of lighting it."""
    count = max(4, min(60, 1_000_000 // (size[0] * size[1])))
    numbers = np.linspace(0, 120, count).astype(int).tolist()
    lighting = drawing = 0.0

    def draw_all(scene: Scene) -> None:
        for number in numbers:
            render_frame(scene, number, size)

    scenes = [training_scene(2), crossing_scene(0), training_scene(6)]
    for scene in scenes:
        lighting += timed(partial(render_frame, scene, 0, size))[1] / len(scenes)
        drawing += timed(partial(draw_all, scene))[1] / (count * len(scenes))
    print(f"{size[0]:4d}x{size[1]:<4d} {1000 * drawing:7.2f} ms per frame ({1 / drawing:6.1f} per second), "
          f"{1000 * lighting:7.1f} ms for the first of a scene", flush=True)


def training_set(clips: int) -> None:
    """Making the cache of a training run at 40x60, then reading batches from it."""
    make = partial(make_clip, "vanish", size=(40, 60))
    with tempfile.TemporaryDirectory() as folder:
        wall, processor = timed(lambda: generated_dataset(make, range(clips), cache=Path(folder)))
        dataset = generated_dataset(make, range(clips), cache=Path(folder))
        reading = timed(lambda: [dataset.batch_at(number) for number in range(20)])[1] / 20
    print(f"{clips} training clips of 41 frames at 40x60: {1000 * processor / clips:.0f} s of processor time per 1000 "
          f"({1000 * wall / clips:.0f} s by the clock); a batch of 8 is read in {1000 * reading:.1f} ms; "
          f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=100, help="training clips to generate")
    clips = parser.parse_args().clips
    training_set(max(8, clips))     # first, so that the peak is its own
    for size in SIZES:
        single_frames(size)


if __name__ == "__main__":
    main()
