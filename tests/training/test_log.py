"""The log on disk, on the terminal and in TensorBoard."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from loci_looped.data.formats.images import save_png
from loci_looped.training.log import LOG, Averages, RunLog, read_log

VALUES = {
    "updates_per_second": 12.34, "loss": 0.5, "foreground_error": 0.0123, "bound_slots": 2.5, "gestalt_gate": 0.25,
    "position_gate": 0.75,
}


def _log(folder: Path, resumed_at: int = 0, console: Console | None = None) -> RunLog:
    return RunLog(folder, 100, resumed_at, console or Console(file=io.StringIO()))


def test_averages_skip_what_is_no_number_and_survive_json() -> None:
    means = Averages()
    means.add({"loss": 1.0, "gate": float("nan")})
    means.add({"loss": 0.1 + 0.2})
    again = Averages.from_json(json.loads(json.dumps(means.to_json())))
    assert means.take() == again.take() == {"loss": (1.0 + (0.1 + 0.2)) / 2}
    assert means.take() == {}


def test_a_record_is_on_disk_at_once(tmp_path: Path) -> None:
    with _log(tmp_path) as log:
        log.record("train", 3, {"loss": 0.1 + 0.2, "gate": float("inf"), "phase": "foreground"})
        assert read_log(tmp_path, "train") == [
            {"kind": "train", "update": 3, "loss": 0.1 + 0.2, "gate": None, "phase": "foreground"}
        ]
        assert read_log(tmp_path, "validation") == []
    assert read_log(tmp_path / "nowhere", "train") == []


def test_a_reopened_log_forgets_what_the_run_has_forgotten(tmp_path: Path) -> None:
    with _log(tmp_path) as log:
        for update in (10, 20, 30):
            log.record("train", update, {"loss": float(update)})
    with (tmp_path / LOG).open("a") as file:
        file.write('{"kind": "train", "update": 40, "lo')      # cut short by a kill
    assert [record["update"] for record in read_log(tmp_path, "train")] == [10, 20, 30]
    with _log(tmp_path, resumed_at=20) as log:
        log.record("train", 21, {})
    assert [record["update"] for record in read_log(tmp_path, "train")] == [10, 20, 21]
    with _log(tmp_path):
        pass
    assert read_log(tmp_path, "train") == []


def test_the_terminal_gets_one_line_with_time_left_elsewhere_lines_follow(tmp_path: Path) -> None:
    plain, terminal = io.StringIO(), io.StringIO()
    with _log(tmp_path / "a", console=Console(file=plain, width=150)) as log:
        log.progress(50, "recruiting", VALUES)
        log.progress(60, "recruiting", {})
        log.say("[not markup] 3 %")
    lines = plain.getvalue().splitlines()
    told = " ".join(lines[0].split())
    assert told == "50 recruiting 12.3/s loss 0.500 foreground 0.0123 slots 2.5 gates 0.25 0.75"
    assert "60 recruiting" in lines[1] and lines[2] == "[not markup] 3 %"
    with _log(tmp_path / "b", console=Console(file=terminal, width=150, force_terminal=True)) as log:
        log.progress(50, "recruiting", VALUES)
    assert "recruiting" in terminal.getvalue() and "50/100" in terminal.getvalue()
    assert "loss 0.500" in terminal.getvalue()


def test_numbers_go_to_tensorboard(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with _log(tmp_path) as log:
        log.record("train", 3, {"loss": 0.5, "phase": "foreground"})
        log.record("train", 6, {"loss": 0.25, "phase": "foreground"})
    with _log(tmp_path, resumed_at=3) as log:
        log.record("train", 5, {"loss": 0.125})
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert events.Tags()["scalars"] == ["train/loss"]
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(3, 0.5), (5, 0.125)]


def test_without_tensorboard_everything_else_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with _log(tmp_path) as log:
        log.record("train", 1, {"loss": 1.0})
    assert not (tmp_path / "tensorboard").exists() and len(read_log(tmp_path, "train")) == 1


def test_pictures_go_to_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    pixels = np.zeros((6, 9, 3), np.uint8)
    pixels[2:, 4:] = (250, 10, 90)
    save_png(tmp_path / "strip.png", pixels)
    with _log(tmp_path) as log:
        log.picture("validation/strip", 7, tmp_path / "strip.png")
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    (image,) = events.Images("validation/strip")
    assert image.step == 7 and (np.asarray(Image.open(io.BytesIO(image.encoded_image_string))) == pixels).all()
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with _log(tmp_path / "without") as log:
        log.picture("validation/strip", 7, tmp_path / "strip.png")
    assert not (tmp_path / "without" / "tensorboard").exists()
