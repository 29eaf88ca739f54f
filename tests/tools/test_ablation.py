"""tools/ablation.py: each row changes what it says and nothing else, has the same budget, and no work is done twice."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from loci_looped.cli import train
from loci_looped.configs.recipes import recipe
from loci_looped.configs.training import TrainConfig, differences
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.metrics.statistics import Estimate
from loci_looped.evaluation.report.markdown import BEGIN, END

TOOL = Path(__file__).parents[2] / "tools" / "ablation.py"


@pytest.fixture
def ablation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, at work in an empty folder."""
    spec = importlib.util.spec_from_file_location("ablation", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "ablation", module)        # dataclasses look their module up
    spec.loader.exec_module(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "DOCUMENT", tmp_path / "decisions.md")
    (tmp_path / "decisions.md").write_text(f"before\n{BEGIN}\noutdated\n{END}\nafter\n")
    return module


def _config(words: list[str]) -> tuple[TrainConfig, train.Line]:
    verb, *rest = words
    assert verb == "train"
    line = train.split_line(rest)
    assert line.recipe is not None
    return train.parse(line.rest, recipe(line.recipe), "loci train")[0], line


def test_each_switch_changes_the_fields_it_names_and_no_budget(ablation: ModuleType) -> None:
    names = [switch.name for switch in ablation.SWITCHES]
    assert len(set(names)) == len(names) >= 12
    ablation.Row(ablation.UNCHANGED, 3).run.mkdir(parents=True)
    plain = recipe(ablation.RECIPE)
    for row in (ablation.Row(switch, 3) for switch in ablation.SWITCHES if switch.flags):
        config, line = _config(row.training())
        rounds = 0 if row.switch.name == "rehearsal" else ablation.ROUNDS
        assert config.seed == 3 and config.rehearsal.rounds == rounds
        changed = {change.split(":")[0] for change in differences(plain, config)}
        named = {
            word.removeprefix("--").replace("no-", "").replace("-", "_")
            for word in shlex.split(row.switch.flags) if word.startswith("--")
        }
        budget = {"curriculum.updates"}
        assert changed - budget == named | {"seed", "validation_scenes", "rehearsal.rounds_at"}
        assert line.start_update == (row.switch.begins or None)


def test_a_branch_begins_before_anything_is_rehearsed(ablation: ModuleType) -> None:
    plain = recipe(ablation.RECIPE)
    assert min(plain.rehearsal.rounds_at) == ablation.SEES == plain.curriculum.gate_from
    later = {switch.name for switch in ablation.SWITCHES if switch.begins == ablation.SEES}
    assert {switch.name for switch in ablation.SWITCHES} - later == {"attention", "rehearsal"}
    begins = {switch.name: switch.begins for switch in ablation.SWITCHES}
    assert begins["attention"] == ablation.NOISE            # its weights are not there
    assert begins["rehearsal"] == ablation.DRAWS == plain.curriculum.still_until       # something must be left to do


def test_a_row_without_fields_is_the_unchanged_run_used_in_another_way(ablation: ModuleType) -> None:
    row = ablation.Row(next(switch for switch in ablation.SWITCHES if switch.name == "gate_rule"), 1)
    assert not row.trains and row.run == ablation.Row(ablation.UNCHANGED, 1).run
    assert row.evaluation()[1] == str(row.run) and "visibility" in row.evaluation()


def test_the_unchanged_row_is_the_recipe_with_the_common_budget(ablation: ModuleType) -> None:
    config, line = _config(ablation.Row(ablation.UNCHANGED, 1).training())
    assert line.start_from is None
    changed = {change.split(":")[0] for change in differences(recipe(ablation.RECIPE), config)}
    assert changed == {
        "seed", "validation_scenes", "rehearsal.rounds_at", "curriculum.updates",
    }
    assert config.curriculum.updates == ablation.SEES       # rows differ in rehearsal, not in what is seen after it


def test_runs_of_the_recipe_that_are_there_can_be_begun_with(ablation: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "seen-1").mkdir()
    for switch in (ablation.UNCHANGED, ablation.SWITCHES[-1]):
        _, line = _config(ablation.Row(switch, 1, "seen-1").training())
        assert line.start_from is not None and str(line.start_from) == "seen-1"
        assert line.start_update == ablation.SEES


