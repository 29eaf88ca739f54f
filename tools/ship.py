"""Put the network of a finished run into the package, with a manifest, and its learning curve into docs/curves.

    python tools/ship.py runs/adept-small-seed0 adept-small --figures tracking.json

The manifest says how the weights came about and what they scored: command, seed, commit, minutes, figures, hash. The
figures are read from what `loci evaluate --json` wrote, never typed in. A run that began at another one's checkpoint
has that run's command, too, under "started_from".
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import hashlib
import io
import itertools
import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from loci_looped.configs.recipes import EVERY_RECIPE
from loci_looped.configs.rivals import read_run_config
from loci_looped.configs.training import RunConfig, differences
from loci_looped.evaluation.experiments.results import Row, read_results
from loci_looped.evaluation.report.learning import read_records
from loci_looped.inference.networks import (
    CONFIG,
    INSIDE_RUN,
    MANIFEST,
    SHIPPED,
    WEIGHTS,
    find_network,
    load_any_network,
    read_manifest,
)
from loci_looped.training.resume import config_of
from loci_looped.utils.atomic import write_bytes, write_text
from loci_looped.utils.checkpoint import Checkpoint, newest_checkpoint
from loci_looped.utils.errors import LociError

CURVES = Path(__file__).parents[1] / "docs" / "curves"
LARGEST = 5_000_000


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a run that has come to its end")
    parser.add_argument("name", help="what the network is to be called")
    parser.add_argument("--figures", type=Path, nargs="+", default=[], help="results of loci evaluate --json")
    parser.add_argument("--commit", help="the commit the run was trained with; the present one unless given")
    parser.add_argument("--curve-only", action="store_true", help="only the learning curve, no weights")
    arguments = parser.parse_args(argv)
    try:
        table = curve(arguments.run)
        if not arguments.curve_only:
            print(f"{arguments.name} in {ship(arguments.run, arguments.name, arguments.figures, arguments.commit)}")
        # Last: a run that cannot be shipped leaves nothing in the documentation either.
        target = CURVES / f"{arguments.run.resolve().name}.csv"
        write_text(target, table)
        print(f"learning curve in {target}")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def ship(run: Path, name: str, figures: list[Path], commit: str | None) -> Path:
    found = newest_checkpoint(run / "checkpoints")
    place, told = finished_network(run, found)
    weights = (place / WEIGHTS).read_bytes()
    if len(weights) > LARGEST:
        raise LociError(f"{place / WEIGHTS} has {len(weights)} bytes; shipped weights must stay below {LARGEST}.")
    digest = hashlib.sha256(weights).hexdigest()
    config, origin = config_of(found), found.values.get("started_from")
    manifest: dict[str, Any] = {
        "command": command_of(config, run.resolve().name if origin else "", origin), "seed": config.seed,
        "commit": commit or _present_commit(), "recipe": config.name, "updates": told["updates"],
        "minutes": told["minutes"],
        "machine": f"shipped from a {platform.machine()} machine of {os.cpu_count()} cores, torch {torch.__version__}",
        "validation": told["validation"], "figures": _figures(figures, digest), "weights_sha256": digest,
    }
    if origin:
        manifest["started_from"] = _beginning(origin)
    folder = SHIPPED / name
    # The very bytes that were measured; the configuration last, as it is what makes the folder a network.
    write_bytes(folder / WEIGHTS, weights)
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    write_bytes(folder / CONFIG, (place / CONFIG).read_bytes())
    return folder


def finished_network(run: Path, found: Checkpoint) -> tuple[Path, dict[str, Any]]:
    """The folder of the network a run has left at its end, and what its manifest tells."""
    if not (run / INSIDE_RUN / CONFIG).is_file():
        raise LociError(
            f"The run in {run} is at update {found.update} and has not come to its end: there is no {INSIDE_RUN} "
            f"folder in it. Go on with `loci train --resume {run}`."
        )
    place = find_network((run / INSIDE_RUN).resolve())
    load_any_network(place)     # whatever is wrong with it is said here
    told = read_manifest(place)
    missing = [key for key in ("updates", "minutes", "validation") if key not in told]
    if missing:
        raise LociError(f"{place / MANIFEST} does not tell {', '.join(missing)}: was it written by `loci train`?")
    if told["updates"] != found.update:
        raise LociError(
            f"The network in {place} is of update {told['updates']}, but the run has gone on to {found.update}: let it "
            f"come to its end with `loci train --resume {run}`."
        )
    return place, told


def command_of(config: RunConfig, out: str = "", origin: dict[str, Any] | None = None) -> str:
    """What to type to train the same network again: in the folder `out`, from the checkpoint of `origin`, if given."""
    # A run may have been given a name of its own; then it is told as a change to the recipe that is nearest to it.
    alike = {name: known for name, known in EVERY_RECIPE.items() if known.kind == config.kind}
    near = config.name if config.name in alike else min(alike, key=lambda n: len(differences(alike[n], config)))
    words = ["loci", "train", near, "--seed", str(config.seed)]
    if origin:
        words += ["--start-from", f"runs/{origin['run']}", "--start-update", str(origin["update"])]
    if out:
        words += ["--out", f"runs/{out}"]
    return shlex.join(words + _flags(dataclasses.replace(config, seed=alike[near].seed), alike[near]))


def _flags(config: Any, default: Any, prefix: str = "") -> list[str]:
    """The fields in which a configuration differs from another, as the command line wants them."""
    words: list[str] = []
    for field in dataclasses.fields(config):
        ours, theirs = getattr(config, field.name), getattr(default, field.name)
        name = field.name.replace("_", "-")
        if dataclasses.is_dataclass(ours):
            words += _flags(ours, theirs, f"{prefix}{name}.")
        elif ours != theirs and isinstance(ours, bool):
            words.append(f"--{prefix}{name}" if ours else f"--{prefix}no-{name}")
        elif ours != theirs and isinstance(ours, tuple):
            # Pairs are typed one after the other: --optimiser.steps 1000 1e-4 2000 1e-5
            rows = (part if isinstance(part, tuple) else (part,) for part in ours)
            words += [f"--{prefix}{name}", *(str(value) for value in itertools.chain.from_iterable(rows))]
        elif ours != theirs:
            words += [f"--{prefix}{name}", str(ours)]
    return words


def _beginning(origin: dict[str, Any]) -> dict[str, Any]:
    """The run a branch began with: the command to type first; and that run's own beginning, if it was a branch, too."""
    before = origin.get("started_from")
    command = command_of(read_run_config(origin["config"]), origin["run"], before)
    told = {"run": origin["run"], "update": origin["update"], "command": command}
    return told | ({"started_from": _beginning(before)} if before else {})


