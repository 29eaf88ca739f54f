"""What training costs: `python benchmarks/train.py [--network RUN] [--before DIR] [--out docs/performance.md]`.

First, per phase of the small recipe: updates per second, GFLOP/s, and how close that comes to the best convolution
measured in the same minute. Then two cores: one process with two threads beside two processes with one thread each,
in turns, so that whatever else runs on the machine disturbs both alike; with --before also those of another checkout of
this package, in single precision. Processor time per update and process tells what a busy machine hides.
At last, how long a batch takes to be made and to be read, and how long to be learnt.

With --network the slots of a trained network are in use; without, those of an untrained one, which binds little.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from loci_looped.configs.recipes import recipe
from loci_looped.configs.training import DataConfig, TrainConfig
from loci_looped.data.render.clips import make_clip
from loci_looped.data.store.clip_file import save_clip
from loci_looped.data.store.dataset import Batch, generated_dataset
from loci_looped.inference.networks import load
from loci_looped.model import LociLooped
from loci_looped.training import loop
from loci_looped.training.curriculum import phase_at
from loci_looped.training.distributed import ProcessGroup, join
from loci_looped.training.loop import Trainer
from loci_looped.training.optimiser import clip_gradients, set_learning_rate
from loci_looped.training.sequence import unroll
from loci_looped.utils.checkpoint import newest_checkpoint

BEGIN, END = "<!-- python benchmarks/train.py -->", "<!-- end of benchmarks/train.py -->"
NEXT = "<!-- python benchmarks/step.py -->"      # that benchmark owns everything below its own mark
CLIPS, FRAMES = 8, 16
TRAINED_FRAMES = 41     # of a training clip


@dataclass(frozen=True)
class Phase:
    name: str
    update: int                 # where in the curriculum
    window: int
    updates: int
    milliseconds: float         # per update
    steps: float                # frames of the whole batch per second
    slots: float
    gflop: float                # per update
    gflops: float               # per second
    optimiser: float            # share of the time


def best_of(function: Callable[[], Any], repeats: int = 12) -> float:
    """Seconds of processor time of the fastest call."""
    function()
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        function()
        times.append(time.process_time() - begun)
    return min(times)


def convolution(images: int, channels: int, size: tuple[int, int]) -> float:
    """GFLOP/s of one 3 x 3 convolution, channels last, forward and backward."""
    x = torch.randn(images, channels, *size).contiguous(memory_format=torch.channels_last).requires_grad_()
    weight = torch.randn(channels, channels, 3, 3).contiguous(memory_format=torch.channels_last).requires_grad_()
    ones = torch.ones(images, channels, *size).contiguous(memory_format=torch.channels_last)
    seconds = best_of(lambda: F.conv2d(x, weight, padding=1).backward(ones))
    return 6 * images * channels**2 * 9 * size[0] * size[1] / seconds / 1e9


def configured(folder: str, network: str, precision: str) -> TrainConfig:
    """The small recipe on a folder of clips, its schedule as it is, but with a learning rate of nothing."""
    config = recipe("adept-small")
    if precision != "single":       # earlier versions know no other
        config = replace(config, precision=precision)       # type: ignore[arg-type]
    return replace(
        config, model=weights_of(network).config if network else config.model, validation_scenes=0,
        data=DataConfig(folder=folder, batch=CLIPS), optimiser=replace(config.optimiser, learning_rate=0.0),
        curriculum=replace(config.curriculum, updates=10**9),
    )


def weights_of(network: str) -> LociLooped:
    """A stored network, or the last checkpoint of a run under way."""
    if not (Path(network) / "checkpoints").is_dir():
        return load(network)
    found = newest_checkpoint(Path(network) / "checkpoints")
    model = LociLooped(TrainConfig.from_json(found.values["config"]).model)
    model.load_state_dict(found.tensors["weights"])
    return model


def trainer_of(folder: str, network: str, precision: str, world: ProcessGroup) -> Trainer:
    with contextlib.suppress(ImportError):
        from loci_looped.utils import memory  # as `loci train` does, if it does

        memory.keep_memory()
    trainer = Trainer(configured(folder, network, precision), Path(folder) / "run", world=world)
    if network:
        trainer.model.load_state_dict(weights_of(network).state_dict())
    return trainer


def measure_phase(name: str, update: int, trainer: Trainer, seconds: float) -> Phase:
    """Sequences as the loop makes them, timed by the processor's clock."""
    config, clock = trainer.config, time.process_time
    phase, batch = phase_at(config.curriculum, update, 10**6), trainer.open_clips().batch_at(0)
    trainer.model.train()
    gflop = operations(trainer, batch, phase)           # also prepares the kernels
    updates, steps, stepping = 0, 0, 0.0
    slots: list[float] = []
    begun = clock()
    while clock() - begun < seconds:
        for window in unroll(trainer.model, batch.frames, batch.background, phase, config, trainer.generator):
            trainer.optimiser.zero_grad(set_to_none=True)
            window.loss.backward()
            before = clock()
            set_learning_rate(trainer.optimiser, config.optimiser, update, config.curriculum.updates)
            clip_gradients(trainer.model.parameters(), config.optimiser.clip)
            trainer.optimiser.step()
            trainer._follow()
            stepping += clock() - before
            updates, steps = updates + 1, steps + window.steps
            slots.append(window.parts["bound_slots"])
    spent = clock() - begun
    return Phase(
        name, update, phase.window, updates, 1e3 * spent / updates, steps * len(batch.clips) / spent,
        sum(slots) / len(slots), gflop, gflop * updates / spent, stepping / spent,
    )


