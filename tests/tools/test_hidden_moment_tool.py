"""The moments that are shown: before, during and after the longest time a mover is out of sight."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from loci_looped.data.clip import Clip, ObjectTruth
from loci_looped.utils.errors import LociError

TOOL = Path(__file__).parents[2] / "tools" / "hidden_moment.py"


@pytest.fixture
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hidden_moment_tool", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def clip_with(hidden: list[range], frames: int = 40) -> Clip:
    """A film of two movers and a screen; mover n is out of sight in hidden[n]."""
    seen = np.ones((frames, 3, 4, 6), dtype=bool)
    for index, stretch in enumerate(hidden):
        seen[list(stretch), index] = False
    truth = ObjectTruth(
        ("red cube", "blue cone", "screen"), ("mover", "mover", "screen"), np.full((frames, 3, 2), 2, np.float32), seen,
        np.ones_like(seen), np.ones((frames, 3), np.float32),
    )
    return Clip(np.zeros((frames, 4, 6, 3), np.uint8), np.zeros((4, 6, 3), np.uint8), truth)


def test_the_mover_that_is_hidden_longest_is_asked_for(tool: ModuleType) -> None:
    ball, moments = tool.longest_hidden(clip_with([range(10, 14), range(10, 20)]))
    assert ball == 1 and moments == [6, 10, 14, 19, 23]


def test_what_never_comes_back_is_not_asked_for(tool: ModuleType) -> None:
    with pytest.raises(LociError, match="no mover is hidden and comes back"):
        tool.longest_hidden(clip_with([range(30, 40), range(0)]))


def test_the_command_draws_a_filter_beside_a_network(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "moment.png"
    assert tool.main(["kalman", "adept-small:open", "--seed", "1000", "--out", str(out)]) == 0
    assert out.is_file() and "hidden" in capsys.readouterr().out
    assert tool.main(["adept-small:ajar", "--out", str(tmp_path / "none.png")]) == 2
    assert "learned" in capsys.readouterr().err and not (tmp_path / "none.png").exists()
