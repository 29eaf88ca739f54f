"""tools/openings.py: a line per round, and a sentence where there is none."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from loci_looped.evaluation.experiments.openings import BINS

TOOL = Path(__file__).parents[2] / "tools" / "openings.py"


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("openings", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "openings", module)
    spec.loader.exec_module(module)
    return module


def test_every_network_has_a_line_for_each_gate(openings: ModuleType) -> None:
    found = {"round 1": [(0.5, 0.25)] * len(BINS), "in the end": [(0.125, 1.0)] * len(BINS)}
    rows = [line.split(",") for line in openings.table(found).splitlines()]
    assert rows[0] == ["network", "gate", *(name for name, _, _ in BINS)]
    assert rows[2] == ["round 1", "position", *["0.250"] * len(BINS)] and len(rows) == 5
    panels = openings.drawn(found).axes
    assert [panel.get_title() for panel in panels] == ["gestalt gate", "position gate"]
    assert list(panels[0].get_lines()[1].get_ydata()) == [0.125] * len(BINS)


def test_a_run_without_rounds_is_a_sentence(
    openings: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert openings.main([str(tmp_path), "--out", str(tmp_path / "picture")]) == 2
    assert "keeps no checkpoint of a round of rehearsal" in capsys.readouterr().err
    assert not list(tmp_path.glob("picture*"))
