"""How fast the worlds are generated on one core, and how much memory that takes.

    OMP_NUM_THREADS=1 python benchmarks/worlds.py
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

from loci_looped.configs.scenes import BALLS_SCENARIOS
from loci_looped.data.clip import Clip
from loci_looped.data.render.clips import make_clip


def measure(name: str, make: Callable[[int], Clip], budget: float = 6.0) -> None:
    """Clips from seed 0 on, until the budget of seconds is used up; times are of the processor, not of the clock."""
    make(0)                                     # what is prepared once per size does not count
    start, frames, clips = time.process_time(), 0, 0
    while time.process_time() - start < budget:
        frames, clips = frames + len(make(clips)), clips + 1
    spent = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:<24} {frames / spent:8.0f} frames/s {1000 * spent / clips:9.1f} ms per clip of {frames // clips:3d}"
          f"   {clips:4d} clips   peak {peak:4.0f} MB", flush=True)


def main() -> None:
    for size in ((40, 60), (80, 120), (320, 480)):
        shape = f"{size[0]}x{size[1]}"
        measure(f"vanish {shape}", lambda seed, size=size: make_clip("vanish", seed, size))
        measure(f"collide {shape}", lambda seed, size=size: make_clip("collide", seed, size, range(0, 128, 4)))
    for scenario in BALLS_SCENARIOS:
        measure(f"balls {scenario}", lambda seed, scenario=scenario: make_clip(f"balls-{scenario}", seed))


if __name__ == "__main__":
    main()
