"""How the gate learns to shut: openings by how much of a mover is hidden, after each round of rehearsal.

    python tools/openings.py runs/adept-learnt-seed0 --out docs/openings

Reads the checkpoints that a run keeps where its rounds ended, lets the network of each watch validation scenes, and
writes OUT.png and OUT.csv. Nobody tells the gate what is hidden: the true share is only used to sort what it did.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from pathlib import Path

import numpy as np
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from loci_looped.configs.scenes import FIRST_VALIDATION_SEED
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments.openings import BINS, openings_by_occlusion
from loci_looped.evaluation.experiments.scoring import watch_and_score
from loci_looped.inference.networks import load, network_of
from loci_looped.model import LociLooped
from loci_looped.utils.atomic import replacing, write_text
from loci_looped.utils.checkpoint import checkpoints, read_checkpoint
from loci_looped.utils.errors import LociError

GATES = ("gestalt", "position")
Openings = dict[str, list[tuple[float, float]]]
"""Name of the network -> per bin of the hidden share the mean openings for gestalt and position."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a run that rehearses")
    parser.add_argument("--scenes", type=int, default=16, help="validation scenes with two movers")
    parser.add_argument("--out", type=Path, default=Path("openings"), help="OUT.png and OUT.csv are written")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    try:
        found = {name: openings_of(network, arguments.scenes) for name, network in networks(arguments.run).items()}
        write_text(arguments.out.with_suffix(".csv"), table(found))
        with replacing(arguments.out.with_suffix(".png")) as temporary:
            drawn(found).savefig(temporary, dpi=130, format="png")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(table(found))
    return 0


def networks(run: Path) -> dict[str, LociLooped]:
    """The network after each round whose checkpoint is there, and the one the run ended with."""
    found: dict[str, LociLooped] = {}
    for path in checkpoints(run / "checkpoints"):
        checkpoint = read_checkpoint(path)
        rounds = checkpoint.values.get("rehearsal") or {}
        network = network_of(checkpoint)
        if rounds.get("round", 0) > len(found) and not rounds.get("done", 0) and isinstance(network, LociLooped):
            found[f"round {rounds['round']}"] = network
    if not found:
        raise LociError(f"{run} keeps no checkpoint of a round of rehearsal: nothing can be drawn.")
    found.popitem()         # at the end the weights of the last rounds are averaged
    return {**found, "in the end": load(run)}


def openings_of(network: LociLooped, scenes: int) -> list[tuple[float, float]]:
    specs = [ClipSpec("vanish-control", FIRST_VALIDATION_SEED + number, network.config.frame)
             for number in range(scenes)]
    clips, _ = watch_and_score(EvaluatedModel("", network, {}, network.config.frame), specs, "learned")
    return [tuple(np.mean(rows, axis=0)) if len(rows) else (np.nan, np.nan)
            for _, rows in openings_by_occlusion(clips)]


def table(found: Openings) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("network", "gate", *(name for name, _, _ in BINS)))
    for network, openings in found.items():
        for index, gate in enumerate(GATES):
            writer.writerow((network, gate, *(f"{pair[index]:.3f}" for pair in openings)))
    return text.getvalue()


def drawn(found: Openings) -> Figure:
    """One line per network, the later the darker; one panel per gate."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    names = [name for name, _, _ in BINS]
    for index, (axis, gate) in enumerate(zip(figure.subplots(1, 2, sharey=True), ("gestalt", "position"), strict=True)):
        for number, (network, openings) in enumerate(found.items()):
            last = number == len(found) - 1
            shade = 0.75 - 0.6 * number / max(1, len(found) - 1)
            axis.plot(range(len(names)), [pair[index] for pair in openings], marker="o", markersize=3.5,
                      color="#c0392b" if last else str(shade), linewidth=2.4 if last else 1.4, label=network)
        axis.set_xticks(range(len(names)), names, fontsize=8)
        axis.set_title(f"{gate} gate", fontsize=10)
        axis.set_xlabel("share of the mover that is hidden", fontsize=9)
        axis.set_ylim(0, 1.02)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        if not index:
            axis.set_ylabel("opening (0: imagination alone)", fontsize=9)
            axis.legend(fontsize=8, frameon=False)
    return figure


if __name__ == "__main__":
    sys.exit(main())