def _figures(paths: list[Path], digest: str) -> dict[str, Any]:
    """experiment -> its command and its numbers; results that are partial or of other weights are refused."""
    found: dict[str, Any] = {}
    for path in paths:
        results = read_results(path)
        measured = results.model.get("weights_sha256")
        if measured != digest:
            raise LociError(f"{path} was measured with other weights ({measured}) than the run's ({digest}).")
        if not results.complete:
            raise LociError(f"{path} holds only a part of the experiment {results.experiment}: evaluate it again.")
        if results.experiment in found:
            raise LociError(f"{path} is a second file of the experiment {results.experiment}: give one of them.")
        found[results.experiment] = {
            "command": results.command,
            "numbers": {figure_name(row): row.value for row in results.rows},
        }
    return found


def figure_name(row: Row) -> str:
    """tracking/learned/error_visible: the model is named where there are several."""
    model = (row.model, row.gate) if row.experiment == "ablation" and row.gate else (row.gate or row.model,)
    return "/".join((row.experiment, *model, *row.condition, row.metric))


def curve(run: Path) -> str:
    """What the run logged as CSV: a row per report or look, columns in the order in which they first appear."""
    records = read_records(run)
    if not records:
        raise LociError(f"The log of {run} is empty: there is no learning curve yet.")
    columns = list(dict.fromkeys(key for record in records for key in record))
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    for record in records:
        table.writerow({
            key: f"{value:.6g}" if isinstance(value, float) else value for key, value in record.items()
        })
    return text.getvalue()


def _present_commit() -> str:
    """Of the tool's own repository, wherever it is called from."""
    try:
        asked = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise LociError(f"The present commit is not known ({error}): say it with --commit.") from error
    return asked.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
