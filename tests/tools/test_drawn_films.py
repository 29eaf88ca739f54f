"""The tool that writes drawn films, and clips with their truth."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from loci_looped.data.store.clip_file import load_clip


def test_films_and_clips_with_truth_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(__file__).parents[2] / "tools" / "drawn_films.py"
    spec = importlib.util.spec_from_file_location("drawn_films_tool", path)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    words = ["drawn_films.py", str(tmp_path), "--films", "0-1", "--test", "200", "--frames", "150"]
    monkeypatch.setattr(sys, "argv", words)
    tool.main()
    assert [file.name for file in sorted((tmp_path / "films").iterdir())] == ["film-000.mp4", "film-001.mp4"]
    clip = load_clip(tmp_path / "test" / "film-200.clip")
    assert clip.truth is not None and clip.truth.kinds == ("mover", "mover", "screen", "screen") and len(clip) == 50
    told = capsys.readouterr().out
    assert "1 films: background off by" in told and "found in 1" in told
