"""A run can stop anywhere and go on as if nothing had happened; what goes wrong is told."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import loci_looped
from loci_looped.configs.training import TrainConfig
from loci_looped.model import LociLooped
from loci_looped.training import loci_objective
from loci_looped.training import loop as loop_of
from loci_looped.training.clips import open_dataset
from loci_looped.training.log import RunLog, read_log
from loci_looped.training.loop import Trainer
from loci_looped.utils.checkpoint import checkpoints, newest_checkpoint
from loci_looped.utils.errors import LociError

Change = Callable[..., TrainConfig]
WALL_CLOCK = ("seconds", "updates_per_second")


class Quiet(RunLog):
    """A log that remembers what was said, and does something when a certain update is recorded."""

    def __init__(self, folder: Path, resumed_at: int = 0, at: int = 0, do: Callable[[], None] | None = None) -> None:
        super().__init__(folder, 100, resumed_at, Console(quiet=True))
        self.said: list[str] = []
        self._at, self._do = at, do

    def say(self, text: str, style: str | None = None) -> None:
        self.said.append(text)

    def record(self, kind: str, update: int, values: dict[str, Any]) -> None:
        super().record(kind, update, values)
        if kind == "train" and update == self._at and self._do is not None:
            self._do()


def _run(config: TrainConfig, folder: Path, resume: bool = False, **trigger: Any) -> tuple[Trainer, list[str]]:
    trainer = Trainer(config, folder)
    if resume:
        trainer.restore()
    if "do" in trigger and trigger["do"] is None:
        trigger["do"] = trainer.stop
    with Quiet(folder, trainer.update, **trigger) as log:
        trainer.run(log)
    return trainer, log.said


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k not in WALL_CLOCK} for line in read_log(folder, "train")]


def _same(ours: Trainer, theirs: Trainer) -> None:
    for part in ("model", "average"):
        for (name, a), b in zip(
            getattr(ours, part).named_parameters(), getattr(theirs, part).parameters(), strict=True
        ):
            assert torch.equal(a, b), (part, name)
    assert torch.equal(ours.generator.get_state(), theirs.generator.get_state())


@pytest.mark.parametrize("kind", ["small", "paper"])
def test_a_stopped_run_goes_on_bit_for_bit(
    kind: str, tiny: TrainConfig, tiny_paper: TrainConfig, changed: Change, tmp_path: Path
) -> None:
    """AdamW with a moving average, error-sampled placement, held slots and colours; rectified Adam, e-prop, blackouts.

    Losses are logged every third update, so that a mean is under way when the run stops.
    """
    config = changed(tiny if kind == "small" else tiny_paper, log_every=3, checkpoint_minutes=1000.0)
    whole, _ = _run(config, tmp_path / "whole")
    folder = tmp_path / "parts"
    stopped, _ = _run(config, folder, at=3, do=None)
    assert 3 < stopped.update < 20 and not stopped.is_over
    stopped, _ = _run(config, folder, resume=True, at=24, do=None)
    assert 24 < stopped.update < 40 and not stopped.is_over
    finished, _ = _run(config, folder, resume=True)
    assert finished.update == 40 and finished.is_over
    assert _lines(folder) == _lines(tmp_path / "whole") and len(_lines(folder)) == 13
    _same(finished, whole)


def test_without_a_moving_average_the_network_itself_is_kept(
    tiny_paper: TrainConfig, changed: Change, tmp_path: Path
) -> None:
    trainer, _ = _run(changed(tiny_paper, **{"curriculum.updates": 8}), tmp_path)
    found = newest_checkpoint(tmp_path / "checkpoints")
    assert "average" not in found.tensors and trainer.network() is trainer.model
    loaded = loci_looped.load(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), trainer.model.parameters(), strict=True))


def test_the_end_of_a_run_leaves_a_network_figures_and_a_strip(
    tiny: TrainConfig, changed: Change, tmp_path: Path
) -> None:
    config = changed(tiny, validate_every=15, validation_scenes=1, **{"curriculum.background_over": 1})
    trainer, said = _run(config, tmp_path)
    found = read_log(tmp_path, "validation")
    assert [record["update"] for record in found] == [30, 40]
    assert {"blobs_found"} <= set(found[0])           # clips of a folder are validated on those held out of it
    strips = sorted(path.name for path in (tmp_path / "strips").iterdir())
    assert strips == ["update-000000030.png", "update-000000040.png"]
    assert any("blob" in line for line in said)
    loaded = loci_looped.load(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), trainer.average.parameters(), strict=True))
    kept = [int(path.name[-9:]) for path in checkpoints(tmp_path / "checkpoints")]
    assert trainer.milestones == [30] and kept == [15, 30, 35, 40], "where a phase began, and the last three"


def test_where_phases_begin_a_checkpoint_is_kept_also_across_a_resume(
    tiny: TrainConfig, changed: Change, tmp_path: Path
) -> None:
    """Sequences have 15 updates: the phases of this curriculum begin with the second, the third and the fifth."""
    config = changed(tiny, **{
        "curriculum.updates": 90, "curriculum.foreground_until": 15, "curriculum.gate_from": 45,
        "curriculum.gate_window": 1,
    })
    trainer, _ = _run(config, tmp_path)
    kept = [int(path.name[-9:]) for path in checkpoints(tmp_path / "checkpoints")]
    assert trainer.milestones == [15, 45] and set(kept) > {15, 45}
    again = Trainer(config, tmp_path)
    again.restore()
    assert again.milestones == [15, 45]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_with_a_checkpoint(
    number: int, tiny: TrainConfig, changed: Change, tmp_path: Path
) -> None:
    config = changed(tiny, checkpoint_minutes=1000.0)
    before = signal.getsignal(number)
    trainer, _ = _run(config, tmp_path, at=5, do=lambda: os.kill(os.getpid(), number))
    assert 5 < trainer.update < 40 and signal.getsignal(number) is before
    assert newest_checkpoint(tmp_path / "checkpoints").update == trainer.update
    assert not (tmp_path / "network").exists()


def test_time_is_up(tiny: TrainConfig, changed: Change, tmp_path: Path) -> None:
    trainer, _ = _run(changed(tiny, minutes=1e-6), tmp_path)
    assert 0 < trainer.update < 40 and trainer.is_over and (tmp_path / "network").is_dir()


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_its_batch(tiny: TrainConfig, tmp_path: Path) -> None:
    trainer = Trainer(tiny, tmp_path)

    def poison() -> None:
        with torch.no_grad():
            trainer.model.decoder.background_logit_image.fill_(torch.nan)

    refused = pytest.raises(LociError, match=r"Update 3 gave a loss .*prediction")
    with Quiet(tmp_path, at=3, do=poison) as log, refused as told:
        trainer.run(log)
    (kept,) = tmp_path.glob("offending-batch-*.npz")
    assert str(kept) in str(told.value)
    with np.load(kept, allow_pickle=False) as batch:
        expected = open_dataset(tiny, tiny.model.frame).batch_at(trainer.batches)
        assert np.array_equal(batch["frames"], expected.frames.numpy()) and tuple(batch["clips"]) == expected.clips


def test_a_gradient_that_is_no_number_does_not_reach_the_weights(tiny: TrainConfig, tmp_path: Path) -> None:
    trainer = Trainer(tiny, tmp_path)
    parameter = trainer.model.gate.layers[0].bias
    trainer.model.encoder.trunk[0].conv1.bias.register_hook(lambda gradient: gradient * torch.inf)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    with Quiet(tmp_path) as log, pytest.raises(LociError, match="Update 0 gave a gradient that is not a finite number"):
        trainer.run(log)
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))
    assert bool(torch.isfinite(parameter).all())


def test_a_full_disk_costs_one_checkpoint_not_the_run(
    tiny: TrainConfig, changed: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = loop_of.write_checkpoint, []

    def sometimes(*arguments: Any, **named: Any) -> Path:
        calls.append(arguments)
        if len(calls) == 2:     # the first one is written before anything was learnt, and must succeed
            raise LociError("The checkpoint could not be written: No space left on device.")
        return real(*arguments, **named)

    monkeypatch.setattr(loop_of, "write_checkpoint", sometimes)
    trainer, said = _run(tiny, tmp_path)
    assert trainer.is_over and len(calls) > 2
    assert sum("No space left on device. Training goes on" in line for line in said) == 1


def test_trouble_is_told_once_also_across_a_resume(
    tiny: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loci_objective, "diagnose", lambda *_: {"nothing bound": "No slot holds anything."})
    _, said = _run(tiny, tmp_path, at=3, do=None)
    _, more = _run(tiny, tmp_path, resume=True)
    assert sum("in trouble" in line for line in said) == 1 and not any("in trouble" in line for line in more)
    assert [record["what"] for record in read_log(tmp_path, "trouble")] == ["nothing bound"]


def test_a_network_grows_to_level_two_in_the_middle_and_resumes_there(
    tiny_paper: TrainConfig, changed: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clips at the finer size are opened when they are needed."""
    opened: list[tuple[int, int]] = []

    def shrunk(config: TrainConfig, size: tuple[int, int], report: Any = None) -> Any:
        opened.append(size)
        return Enlarged(open_dataset(config, (16, 24), report), size[0] // 16)

    monkeypatch.setattr(loop_of, "open_dataset", shrunk)
    config = changed(tiny_paper, level_two_from=10, **{"model.levels": 2, "curriculum.updates": 34})
    whole, _ = _run(config, tmp_path / "whole")
    assert opened == [(16, 24), (64, 96)] and whole.model.config.level == 2
    _run(config, tmp_path / "parts", at=16, do=None)
    assert newest_checkpoint(tmp_path / "parts" / "checkpoints").values["level"] == 2
    resumed, _ = _run(config, tmp_path / "parts", resume=True)
    _same(resumed, whole)
    assert _lines(tmp_path / "parts") == _lines(tmp_path / "whole")


class Enlarged:
    """The same clips with larger pixels."""

    def __init__(self, clips: Any, factor: int) -> None:
        self.clips, self.factor = clips, factor

    def batch_at(self, number: int) -> Any:
        import dataclasses

        batch, f = self.clips.batch_at(number), self.factor
        return dataclasses.replace(
            batch, frames=batch.frames.repeat_interleave(f, 3).repeat_interleave(f, 4),
            background=batch.background.repeat_interleave(f, 2).repeat_interleave(f, 3),
        )


def test_validation_does_not_disturb_training(tiny: TrainConfig, changed: Change, tmp_path: Path) -> None:
    # Both hold the same clips out; the first looks at them in the end only.
    plain = changed(tiny, validation_scenes=1, validate_every=1000, **{
        "curriculum.background_over": 1, "curriculum.updates": 20,
    })
    without, _ = _run(plain, tmp_path / "without")
    often, _ = _run(changed(plain, validate_every=1), tmp_path / "often")
    assert len(read_log(tmp_path / "often", "validation")) > 1
    _same(often, without)
    assert isinstance(often.network(), LociLooped)
