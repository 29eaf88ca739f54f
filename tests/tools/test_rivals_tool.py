"""The tool that trains the rivals: what it would run, in which order, and which run it calls the best."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from loci_looped.cli import train
from loci_looped.configs.recipes import any_recipe

TOOL = Path(__file__).parents[2] / "tools" / "rivals.py"


@pytest.fixture
def rivals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("rivals_tool", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "rivals_tool", module)
    spec.loader.exec_module(module)
    monkeypatch.chdir(tmp_path)
    return module


def test_two_seeds_and_two_budgets_of_each(rivals: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert rivals.main(["--list", "--budgets", "1", "2"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    trained = [words for words in lines if words[1] == "train"]
    assert len(trained) == 5 * 2 * 2 and len(lines) == 2 * len(trained)
    for words in trained:
        line = train.split_line(words[2:])
        assert line.recipe is not None
        config, where = train.parse(line.rest, any_recipe(line.recipe), "loci train")
        assert config.updates in (any_recipe(line.recipe).updates, 2 * any_recipe(line.recipe).updates)
        assert where.out is not None


def test_a_stopped_run_is_gone_on_with(rivals: ModuleType) -> None:
    run = rivals.Run("savi-small", 0, 1)
    (run.folder / "checkpoints").mkdir(parents=True)
    assert run.training() == ["train", "--resume", "runs/savi-small-seed0"]
    assert [words[0] for words in run.still_to_do()] == ["train", "evaluate"]


def test_the_best_run_is_that_with_the_highest_mota(rivals: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [rivals.Run("savi-small", seed, 1) for seed in (0, 1, 2)]
    motas = {0: None, 1: -0.2, 2: -0.5}
    monkeypatch.setattr(rivals.Run, "figures", lambda run: {"mota": motas[run.seed]})
    assert max(runs, key=rivals.Run.quality).seed == 1


def test_of_balls_the_best_run_drifts_least(
    rivals: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [rivals.Run("gswm-balls-small", seed, 1) for seed in (0, 1)]
    monkeypatch.setattr(rivals.Run, "figures", lambda run: {"distance_sum": (0.9, 0.4)[run.seed]})
    rivals.tell("gswm-balls-small", runs)
    assert "the best of them by distance_sum is runs/gswm-balls-small-seed1" in capsys.readouterr().out


def test_a_table_says_what_the_files_hold(rivals: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    stored = TOOL.parents[1] / "docs" / "figures" / "kalman.json"
    assert rivals.main(["--table", str(stored)]) == 0
    told = capsys.readouterr().out
    row = next(line for line in told.splitlines() if "Kalman" in line).split("|")
    found = {row["metric"]: row["value"] for row in json.loads(stored.read_text())["rows"]}
    assert float(row[2]) == pytest.approx(found["error_visible"], rel=0.01)
    assert float(row[7]) == pytest.approx(found["false_positives_per_frame"], rel=0.01)
    assert "- `loci evaluate kalman --scenes 50 --movers 2 --seed 600`" in told
    assert rivals.main(["--table", "nothing.json"]) == 2 and "nothing.json" in capsys.readouterr().err


def test_a_table_is_of_one_experiment(rivals: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    figures = TOOL.parents[1] / "docs" / "figures"
    balls, kalman = figures / "balls" / "balls-small.json", figures / "kalman.json"
    assert rivals.main(["--table", str(balls)]) == 0
    told = capsys.readouterr().out
    assert "| balls-small, gate learned, interaction, imagine | 0.251 | 0.0505 |" in told
    assert rivals.main(["--table", str(balls), str(kalman)]) == 2
    assert "A table is of one experiment" in capsys.readouterr().err
