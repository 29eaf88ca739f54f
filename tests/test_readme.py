"""The README is true: its commands run, its Python runs, its first success comes early."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT, blocks, commands, is_there, mistake, paths

from loci_looped.cli.main import main
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.render.clips import make_clip

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
COMMANDS = [command for command in commands(TEXT) if command[0] == "loci"]

SMALLER = {"--count": "2", "--scenes": "1"}
"""Flags that are set to less than in the README, so that the test is quick."""
LONG = ("train", "lab", "import-official", "export")
"""Verbs that take too long, wait for somebody, or need a file of the authors': only read, not run."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a newcomer has it: with a film."""
    folder = tmp_path_factory.mktemp("desk")
    write_film(folder / "film.mp4", make_clip("vanish-control", 7, (80, 120), samples=1).frames[:12], fps=25)
    return folder


def test_the_first_success_is_within_30_lines() -> None:
    beginning = "\n".join(TEXT.splitlines()[:30])
    assert "make demo" in beginning and "make test" in beginning and "film-strip.png" in beginning
    assert len(re.findall(r"^\|[-:|]+$", beginning, flags=re.M)) == 1, "one results table"


def test_every_row_of_the_results_has_its_command() -> None:
    table = re.search(r"^\|.*error occluded.*\n\|[-:|]+\n((?:\|.*\n)+)", TEXT, flags=re.M)
    assert table is not None
    for row in table.group(1).splitlines():
        (command,) = commands(row)
        assert command[1] == "evaluate" and command[command.index("--seed") + 1] == "600", row


def test_figures_are_those_that_the_commands_gave() -> None:
    """What `loci evaluate ... --json` wrote is stored in docs/figures; nothing in the table is typed from memory."""
    shown_metrics = ("error_visible", "error_occluded", "successful", "mota", "phantom_frames")
    stored = {}
    for file in sorted((ROOT / "docs" / "figures").glob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["experiment"] != "tracking":
            continue            # behind another document
        rows = {row["metric"]: row["value"] for row in found["rows"] if not row.get("condition")}
        words = [word for word in found["command"].split() if word != "--json" and not word.endswith(".json")]
        stored[" ".join(words)] = [rows[name] for name in shown_metrics]
    table = [line for line in TEXT.splitlines() if "loci evaluate" in line and line.startswith("|")]
    assert len(table) == len(stored) == 6
    for line in table:
        cells, (command,) = line.split("|")[2:7], commands(line)
        for cell, value in zip(cells, stored[" ".join(command)], strict=True):
            digits = len(cell.strip().partition(".")[2])
            assert round(value, digits) == float(cell), line


def test_no_figure_is_left_blank() -> None:
    assert "{{" not in TEXT


def test_everything_it_names_exists_and_lies_inside() -> None:
    assert sorted(name for name in paths(TEXT) if not is_there(name) or ".." in name) == []


def test_every_command_can_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    assert [wrong for command in commands(TEXT) if (wrong := mistake(command))] == []


def test_its_quick_commands_run_in_their_order(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    monkeypatch.setenv("LOCI_CACHE", str(desk / "cache"))
    done = []
    for _, *words in COMMANDS:
        if words[0] in LONG or any(word.startswith("runs/") or word == "surprise" for word in words):
            continue        # surprise needs 46 scenes and more
        for flag, value in SMALLER.items():
            if flag in words:
                words[words.index(flag) + 1] = value
        if words[:2] == ["evaluate", "adept-learnt"] and "--scenes" not in words:
            words += ["--scenes", "1", "--gate", "learned"]
        assert main(words) == 0, " ".join(words)
        done.append(words[0])
    assert {"generate", "inspect", "watch", "evaluate", "report"} <= set(done)
    assert (desk / "report.html").is_file() and list((desk / "clips").iterdir())


@pytest.mark.parametrize("block", blocks(TEXT, "python"))
def test_its_python_runs(block: str, desk: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, cwd=desk,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
@pytest.mark.parametrize("verb", ["demo", "test", "slow", "lint"])
def test_make_knows_the_verbs(verb: str) -> None:
    done = subprocess.run(["make", "--dry-run", verb], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
