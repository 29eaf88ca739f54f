"""What one time step costs: `python benchmarks/step.py [--out docs/performance.md]`.

Per preset: milliseconds per training update and per streamed frame, memory, floating-point operations, and how close
that comes to the convolution roofline measured in the same run; then how cost grows with active slots, batch and
length; then e-prop by history beside e-prop by traces. Each preset has a process, and thus a memory, of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import functools
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from loci_looped.model import PRESETS, LociLooped, LociState, StepOutput, losses, preset
from loci_looped.model.gatelord import GateL0RD
from loci_looped.model.state import TraceStep

BATCH = {"adept": 2, "clevrer": 2, "balls": 16}
"""Small enough for a laptop; the small presets train with 16 clips."""


def best_of(function: Callable[[], Any], repeats: int) -> float:
    """Milliseconds of processor time of the fastest call, which is the one least disturbed by others on the machine."""
    function()
    fastest = float("inf")
    for _ in range(repeats):
        begun = time.process_time()
        function()
        fastest = min(fastest, time.process_time() - begun)
    return 1e3 * fastest


def memory() -> float:
    """MB this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def flops(function: Callable[[], Any]) -> float:
    """GFLOP of convolutions and matrix products; a multiplication and an addition are two."""
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops() / 1e9


# ---------------------------------------------------------------------------------------------- the roofline


def roofline(repeats: int) -> list[tuple[str, float]]:
    """GFLOP/s of plain 3x3 convolutions on the shapes that the networks use, channels last, forward."""
    rows = []
    shapes = {"adept trunk": (7, 48, 20, 30), "adept-small trunk": (5, 32, 10, 15), "wide": (8, 128, 32, 32)}
    for name, (n, channels, height, width) in shapes.items():
        x = torch.rand(n, channels, height, width).contiguous(memory_format=torch.channels_last)
        weight = torch.rand(channels, channels, 3, 3).contiguous(memory_format=torch.channels_last)
        work = 2 * n * height * width * channels * channels * 9 / 1e9
        with torch.no_grad():
            rows.append((f"{name}, {n} x {channels} x {height} x {width}",
                         1e3 * work / best_of(functools.partial(F.conv2d, x, weight, padding=1), 10 * repeats)))
    return rows


# ---------------------------------------------------------------------------------------------- one network


def scene(model: LociLooped, batch: int, active: int) -> tuple[Tensor, LociState]:
    """A frame, and a state in mid-sequence in which `active` slots of every stream hold an object."""
    torch.manual_seed(0)
    background = torch.rand(batch, 3, *model.config.frame)
    frame = torch.rand_like(background)
    with torch.no_grad():
        state, _ = model.step(frame, model.initial(background))
    held = torch.zeros(batch, model.config.slots, dtype=torch.bool)
    held[:, :active] = True
    never = torch.full((batch,), 10**6)
    return frame, dataclasses.replace(
        state, registry=dataclasses.replace(state.registry, assigned=held, bound=held, countdown=never)
    )


def loss(model: LociLooped, output: StepOutput, frame: Tensor) -> Tensor:
    """The paper's table; the gestalt change only where whole objects are decoded."""
    total = losses.picture_loss(output.next_frame.frame, frame) + losses.picture_loss(output.present.frame, frame) / 3
    total = total + 0.01 * losses.position_change(output)
    return total + 0.1 * losses.gestalt_change(output) if output.objects_after is not None else total


