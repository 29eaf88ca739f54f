"""Put the network of a finished run into the package, with a manifest, and its learning curve into docs/curves.

    python tools/ship.py runs/adept-small-seed0 adept-small --figures tracking.json

The manifest says how the weights came about and what they scored: command, seed, commit, minutes, figures, hash. The
figures are read from what `loci evaluate --json` wrote, never typed in.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from loci_looped.data.atomic import write_text
from loci_looped.errors import LociError
from loci_looped.evaluation.experiments.results import read_results
from loci_looped.storage import SHIPPED, WEIGHTS, find_network, load_network, read_manifest, save_network
from loci_looped.training.checkpoint import newest_checkpoint
from loci_looped.training.config import TrainConfig, differences, recipe

CURVES = Path(__file__).parents[1] / "docs" / "curves"
LARGEST = 5_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a run that has come to its end")
    parser.add_argument("name", help="what the network is to be called")
    parser.add_argument("--figures", type=Path, nargs="+", default=[], help="results of loci evaluate --json")
    parser.add_argument("--commit", help="the commit the run was trained with; the present one unless given")
    parser.add_argument("--curve-only", action="store_true", help="only the learning curve, no weights")
    arguments = parser.parse_args()
    try:
        print(f"learning curve in {write_curve(arguments.run)}")
        if not arguments.curve_only:
            print(f"{arguments.name} in {ship(arguments.run, arguments.name, arguments.figures, arguments.commit)}")
    except LociError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def ship(run: Path, name: str, figures: list[Path], commit: str | None) -> Path:
    place = find_network(run)
    model = load_network(place)
    digest = hashlib.sha256((place / WEIGHTS).read_bytes()).hexdigest()
    told = read_manifest(place)
    config = TrainConfig.from_json(newest_checkpoint(run / "checkpoints").values["config"])
    manifest: dict[str, Any] = {
        "command": command_of(config), "seed": config.seed, "commit": commit or _git("rev-parse", "HEAD"),
        "recipe": config.name, "updates": told["updates"], "minutes": told["minutes"],
        "machine": f"one thread of a two-core {platform.machine()} machine, torch {torch.__version__}",
        "validation": told["validation"], "figures": _figures(figures, digest), "weights_sha256": digest,
    }
    folder = save_network(SHIPPED / name, model, manifest)
    written = (folder / WEIGHTS).read_bytes()
    if hashlib.sha256(written).hexdigest() != digest:
        raise LociError(f"{folder / WEIGHTS} is not what {place / WEIGHTS} was: do not ship it.")
    if len(written) > LARGEST:
        raise LociError(f"{folder / WEIGHTS} has {len(written)} bytes; shipped weights must stay below {LARGEST}.")
    return folder


def command_of(config: TrainConfig) -> str:
    """What to type to train the same network again."""
    words = ["loci", "train", config.name, "--seed", str(config.seed)]
    for change in differences(recipe(config.name), config):
        field, _, values = change.partition(": ")
        if field != "seed":
            words += [f"--{field.replace('_', '-')}", values.partition(" -> ")[2]]
    return " ".join(words)


def _figures(paths: list[Path], digest: str) -> dict[str, Any]:
    """experiment -> its command and its numbers; results of other weights are refused."""
    found: dict[str, Any] = {}
    for path in paths:
        results = read_results(path)
        measured = results.subject.get("weights_sha256")
        if measured != digest:
            raise LociError(f"{path} was measured with other weights ({measured}) than the run's ({digest}).")
        found[results.experiment] = {
            "command": results.command,
            "numbers": {key: number.value for key, number in results.numbers.items()},
        }
    return found


def write_curve(run: Path) -> Path:
    """docs/curves/RUN.csv: what the run logged, one row per report or look, columns in the order they first appear."""
    log = run / "log.jsonl"
    if not log.is_file():
        raise LociError(f"There is no {log}: {run} is no folder of a training run.")
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    columns = list(dict.fromkeys(key for record in records for key in record))
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    for record in records:
        table.writerow({
            key: f"{value:.6g}" if isinstance(value, float) else value for key, value in record.items()
        })
    target = CURVES / f"{run.name}.csv"
    write_text(target, text.getvalue())
    return target


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