def operations(trainer: Trainer, batch: Batch, phase: Phase) -> float:
    """GFLOP of an average update: convolutions and matrix products, forward and backward."""
    totals = []
    windows = unroll(trainer.model, batch.frames, batch.background, phase, trainer.config, trainer.generator)
    while True:
        with FlopCounterMode(display=False) as counter:
            window = next(windows, None)
            if window is None:
                return sum(totals) / len(totals)
            window.loss.backward()
        totals.append(counter.get_total_flops() / 1e9)


def work(arguments: argparse.Namespace) -> None:
    """One process of the comparison: trains for a while, and says how many updates a second that were, how many
    milliseconds of the processor an update took this process, and how often it waited for the other."""
    torch.set_num_threads(arguments.threads)
    world = join(CLIPS)
    trainer = trainer_of(arguments.clips, arguments.network, arguments.precision, world)
    curriculum = trainer.config.curriculum
    trainer.update = curriculum.gate_from if arguments.network else 0
    phase, batch = phase_at(curriculum, trainer.update, 10**6), trainer.open_clips().batch_at(0)
    batch = replace(batch, frames=batch.frames[:, :FRAMES])
    trainer._learn(batch, phase, None)
    gc.collect()
    if hasattr(loop, "rarely_collected"):       # as the loop does, if it does
        gc.freeze()
    before, begun, busy = trainer.update, time.monotonic(), time.process_time()
    waited = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    while not world.agree(time.monotonic() - begun > arguments.seconds):
        trainer._learn(batch, phase, None)
    updates = trainer.update - before
    if world.is_first:
        print(json.dumps({
            "updates_per_second": updates / (time.monotonic() - begun),
            "processor_ms": 1e3 * (time.process_time() - busy) / updates,
            "waits": (resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - waited) / updates,
        }))
    world.close()


WAYS = {"one process, one thread": (1, 1), "one process, two threads": (1, 2), "two processes, one thread each": (2, 1)}

Ways = dict[str, list[dict[str, float]]]
"""way -> one measurement for each round"""


def compare(clips: str, network: str, precision: str, before: Path | None, seconds: float, rounds: int) -> Ways:
    """Ways to use two cores, in turns."""
    trees = {precision: (Path(__file__).parents[1], precision)}
    if before is not None:
        trees = {"before": (before, "single"), **trees}
    found: Ways = {f"{tree}: {way}": [] for tree in trees for way in WAYS}
    for _ in range(rounds):
        for way, (processes, threads) in WAYS.items():
            for tree, (folder, arithmetic) in trees.items():
                launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
                order = [
                    sys.executable, *(launcher if processes == 2 else []), __file__, "--work", "--clips", clips,
                    "--threads", str(threads), "--seconds", str(seconds), "--network", network,
                    "--precision", arithmetic,
                ]
                environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(folder)}
                done = subprocess.run(order, check=False, capture_output=True, text=True, env=environment)
                if done.returncode:
                    sys.exit(f"The measurement of {tree}: {way} failed:\n{done.stderr[-3000:]}")
                found[f"{tree}: {way}"].append(json.loads(done.stdout.strip().splitlines()[-1]))
                print(f"{tree}: {way} {found[f'{tree}: {way}'][-1]}", file=sys.stderr, flush=True)
    return found