def test_what_is_missing_is_done_once_and_a_row_that_fails_is_told(
    ablation: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[str] = []

    def loci(words: list[str], row: object, troubles: list[str]) -> bool:
        commands.append(" ".join(words[:3]))
        if "hold" in str(words):
            troubles.append("hold went wrong")
            return False
        if words[0] == "train":
            network = Path(words[words.index("--resume" if "--resume" in words else "--out") + 1]) / "network"
            network.mkdir(parents=True)
            (network / "config.json").write_text("{}")
        else:
            _figures(ablation.FOLDER / Path(words[words.index("--json") + 1]).name, 2.5)
        return True

    monkeypatch.setattr(ablation, "_loci", loci)
    (ablation.FOLDER / "backward-seed0" / "checkpoints").mkdir(parents=True)          # it was stopped half way
    asked = ["--seeds", "0", "--only", "hold", "backward", "--train", "1"]
    assert ablation.main(asked) == 1
    assert commands == [
        "train adept-learnt --seed", "evaluate runs/ablation/unchanged-seed0 --scenes",
        "train adept-learnt --seed",
        "train --resume runs/ablation/backward-seed0", "evaluate runs/ablation/backward-seed0 --scenes",
    ]
    assert "hold went wrong" in capsys.readouterr().err
    commands.clear()
    assert ablation.main(asked) == 1
    assert commands == ["train adept-learnt --seed"]


def test_the_table_has_the_measured_rows_and_names_the_others(ablation: ModuleType, tmp_path: Path) -> None:
    ablation.FOLDER.mkdir(parents=True)
    _figures(ablation.FOLDER / "unchanged-seed0.json", 2.0)
    _figures(ablation.FOLDER / "backward-seed0.json", 7.25)
    assert ablation.main(["--seeds", "0", "--train", "0"]) == 0
    text = (tmp_path / "decisions.md").read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "outdated" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| changed")]
    assert len(rows) == 2
    assert rows[0].startswith("| nothing | 0 |") and "| 2.00 (1.0 to 3.0) |" in rows[0]
    assert "`--rehearsal.backward 1` | 0 |" in rows[1] and "| 7.25 (6.2 to 8.2) | – | 90.0 | – |" in rows[1]
    missing = next(line for line in text.splitlines() if line.startswith("Not measured"))
    assert "hold-seed0" in missing and "backward" not in missing


def test_what_another_machine_has_measured_stays_in_the_table(ablation: ModuleType, tmp_path: Path) -> None:
    ablation.FOLDER.mkdir(parents=True)
    _figures(ablation.FOLDER / "unchanged-seed0.json", 2.0)
    _figures(ablation.FOLDER / "backward-seed0.json", 7.25)
    assert ablation.main(["--seeds", "0", "--train", "0"]) == 0
    before = (tmp_path / "decisions.md").read_text()
    for path in ablation.FOLDER.iterdir():
        path.unlink()
    assert ablation.main(["--seeds", "0", "--train", "0"]) == 0
    assert (tmp_path / "decisions.md").read_text() == before


def test_a_disk_that_fails_is_told_and_nobody_waits_for_ever(
    ablation: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(ablation, "finish", full)
    assert ablation.main(["--seeds", "0", "--only", "hold", "--train", "1"]) == 1
    assert "unchanged-seed0: No space left" in (told := capsys.readouterr().err) and "hold-seed0" in told


def test_a_negative_number_of_runs_is_a_sentence(ablation: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert ablation.main(["--train", "-1"]) == 2
    assert "--train -1 is not a number of runs" in capsys.readouterr().err


def test_an_unknown_switch_is_a_sentence(ablation: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert ablation.main(["--only", "backwards"]) == 2
    assert "There is no switch backwards. There are" in capsys.readouterr().err


def _figures(path: Path, error: float) -> None:
    found = Results("tracking", {}, {"seed": 1000}, "loci evaluate", complete=True)
    case = Case("tracking", "run", "learned")
    found.put(case, "error_visible", Estimate(error, error - 1, error + 1, 10), "p/1", "%")
    found.put(case, "successful", 90.0, "p/1", "%")
    found.write(path)
