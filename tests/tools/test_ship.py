"""tools/ship.py: what is put into the package says how it came about, and what is not fit to be shipped is told."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import importlib.util
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from rich.console import Console
from squares import flags_of

import loci_looped
from loci_looped.cli import train
from loci_looped.cli.main import main
from loci_looped.configs.recipes import RECIPES, recipe
from loci_looped.configs.training import TrainConfig
from loci_looped.evaluation.evaluated_model import open_model
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.inference import networks as storage
from loci_looped.training.log import RunLog
from loci_looped.training.loop import Trainer
from loci_looped.utils.errors import LociError

Change = Callable[..., TrainConfig]
SHIP = Path(__file__).parents[2] / "tools" / "ship.py"


@pytest.fixture
def ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, with a temporary place for what it writes."""
    spec = importlib.util.spec_from_file_location("ship", SHIP)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(storage, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(module, "CURVES", tmp_path / "curves")
    return module


@pytest.fixture
def short(tiny: TrainConfig, changed: Change) -> TrainConfig:
    return changed(tiny, seed=3, **{"curriculum.updates": 6, "loss.balanced": False, "optimiser.steps": ((4, 1e-5),)})


def _finished(config: TrainConfig, folder: Path) -> Path:
    with RunLog(folder, config.curriculum.updates, console=Console(quiet=True)) as log:
        Trainer(config, folder).run(log)
    return folder


def _results(run: Path, path: Path, **changes: Any) -> Path:
    """Figures as `loci evaluate RUN --json PATH` leaves them."""
    found = Results("tracking", open_model(str(run)).facts, {"seed": 0}, f"loci evaluate {run}", complete=True)
    case = Case("tracking", "run", "learned")
    found.put(case, "mota", 0.75, "p/1")
    found.put(case, "nothing", None, "p/1")
    dataclasses.replace(found, **changes).write(path)
    return path


def _understood(command: str) -> tuple[TrainConfig, train.Where, train.Line]:
    """What `loci train` would make of it."""
    program, verb, *words = shlex.split(command)
    assert (program, verb) == ("loci", "train")
    line = train.split_line(words)
    assert line.recipe is not None
    return *train.parse(line.rest, recipe(line.recipe), "loci train"), line


def _nothing_written(tmp_path: Path) -> bool:
    return not (tmp_path / "shipped").exists() and not (tmp_path / "curves").exists()


def test_a_finished_run_is_shipped_with_its_story(
    ship: ModuleType, short: TrainConfig, changed: Change, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = changed(short, validation_scenes=1)
    run = _finished(config, tmp_path / "run")
    figures = _results(run, tmp_path / "tracking.json")
    assert ship.main([str(run), "little", "--figures", str(figures), "--commit", "abc"]) == 0
    told = capsys.readouterr().out
    assert f"little in {tmp_path / 'shipped' / 'little'}" in told and str(tmp_path / "curves" / "run.csv") in told

    folder = tmp_path / "shipped" / "little"
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "manifest.json", "weights.safetensors"]
    manifest = json.loads((folder / "manifest.json").read_text())
    inside = json.loads((run / "network" / "manifest.json").read_text())
    assert (manifest["recipe"], manifest["seed"], manifest["updates"]) == ("adept-small", 3, 6)
    assert manifest["commit"] == "abc"
    assert manifest["minutes"] == inside["minutes"] and manifest["validation"] == inside["validation"] is not None
    assert manifest["figures"] == {"tracking": {
        "command": f"loci evaluate {run}", "numbers": {"tracking/learned/mota": 0.75, "tracking/learned/nothing": None},
    }}
    assert manifest["weights_sha256"] == hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()
    assert _understood(manifest["command"])[0] == config and "started_from" not in manifest
    shipped, trained = loci_looped.load("little"), loci_looped.load(run)
    assert all(torch.equal(a, b) for a, b in zip(shipped.parameters(), trained.parameters(), strict=True))

    # What has been measured on the shipped network are figures of the run, too.
    again = ["--figures", str(_results(Path("little"), tmp_path / "again.json")), "--commit", "def"]
    assert ship.main([str(run), "little", *again]) == 0
    assert json.loads((folder / "manifest.json").read_text())["commit"] == "def"


def test_the_present_commit_is_the_tools_wherever_it_is_called_from(
    ship: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if (SHIP.parents[1] / ".git").exists():
        assert re.fullmatch("[0-9a-f]{40}", ship._present_commit())
    monkeypatch.setattr(ship, "__file__", str(tmp_path / "ship.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(LociError, match=r"The present commit is not known .*: say it with --commit"):
        ship._present_commit()


def test_the_curve_is_the_log_as_a_table(
    ship: ModuleType, short: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _finished(short, tmp_path / "run")
    trouble = {"kind": "trouble", "update": 6, "sentence": 'A comma, and "more".', "share": None}
    with (run / "log.jsonl").open("a") as log:
        log.write(json.dumps(trouble) + "\n")
        log.write('{"kind": "train", "upda')         # cut short by a kill
    monkeypatch.chdir(run)
    assert ship.main([".", "little", "--curve-only"]) == 0
    assert not (tmp_path / "shipped").exists()
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()[:-1]]
    with (tmp_path / "curves" / "run.csv").open(newline="") as file:
        table = csv.DictReader(file)
        rows = list(table)
    assert table.fieldnames == [*lines[0], *(key for key in ("sentence", "share") if key not in lines[0])]
    assert len(rows) == len(lines) == 7
    for row, line in zip(rows, lines, strict=True):
        for key, text in row.items():
            value = line.get(key)
            if isinstance(value, float):
                assert float(text) == pytest.approx(value, rel=1e-5)
            else:
                assert text == ("" if value is None else str(value)), key


def test_figures_that_are_not_of_these_weights_are_refused(
    ship: ModuleType, short: TrainConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _finished(short, tmp_path / "run")
    good = _results(run, tmp_path / "good.json")
    other = _results(run, tmp_path / "other.json", model={"weights_sha256": "beef"})
    partial = _results(run, tmp_path / "partial.json", complete=False)
    for files, sentence in [
        ([good, other], f"{other} was measured with other weights (beef) than the run's"),
        ([partial], f"{partial} holds only a part of the experiment tracking"),
        ([good, good], f"{good} is a second file of the experiment tracking"),
        ([tmp_path / "none.json"], f"There is no file {tmp_path / 'none.json'}"),
    ]:
        assert ship.main([str(run), "little", "--commit", "abc", "--figures", *map(str, files)]) == 2
        assert sentence in capsys.readouterr().err
    assert _nothing_written(tmp_path)


def test_what_is_not_finished_is_not_shipped(
    ship: ModuleType, short: TrainConfig, changed: Change, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(run: Path, sentence: str) -> None:
        assert ship.main([str(run), "little"]) == 2
        told = capsys.readouterr().err
        assert sentence in told and "Traceback" not in told
        assert _nothing_written(tmp_path)

    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "has no log.jsonl")
    refused(tmp_path / "nowhere", "has no log.jsonl")
    (tmp_path / "empty" / "log.jsonl").touch()
    refused(tmp_path / "empty", "is empty")

    stopped, folder = Trainer(short, tmp_path / "run"), tmp_path / "run"
    stopped.stop()
    with RunLog(folder, 6, console=Console(quiet=True)) as log:
        stopped.run(log)
        log.record("train", 0, {"loss": 1.0})
    refused(folder, "update 0 and has not come to its end: there is no network folder in it")
    refused(folder, f"Go on with `loci train --resume {folder}`")

    _finished(short, folder)
    monkeypatch.setattr(ship, "LARGEST", 1000)
    refused(folder, "shipped weights must stay below 1000")


def test_a_network_that_is_older_than_its_run_is_not_shipped(
    ship: ModuleType, short: TrainConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run had come to its end, and was then taken up again with more time."""
    run = _finished(short, tmp_path / "run")
    manifest = run / "network" / "manifest.json"
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**told, "updates": 5}))
    assert ship.main([str(run), "little"]) == 2
    assert "is of update 5, but the run has gone on to 6" in capsys.readouterr().err
    manifest.unlink()
    assert ship.main([str(run), "little"]) == 2
    assert "does not tell updates, minutes, validation" in capsys.readouterr().err
    assert _nothing_written(tmp_path)


def test_a_branch_tells_both_commands(
    ship: ModuleType, short: TrainConfig, changed: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first to train the common beginning, the second to go on from its checkpoint; and so on for its branches."""
    monkeypatch.chdir(tmp_path)
    configs = {
        "origin": short, "twin": changed(short, **{"curriculum.updates": 8, "curriculum.gate_from": 99}),
        "ablation": changed(short, **{"curriculum.updates": 10, "loss.outlines": False}),
    }
    starts: dict[str, list[str]] = {
        "origin": [], "twin": ["--start-from", "runs/origin"], "ablation": ["--start-from", "runs/twin"],
    }
    for name, config in configs.items():
        words = flags_of(config, recipe(config.name))
        assert main(["train", config.name, *words, "--out", f"runs/{name}", *starts[name]]) == 0
    assert ship.main(["runs/ablation", "little", "--commit", "abc"]) == 0
    manifest = json.loads((tmp_path / "shipped" / "little" / "manifest.json").read_text())
    twin = manifest["started_from"]
    origin = twin["started_from"]
    assert (twin["run"], twin["update"], origin["run"], origin["update"]) == ("twin", 8, "origin", 6)
    assert "started_from" not in origin
    for told, name, start in (
        (manifest, "ablation", (Path("runs/twin"), 8)), (twin, "twin", (Path("runs/origin"), 6)),
        (origin, "origin", (None, None)),
    ):
        config, where, line = _understood(told["command"])
        assert config == configs[name] and where.out == Path("runs") / name
        assert (line.start_from, line.start_update) == start
    rows = (tmp_path / "curves" / "ablation.csv").read_text().splitlines()
    assert [row.split(",")[:2] for row in rows if row.startswith("branch,")] == [["branch", "6"], ["branch", "8"]]


@pytest.mark.parametrize("name", RECIPES)
def test_commands_are_understood(name: str, ship: ModuleType, changed: Change) -> None:
    """Switches, pairs, sizes, folders with spaces, and a run with a name of its own."""
    plain = recipe(name)
    assert ship.command_of(plain) == f"loci train {name} --seed 0"
    config = changed(plain, seed=7, noise=not plain.noise, name="mine", **{
        "curriculum.drop_rest": not plain.curriculum.drop_rest, "optimiser.steps": ((10, 0.1), (20, 1e-5)),
        "curriculum.window_steps": ((3, 2),), "model.latent": (4, 6), "data.folder": "my clips",
        "loss.balanced": not plain.loss.balanced, "optimiser.learning_rate": 1e-7,
    })
    assert _understood(ship.command_of(config))[0] == config
    config = changed(plain, **{"optimiser.steps": (), "curriculum.window_steps": ()})
    assert _understood(ship.command_of(config))[0] == config
