"""`loci export NETWORK --out DIR --form onnx`: the time step as a graph that runs without this package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from loci_looped.cli.checks import check_folder


@dataclass(frozen=True)
class Arguments:
    """Write the warm-up and the time step of a network as graphs, and check them against the network itself."""

    network: tyro.conf.Positional[str]
    """A shipped network by name, or the folder of a network or a run."""
    out: Path
    """The folder to write: warmup, step and signature.json, which tells inputs and outputs."""
    form: Literal["onnx", "torch"] = "onnx"
    """"onnx" for ONNX runtimes (needs the extra `export`), "torch" for torch.export (.pt2)."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci export")
    check_folder(arguments.out)

    from loci_looped.inference.export import check_packages, deviation, write_graphs
    from loci_looped.inference.networks import load
    from loci_looped.utils.errors import LociError

    check_packages(arguments.form)
    model = load(arguments.network)
    for path in write_graphs(arguments.out, model, arguments.form):
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")
    worst = deviation(arguments.out, model, arguments.form)
    if not worst < 1e-3:
        raise LociError(f"The graphs in {arguments.out} differ from the network by {worst:.2g}; do not use them.")
    print(f"Largest difference from the network itself: {worst:.1e}.")
    return 0
