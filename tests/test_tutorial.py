"""Every command of the tutorial is run, in its order, on drawn films; only the training is cut short."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from drawn_films import SIZE, write_films
from PIL import Image

from loci_looped.cli.main import main

PAGE = Path(__file__).parents[1] / "docs" / "tutorial-own-films.md"
SHORTENED = {
    "updates": 24, "foreground-until": 10, "still-until": 10, "background-from": 10,
    "background-over": 4, "gate-from": 16,
}
SHORT = ["--data.batch=2", *(f"--curriculum.{name}={value}" for name, value in SHORTENED.items())]
REHEARSED_SHORTLY = ["--rehearsal.rounds-at", "24", "--rehearsal.updates", "4", "--rehearsal.clips", "4"]


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines() if line.startswith("loci ")]


def test_the_tutorial_has_all_steps() -> None:
    assert [words[0] for words in commands()] == ["inspect", "inspect", "convert", "convert", "train", "watch"]


def test_every_command_of_the_tutorial_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "cache"))
    write_films(tmp_path / "films", range(6), frames=45)
    box = np.zeros((*SIZE, 3), np.uint8)
    box[30:140, 80:150] = 255
    Image.fromarray(box).save("box.png")
    for words in commands():
        shorter = SHORT + REHEARSED_SHORTLY if words[0] == "train" else []
        assert main([*words, *shorter]) == 0, words
        told = capsys.readouterr().out
        if words[0] == "inspect":
            assert "The camera stands still." in told
        if words[0] == "watch":
            assert "This network was trained on films of films; it explains" in told
    assert len(list((tmp_path / "clips").glob("*.clip"))) == 6 and (tmp_path / "clips" / "preview.png").exists()
    assert (tmp_path / "watched-film-000-mp4" / "index.html").exists()