def measure(name: str, repeats: int) -> dict[str, Any]:
    """Everything about one preset, in a process of its own."""
    torch.set_num_threads(1)
    config = preset(name)
    model = LociLooped(config)
    batch, slots = BATCH.get(name, 16), config.slots
    usual = min(3, slots)
    begun = memory()
    result: dict[str, Any] = {"name": name, "batch": batch, "slots": slots, "usual": usual}

    model.eval()
    with torch.no_grad():
        frame, state = scene(model, 1, usual)
        result["stream_ms"] = best_of(lambda: model.step(frame, state), repeats)
        result["stream_gflop"] = flops(lambda: model.step(frame, state))
        result["imagine_ms"] = best_of(lambda: model.step(None, state), repeats)
        result["stream_mb"] = memory() - begun
        result["by_active"] = []
        for active in range(slots + 1):
            frame, state = scene(model, 1, active)
            result["by_active"].append(best_of(functools.partial(model.step, frame, state), repeats))
        result["by_batch"] = []
        for streams in (1, 2, 4, 8):
            frame, state = scene(model, streams, usual)
            one = best_of(functools.partial(model.step, frame, state), max(1, repeats // 2))
            result["by_batch"].append((streams, one / streams))
        result["by_length"] = list(_by_length(model, *scene(model, 1, usual)))

    model.train()
    optimiser = torch.optim.RAdam(model.parameters(), lr=1e-5, foreach=True)
    frame, state = scene(model, batch, usual)

    def update() -> None:
        _, output = model.step(frame, state)
        optimiser.zero_grad()
        loss(model, output, frame).backward()
        optimiser.step()

    def warm_update() -> None:
        _, output = model.settle(frame, state)
        optimiser.zero_grad()
        total = losses.picture_loss(output.next_frame.frame, frame)
        total = total + losses.picture_loss(output.present.frame, frame) / 3
        total.backward()
        optimiser.step()

    result["update_ms"] = best_of(update, max(1, repeats // 2))
    result["warm_ms"] = best_of(warm_update, max(1, repeats // 2))
    result["update_mb"] = memory() - begun
    result["update_gflop"] = flops(update)
    frame, state = scene(model, batch, slots)
    result["full_update_ms"] = best_of(update, max(1, repeats // 2))
    return result


def _by_length(model: LociLooped, frame: Tensor, state: LociState) -> Iterator[tuple[int, float, float]]:
    """(frames seen, ms of the fastest of the last few, MB so far): a stream must not slow down or grow."""
    begun, recent = memory(), [float("inf")]
    for t in range(1, 201):
        at = time.process_time()
        state, _ = model.step(frame, state)
        recent.append(1e3 * (time.process_time() - at))
        if t in (10, 50, 200):
            yield t, min(recent[-8:]), memory() - begun


# ---------------------------------------------------------------------------------------------- e-prop, two ways


def by_history(
    layer: GateL0RD, x: Tensor, hidden: Tensor, history: tuple[TraceStep, ...]
) -> tuple[Tensor, tuple[TraceStep, ...]]:
    """One update of one layer: the new memory and history."""
    out, new, longer = layer(x, hidden, history)
    out.sum().backward()
    return new.detach(), longer


def by_traces(layer: GateL0RD, x: Tensor, hidden: Tensor, traces: dict[str, Tensor]) -> Tensor:
    """The same with the traces of the tests' naive cell, which are changed in place."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    from test_gatelord import NaiveCell  # type: ignore[import-not-found]

    weights = layer.gate.weight, layer.gate.bias, layer.candidate.weight, layer.candidate.bias
    new: Tensor = NaiveCell.apply(x, hidden, *weights, traces)
    z = torch.cat([x, new], 1)
    (torch.sigmoid(layer.output_gate(z)) * torch.tanh(layer.output(z))).sum().backward()
    return new.detach()


def eprop_rows(width: int, samples: int, lengths: tuple[int, ...]) -> list[dict[str, Any]]:
    """Time of one update (forward and backward of one layer) and MB kept, at the end of sequences of these lengths."""
    torch.manual_seed(0)
    layer = GateL0RD(width, 1e-3, "eprop")
    traces = {name: torch.zeros(samples, width, 2 * width + 1) for name in "gr"}
    history: tuple[TraceStep, ...] = ()
    hidden = naive_hidden = torch.zeros(samples, width)
    rows = []
    for t in range(1, max(lengths) + 1):
        x = torch.randn(samples, width)
        if t in lengths:
            spare = {name: trace.clone() for name, trace in traces.items()}
            rows.append({
                "length": t,
                "history_ms": best_of(functools.partial(by_history, layer, x, hidden, history), 5),
                "traces_ms": best_of(functools.partial(by_traces, layer, x, naive_hidden, spare), 5),
                "history_mb": t * samples * 5 * width * 4e-6,
                "traces_mb": 4e-6 * sum(trace.numel() for trace in traces.values()),
            })
        hidden, history = by_history(layer, x, hidden, history)
        naive_hidden = by_traces(layer, x, naive_hidden, traces)
    return rows


# ---------------------------------------------------------------------------------------------- the report


def processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def report(results: list[dict[str, Any]], roof: list[tuple[str, float]], eprop: list[dict[str, Any]]) -> Iterator[str]:
    best = max(value for _, value in roof)
    machine = f"{processor()} ({os.cpu_count()} cores; one thread)"
    yield f"Measured on {datetime.date.today()} on {machine}, torch {torch.__version__}."
    yield "Times are processor time of the fastest of several calls, so that others on the machine disturb little."
    yield ""
    yield "### The machine's own convolutions"
    yield ""
    yield "| 3 x 3, channels last, forward | GFLOP/s |"
    yield "|---|---|"
    for name, value in roof:
        yield f"| {name} | {value:.0f} |"
    yield ""
    yield "### One streamed frame (one stream, evaluation)"
    yield ""
    yield "| preset | slots in use | ms / frame | ms / imagined frame | GFLOP | GFLOP/s | of the best | MB |"
    yield "|---|---|---|---|---|---|---|---|"
    for r in results:
        speed = 1e3 * r["stream_gflop"] / r["stream_ms"]
        yield (f"| {r['name']} | {r['usual']} of {r['slots']} | {r['stream_ms']:.1f} | {r['imagine_ms']:.1f} | "
               f"{r['stream_gflop']:.2f} | {speed:.0f} | {100 * speed / best:.0f} % | {r['stream_mb']:.0f} |")
    yield ""
    yield "### One training update (one step forward and backward, RAdam)"
    yield ""
    yield "| preset | clips | ms / update | per clip | all slots used | warm-up | GFLOP | GFLOP/s | of the best | MB |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for r in results:
        speed = 1e3 * r["update_gflop"] / r["update_ms"]
        yield (f"| {r['name']} | {r['batch']} | {r['update_ms']:.0f} | {r['update_ms'] / r['batch']:.1f} | "
               f"{r['full_update_ms']:.0f} | {r['warm_ms']:.0f} | {r['update_gflop']:.1f} | {speed:.0f} | "
               f"{100 * speed / best:.0f} % | {r['update_mb']:.0f} |")
    yield ""
    yield "### How cost grows"
    yield ""
    yield "Milliseconds of a streamed frame by the number of slots in use (0, 1, 2, ...), and per stream by the batch:"
    yield ""
    yield "| preset | slots in use 0, 1, 2 ... | 1, 2, 4, 8 streams | after 10, 50, 200 frames | MB more after 200 |"
    yield "|---|---|---|---|---|"
    for r in results:
        active = " ".join(f"{value:.0f}" for value in r["by_active"])
        streams = " ".join(f"{value:.0f}" for _, value in r["by_batch"])
        length = " ".join(f"{value:.0f}" for _, value, _ in r["by_length"])
        yield f"| {r['name']} | {active} | {streams} | {length} | {r['by_length'][-1][2]:.0f} |"
    yield ""
    yield "### e-prop by history and by traces"
    yield ""
    yield "One GateL0RD layer of the adept preset (204 units), 16 clips of 7 slots; one update late in a sequence."
    yield "Traces are copied once more for every step that is back-propagated; the history is not."
    yield ""
    yield "| steps so far | history, ms | traces, ms | history, MB | traces, MB |"
    yield "|---|---|---|---|---|"
    for row in eprop:
        yield (f"| {row['length']} | {row['history_ms']:.0f} | {row['traces_ms']:.0f} | {row['history_mb']:.1f} | "
               f"{row['traces_mb']:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", nargs="+", default=list(PRESETS), choices=list(PRESETS))
    parser.add_argument("--repeats", type=int, default=5, help="calls of which the fastest counts")
    parser.add_argument("--out", type=Path, help="replace the measurements in this Markdown file, below its marker")
    parser.add_argument("--one", choices=list(PRESETS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.repeats)))
        return
    results = []
    for name in arguments.presets:
        print(f"{name} ...", file=sys.stderr)
        order = [sys.executable, __file__, "--one", name, "--repeats", str(arguments.repeats)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        results.append(json.loads(subprocess.run(order, check=True, capture_output=True, env=environment).stdout))
    lines = list(report(results, roofline(arguments.repeats), eprop_rows(204, 112, (1, 10, 50))))
    print("\n".join(lines))
    if arguments.out:
        marker = "<!-- python benchmarks/step.py -->"
        above = arguments.out.read_text().partition(marker)[0] if arguments.out.exists() else "# Performance\n\n"
        arguments.out.write_text(above + marker + "\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