def two_cores(ways: Ways) -> list[str]:
    """The table: medians of the rounds, beside the first row's."""
    def middle(way: str, what: str) -> float:
        return sorted(found[what] for found in ways[way])[len(ways[way]) // 2]

    first = middle(next(iter(ways)), "updates_per_second")
    rounds = len(next(iter(ways.values())))
    return [
        "", f"Two cores, the same {CLIPS} clips of {FRAMES} frames, the median of {rounds} rounds in turns:", "",
        "| | updates / s | of the first row | ms of the processor per update and process | waits per update |",
        "|---|--:|--:|--:|--:|",
        *[
            f"| {way} | {middle(way, 'updates_per_second'):.2f} | {middle(way, 'updates_per_second') / first:.2f} | "
            f"{middle(way, 'processor_ms'):.1f} | {middle(way, 'waits'):.1f} |"
            for way in ways
        ],
    ]


def data() -> dict[str, float]:
    """Milliseconds of the processor: to make a clip of the recipe, and to read a batch of clips made before."""
    size = recipe("adept-small").model.frame
    made = best_of(lambda: make_clip("vanish", 0, size), 2)
    with tempfile.TemporaryDirectory() as cache:
        shards = generated_dataset(partial(make_clip, "vanish", size=size), range(CLIPS), cache=Path(cache))
        read = best_of(lambda: shards.batch_at(0), 5)
    return {"made": 1e3 * made, "read": 1e3 * read}


def phases(clips: str, network: str, precision: str, seconds: float) -> tuple[list[Phase], dict[str, float]]:
    torch.set_num_threads(1)
    trainer = trainer_of(clips, network, precision, ProcessGroup())
    curriculum, latent = trainer.config.curriculum, trainer.config.model.latent
    moments = {
        "foreground (single frames)" if curriculum.still_until else "foreground": 0,
        "recruiting": max(curriculum.foreground_until, curriculum.background_from + curriculum.background_over),
        "imagination": curriculum.gate_from,
    }
    channels = trainer.config.model.encoder.channels
    shapes = {
        f"{channels} channels, 24 x {latent[0]} x {latent[1]}": (24, channels, latent),
        "128 channels, 8 x 32 x 32": (8, 128, (32, 32)),
    }
    best: dict[str, float] = {}
    measured = []
    for name, update in moments.items():
        measured.append(measure_phase(name, update, trainer, seconds))
        for label, shape in shapes.items():
            best[label] = max(best.get(label, 0.0), convolution(*shape))
    return measured, best


def report(
    measured: list[Phase], best: dict[str, float], ways: Ways, clips: dict[str, float], network: str, precision: str
) -> str:
    own, wide = best.values()
    trained = "a trained network" if network else "untrained, so that few slots are in use after the first phase"
    lines = [
        f"Measured on {datetime.date.today()} on {_processor()} ({os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.0f}), torch {torch.__version__}; `adept-small`, {CLIPS} clips, {trained}; {precision} "
        "precision.",
        "",
        "One thread, processor time. The best convolution of the same minute, forward and backward: "
        + ", ".join(f"{value:.0f} GFLOP/s ({label})" for label, value in best.items()) + ".",
        "",
        "| phase | window | slots bound | ms / update | updates / s | frames / s | GFLOP / update | GFLOP/s | "
        "of the network's own convolution | of the widest | optimiser |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {p.name} | {p.window} | {p.slots:.1f} | {p.milliseconds:.0f} | {1e3 / p.milliseconds:.1f} | "
        f"{p.steps:.0f} | {p.gflop:.2f} | {p.gflops:.0f} | {100 * p.gflops / own:.0f} % | "
        f"{100 * p.gflops / wide:.0f} % | {100 * p.optimiser:.0f} % |"
        for p in measured
    ]
    lines += two_cores(ways) if ways else []
    learnt = measured[-1].milliseconds * (TRAINED_FRAMES - 1)
    lines += [
        "",
        f"Data: a clip is made in {clips['made']:.0f} ms of the processor, once, before training begins; a batch of "
        f"{CLIPS} is then read in {clips['read']:.1f} ms, and learnt in about {learnt:.0f} ms ({TRAINED_FRAMES} "
        f"frames, last phase above): training waits {100 * clips['read'] / learnt:.1f} % of its time for data.",
    ]
    return "\n".join(lines)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write_into(path: Path, text: str) -> None:
    """Replace this benchmark's section; the first time, put it before the one of benchmarks/step.py."""
    page = path.read_text() if path.exists() else "# Performance\n\n"
    section = f"{BEGIN}\n## Training\n\n{text}\n{END}\n"
    if BEGIN in page:
        page = page.partition(BEGIN)[0] + section + page.partition(END)[2].lstrip("\n")
    else:
        above, mark, below = page.partition(NEXT)
        page = above + section + ("\n" + mark + below if mark else "")
    path.write_text(page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="", help="a trained network or run whose slots are in use")
    parser.add_argument("--precision", choices=["single", "bfloat16"], default="single")
    parser.add_argument("--before", type=Path, help="another checkout of this package, to compare two cores with")
    parser.add_argument("--seconds", type=float, default=10.0, help="per measurement")
    parser.add_argument("--rounds", type=int, default=3, help="of comparing processes and threads; 0 leaves it out")
    parser.add_argument("--out", type=Path, help="put the measurements into this Markdown file")
    parser.add_argument("--json", type=Path, help="also write the raw numbers")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--clips", default="", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments)
        return
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(CLIPS):
            save_clip(make_clip("vanish", seed, recipe("adept-small").model.frame), Path(folder) / f"{seed}.clip")
        network, precision, seconds = arguments.network, arguments.precision, arguments.seconds
        measured, best = phases(folder, network, precision, seconds)
        rounds = arguments.rounds
        ways = compare(folder, network, precision, arguments.before, seconds, rounds) if rounds else {}
    clips = data()
    text = report(measured, best, ways, clips, network, precision)
    print(text)
    if arguments.json:
        raw = {"phases": [asdict(p) for p in measured], "best": best, "ways": ways, "clips": clips}
        arguments.json.write_text(json.dumps(raw, indent=1))
    if arguments.out:
        write_into(arguments.out, text)


if __name__ == "__main__":
    main()
