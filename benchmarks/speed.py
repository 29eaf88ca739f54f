"""The table of speed: `python benchmarks/speed.py [--before DIR] [--rounds N] [--out docs/performance.md]`.

Every case runs in a process of its own, in turns with the same case of another checkout of this package (`--before`,
for example a worktree of an earlier commit). Times are processor time of the fastest of several calls on one thread,
the best of all rounds: others on the machine disturb it little. How that compares with the released code is computed
from the ratios that were measured side by side earlier (`EARLIER`).
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- python benchmarks/speed.py -->", "<!-- end of benchmarks/speed.py -->"

CASES = {
    "adept, 16 clips, 3 of 7 slots": ("update", "adept", 16, 3),
    "adept, 16 clips, all 7 slots": ("update", "adept", 16, 7),
    "balls, 128 clips": ("update", "balls", 128, 3),
    "adept-small, 8 clips, all 5 slots": ("update", "adept-small", 8, 5),
    "adept, a streamed frame, 3 objects": ("frame", "adept", 1, 3),
    "adept-small, a streamed frame, 3 objects": ("frame", "adept-small", 1, 3),
    "adept, a watched frame, 3 objects": ("watched", "adept", 1, 3),
    "adept-small, a watched frame, 3 objects": ("watched", "adept-small", 1, 3),
}
EARLIER = {
    "adept, 16 clips, 3 of 7 slots": (9.2 / 3.7, 3900.0), "adept, 16 clips, all 7 slots": (9.2 / 8.3, 3900.0),
    "balls, 128 clips": (2.18 / 1.25, 2400.0),
}
"""Of the released code, side by side with our float32 code of commit 0a4ad73 in issue 16: times as long; MB."""


def best_of(function: Callable[[], Any], repeats: int) -> float:
    """Seconds of processor time of the fastest call."""
    function()
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        function()
        times.append(time.process_time() - begun)
    return min(times)


def measure(kind: str, name: str, batch: int, active: int, precision: str) -> dict[str, float]:
    """One case, in this process, with the package that is on the path; earlier ones know single precision only."""
    import torch

    from loci_looped.model import LociLooped, preset

    sys.path.insert(0, str(Path(__file__).parent))
    from step import loss, scene

    torch.set_num_threads(1)
    with contextlib.suppress(ImportError):
        from loci_looped.utils.memory import keep_memory  # as `loci train` and `loci watch` do, if they do

        keep_memory()
    model = LociLooped(preset(name)).train(kind == "update")
    if precision != "single":
        from loci_looped.model.precision import use_precision

        use_precision(model, precision)     # type: ignore[arg-type]
    if kind == "watched":
        return {"seconds": watched(model, active)}
    frame, state = scene(model, batch, active)
    if kind == "frame":
        with torch.no_grad():
            return {"seconds": best_of(lambda: [model.step(frame, state) for _ in range(5)], 8) / 5}
    from loci_looped.training.optimiser import RectifiedAdam

    optimiser = RectifiedAdam(model.parameters(), lr=1e-5)

    def update() -> None:
        _, output = model.step(frame, state)
        optimiser.zero_grad()
        loss(model, output, frame).backward()
        optimiser.step()

    seconds = best_of(update, 3)
    return {"seconds": seconds, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def watched(model: Any, active: int) -> float:
    """Seconds of a frame of `loci watch` without drawing: resized, seen, believed, the screen looked for."""
    import torch

    from loci_looped.data.render.clips import make_clip
    from loci_looped.inference.watch import Watcher

    clip = make_clip("vanish-control", 7, size=model.config.frame)
    watcher, _ = Watcher.begin(model, clip.background).see(clip.frames[0])
    held = torch.zeros_like(watcher.state.registry.bound)
    held[:, :active] = True
    registry = dataclasses.replace(
        watcher.state.registry, assigned=held, bound=held, countdown=torch.full((1,), 10**6),
        settled=torch.ones_like(watcher.state.registry.settled),
    )
    watcher = dataclasses.replace(watcher, state=dataclasses.replace(watcher.state, registry=registry))
    return best_of(lambda: [watcher.see(clip.frames[t]) for t in range(1, 6)], 8) / 5


def roofline() -> list[tuple[str, float, float]]:
    """GFLOP/s of plain 3 x 3 convolutions, forward and backward, in single precision and in bfloat16."""
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(1)
    rows = []
    for label, (n, channels, height, width) in {
        "adept, 48 x 48 x 20 x 30": (48, 48, 20, 30), "adept-small, 24 x 32 x 10 x 15": (24, 32, 10, 15),
    }.items():
        found = []
        for dtype in (torch.float32, torch.bfloat16):
            shape = n, channels, height, width
            x = torch.randn(shape, dtype=dtype).contiguous(memory_format=torch.channels_last).requires_grad_()
            weight = torch.randn(channels, channels, 3, 3, dtype=dtype).contiguous(memory_format=torch.channels_last)
            weight.requires_grad_()
            ones = torch.ones(shape, dtype=dtype).contiguous(memory_format=torch.channels_last)

            def once(x: Any = x, weight: Any = weight, ones: Any = ones) -> None:
                x.grad = weight.grad = None
                F.conv2d(x, weight, padding=1).backward(ones)

            found.append(6e-9 * n * channels**2 * 9 * height * width / best_of(once, 30))
        rows.append((label, found[0], found[1]))
    return rows


Found = dict[str, dict[str, dict[str, float]]]
"""case -> tree -> figures"""


def in_turns(trees: dict[str, tuple[Path, str]], cases: list[str], rounds: int) -> Found:
    """The best of the rounds."""
    found: Found = {case: {} for case in cases}
    for _ in range(rounds):
        for case in cases:
            for label, (folder, precision) in trees.items():
                order = [sys.executable, __file__, "--case", case, "--precision", precision]
                environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
                done = subprocess.run(order, check=True, capture_output=True, text=True, env=environment)
                new = json.loads(done.stdout.strip().splitlines()[-1])
                old = found[case].get(label, new)
                found[case][label] = {key: min(new[key], old[key]) for key in new}
                print(f"{case}, {label}: {new}", file=sys.stderr, flush=True)
    return found


def report(found: Found, roof: list[tuple[str, float, float]], rounds: int) -> str:
    import torch

    lines = [
        f"Measured on {datetime.date.today()} on {_processor()} ({os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.0f}), torch {torch.__version__}; one thread, processor time, best of {rounds} "
        "rounds in turns.",
        "",
        "| | bfloat16, times as fast as before | single, likewise | bfloat16, times as fast as the released code* | "
        "ms before | ms single | "
        "ms bfloat16 | frames / s | MB before | MB bfloat16 | of the released MB* |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for case, of in found.items():
        half, single = of["bfloat16"], of.get("single")
        before = of.get("before") or single or half
        gain = before["seconds"] / half["seconds"]
        alone = f"{before['seconds'] / single['seconds']:.2f}" if single else ""
        times, megabytes = EARLIER.get(case, (0.0, 0.0))
        lines.append(
            f"| {case} | {gain:.2f} | {alone} | {f'{gain * times:.1f}' if times else ''} | "
            + " | ".join(f"{1e3 * row['seconds']:.1f}" if row else "" for row in (before, single, half))
            + (" | " if "mb" in half else f" | {1 / half['seconds']:.0f}") + " | "
            + (f"{before['mb']:.0f} | {half['mb']:.0f} | " if "mb" in half else " | | ")
            + (f"{half['mb'] / megabytes:.2f} |" if times else "|")
        )
    lines += [
        "",
        "*The released code was not on this machine: its figures are those of issue 16, where both codes ran side by "
        "side on another processor (adept 9.2 s against our 3.7 s with three slots and 8.3 s with seven, 3.9 GB; balls "
        "2.18 s against 1.25 s, 2.4 GB).",
        "",
        "| 3 x 3 convolutions, forward and backward | GFLOP/s single | GFLOP/s bfloat16 |", "|---|--:|--:|",
        *[f"| {label} | {single:.0f} | {half:.0f} |" for label, single, half in roof],
    ]
    return "\n".join(lines)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write_into(path: Path, text: str) -> None:
    """Replace this benchmark's section, or put it after the title."""
    page = path.read_text()
    section = f"{BEGIN}\n## Against the version before, and the released code\n\n{text}\n{END}\n"
    if BEGIN in page:
        page = page.partition(BEGIN)[0] + section + page.partition(END)[2].lstrip("\n")
    else:
        title, _, rest = page.partition("\n")
        page = f"{title}\n\n{section}{rest}"
    path.write_text(page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout of this package")
    parser.add_argument("--cases", default="", help="only cases whose name contains this")
    parser.add_argument("--precisions", default="single,bfloat16", help="of this checkout; bfloat16 must be among them")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, help="put the table into this Markdown file")
    parser.add_argument("--case", default="", help=argparse.SUPPRESS)
    parser.add_argument("--precision", default="single", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(measure(*CASES[arguments.case], arguments.precision)))
        return
    here = Path(__file__).parents[1]
    trees = {"before": (arguments.before, "single")} if arguments.before else {}
    trees |= {precision: (here, precision) for precision in arguments.precisions.split(",")}
    chosen = [case for case in CASES if arguments.cases in case]
    text = report(in_turns(trees, chosen, arguments.rounds), roofline(), arguments.rounds)
    print(text)
    if arguments.out:
        write_into(arguments.out, text)


if __name__ == "__main__":
    main()
