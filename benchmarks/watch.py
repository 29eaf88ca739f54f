"""How fast a stream is watched on one core, and whether memory stays flat over a long one.

    OMP_NUM_THREADS=1 python benchmarks/watch.py                    # both sizes, 2000 frames for the memory
    OMP_NUM_THREADS=1 python benchmarks/watch.py --network RUN      # with a network of your own

Every slot is made to hold an object, which is the slowest case. Both clocks are given: on a busy machine the
processor's time is the honest one.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from loci_looped.data.render.clips import make_clip
from loci_looped.inference.networks import load, shipped_networks
from loci_looped.inference.watch import Watcher, watch
from loci_looped.model.loci import LociLooped
from loci_looped.viz.storyboard import Storyboard


def busy(watcher: Watcher) -> Watcher:
    """The same stream with every slot in use."""
    registry = watcher.state.registry
    everyone = torch.ones_like(registry.bound)
    state = dataclasses.replace(watcher.state, registry=dataclasses.replace(
        registry, assigned=everyone, bound=everyone, settled=torch.ones_like(registry.settled)))
    return dataclasses.replace(watcher, state=state)


def speed(model: LociLooped, count: int, drawing: bool) -> tuple[float, float]:
    """(wall, processor) seconds per frame."""
    clip = make_clip("vanish-control", 7, size=model.config.frame)
    watcher, _ = Watcher.begin(model, clip.background).see(clip.frames[0])
    watcher = busy(watcher)
    board = Storyboard()
    for number in range(1, 3):
        watcher, _ = watcher.see(clip.frames[number])
    wall, processor = time.perf_counter(), time.process_time()
    for number in range(count):
        watcher, seen = watcher.see(clip.frames[number % len(clip)])
        if drawing:
            board.draw(seen)
    return (time.perf_counter() - wall) / count, (time.process_time() - processor) / count


def resident() -> float:
    """Megabytes in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def memory(model: LociLooped, count: int) -> list[tuple[int, float]]:
    """(frame, megabytes) along a stream that never ends by itself."""
    frames = make_clip("vanish-control", 7, size=model.config.frame).frames

    def endless() -> Iterator[NDArray[np.uint8]]:
        return itertools.cycle(frames)

    seen_at = {count // 8 * part for part in range(1, 9)}
    found = []
    for seen in itertools.islice(watch(model, endless(), background=frames[0]), count + 1):
        if seen.number in seen_at:
            found.append((seen.number, resident()))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", help="a network in place of adept-small")
    parser.add_argument("--frames", type=int, default=2000, help="length of the stream for the memory")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    name = arguments.network or "adept-small"
    trained = arguments.network is not None or name in shipped_networks()
    small = load(name) if trained else LociLooped(name).eval()
    large = LociLooped("adept").eval()      # speed does not depend on what has been learnt
    print(f"{'network':<28}{'frame':>9}{'slots':>7}{'wall ms':>10}{'cpu ms':>9}{'frames/s':>10}")
    for label, model in ((name + ("" if trained else " (untrained)"), small), ("adept, the paper's", large)):
        for drawing in (False, True):
            wall, processor = speed(model, 60 if model is small else 20, drawing)
            height, width = model.config.frame
            print(f"{label + (', with film' if drawing else ''):<28}{f'{height}x{width}':>9}{model.config.slots:>7}"
                  f"{wall * 1e3:>10.1f}{processor * 1e3:>9.1f}{1 / processor:>10.1f}")
    print(f"\nmemory over {arguments.frames} frames at {small.config.frame[0]}x{small.config.frame[1]}")
    rows = memory(small, arguments.frames)
    for number, megabytes in rows:
        print(f"  frame {number:>6}: {megabytes:8.1f} MB")
    print(f"  growth from first to last: {rows[-1][1] - rows[0][1]:+.1f} MB")


if __name__ == "__main__":
    main()
