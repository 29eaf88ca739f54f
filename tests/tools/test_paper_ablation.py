"""tools/ablation.py --paper: rows change what they say, branch where it acts, and have published figures beside."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from loci_looped.cli import train
from loci_looped.configs.recipes import recipe
from loci_looped.configs.training import differences
from loci_looped.evaluation.experiments.results import Case, Results

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    for name in ("ablation", "paper_ablation"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("paper_ablation")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "DOCUMENT", tmp_path / "paper_ablation.md")
    return module


def test_three_prices_three_reconstructions_and_a_picture_loss(paper: ModuleType) -> None:
    names = [setting.name for setting in paper.SETTINGS]
    assert sum(name.startswith("lambda") for name in names) == 3 and "picture_loss" in names
    paper.Row(paper.UNCHANGED).run.mkdir(parents=True)
    weights = set()
    for row in (paper.Row(setting) for setting in paper.SETTINGS):
        verb, *rest = row.training()
        assert verb == "train"
        asked = train.split_line(rest)
        config = train.parse(asked.rest, recipe("adept-small"), "loci train")[0]
        assert config.curriculum.updates == paper.UPDATES and asked.start_update == (row.setting.begins or None)
        weights.add((config.loss.reconstruction, config.model.gate.l0_weight))
        named = {word.removeprefix("--").replace("no-", "").replace("-", "_")
                 for word in shlex.split(row.setting.flags) if word.startswith("--")}
        changed = {one.split(":")[0] for one in differences(recipe("adept-small"), config)}
        same = {"model.gate.l0_weight"} if row.setting.name == "lambda_low" else set()      # as the recipe has it
        assert changed == (named - same) | {"curriculum.updates", "validation_scenes"}
    assert len({rec for rec, _ in weights}) == 3 and len({price for _, price in weights}) == 3


def test_branches_begin_at_a_phase_of_the_recipe(paper: ModuleType) -> None:
    curriculum = recipe("adept-small").curriculum
    assert curriculum.still_until == paper.DRAWS and curriculum.gate_from <= paper.SEES < curriculum.gate_from + 48
    assert paper.SEES < paper.UPDATES


def test_the_table_has_published_figures_beside_ours_and_curves(paper: ModuleType, tmp_path: Path) -> None:
    row = paper.Row(next(setting for setting in paper.SETTINGS if setting.name == "lambda_high"))
    row.run.mkdir(parents=True)
    found = Results("tracking", {}, {"seed": 1000}, "loci evaluate", complete=True)
    found.put(Case("tracking", "run", "learned"), "error_visible", 4.25, "p/1", "%")
    found.write(row.figures)
    lines = [{"kind": "train", "update": update, "position_gate": 0.5, "foreground_error": 0.1}
             for update in (2300, 2400)]
    (row.run / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert paper.main(["--train", "0"]) == 0
    text = (tmp_path / "paper_ablation.md").read_text()
    cells = next(line for line in text.splitlines() if line.startswith("| λ 1e-2"))
    assert "| 4.25 | – | – | – | 3.3 / 2.8 / 77.1 / .65 (λ 5e-5) |" in cells
    assert "Not measured: the recipe as it is" in text
    assert (tmp_path / "paper_ablation.png").stat().st_size > 1000


def test_the_usual_tool_hands_over(paper: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert importlib.import_module("ablation").main(["--paper", "--list"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 2 * len(paper.SETTINGS) and all(line.startswith("loci ") for line in told)
    assert "adept-small" in told[0]


def test_a_negative_number_of_runs_is_told(paper: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert paper.main(["--train", "-1"]) == 2
    assert "--train -1 is not a number of runs" in capsys.readouterr().err
