"""Rounds of consolidation in a run: part of its course, resumable after any update, bounded in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from squares import square_clip
from toy_diary import NETWORK

from loci_looped.configs.rehearsal import RehearsalConfig
from loci_looped.configs.training import DataConfig, TrainConfig
from loci_looped.data.store.clip_file import save_clip
from loci_looped.training import consolidation
from loci_looped.training.diary import Diary, record
from loci_looped.training.log import RunLog, read_log
from loci_looped.training.loop import Trainer


@pytest.fixture
def rehearsing(tiny: TrainConfig, changed: Callable[..., Any]) -> TrainConfig:
    """A few updates with pictures, a round, a few more, two rounds."""
    model = dataclasses.replace(
        tiny.model, transition=NETWORK.transition, gate=NETWORK.gate,
        extensions=dataclasses.replace(NETWORK.extensions, patience=4),
    )
    return changed(tiny, model=model, **{
        "curriculum.updates": 30, "curriculum.gate_from": 15, "optimiser.average": 0.9,
        "rehearsal": RehearsalConfig(rounds_at=(15, 30, 30), clips=4, updates=4, batch=3),
    })


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trainer.network().state_dict().items()}


def test_pictures_and_rehearsals_make_one_run(rehearsing: TrainConfig, tmp_path: Path) -> None:
    trainer = Trainer(rehearsing, tmp_path)
    with RunLog(tmp_path, rehearsing.updates) as log:
        trainer.run(log)
    assert trainer.is_over and trainer.consolidation.is_over
    assert trainer.update == rehearsing.updates == 30 + 3 * 4
    assert trainer.pictures == 30
    assert [record["round"] for record in read_log(tmp_path, "rehearsal")] == [1, 2, 3]
    phases = [record["phase"] for record in read_log(tmp_path, "train")]
    assert phases[:15] == ["foreground"] * 15 and phases.count("rehearsal") == 12


def test_after_a_round_pictures_change_perception_only(rehearsing: TrainConfig, tmp_path: Path) -> None:
    trainer = Trainer(rehearsing, tmp_path)
    seen: dict[str, dict[str, torch.Tensor]] = {}
    usual = trainer._learn

    def learn(*args: Any) -> None:
        before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        usual(*args)
        if trainer.consolidation.round == 1:
            seen["before"] = before
            seen["after"] = {name: value.clone() for name, value in trainer.model.state_dict().items()}

    trainer._learn = learn      # type: ignore[method-assign]
    trainer.run()
    after = seen["after"]
    changed = {name.split(".")[0] for name, value in seen["before"].items() if not torch.equal(value, after[name])}
    assert "encoder" in changed and "decoder" in changed
    assert not changed & {"transition", "gate"}


@pytest.mark.parametrize("stop_at", [3, 15, 16, 18, 25, 31, 34, 41])
def test_a_run_resumes_exactly_after_any_update(rehearsing: TrainConfig, tmp_path: Path, stop_at: int) -> None:
    whole = Trainer(rehearsing, tmp_path / "whole")
    whole.run()
    first = Trainer(rehearsing, tmp_path / "cut")
    count = 0

    def stop_when_due(trainer: Trainer) -> None:
        nonlocal count
        if trainer.update >= stop_at:
            trainer.stop()

    for name in ("_learn", "_consolidate"):
        usual = getattr(first, name)

        def wrapped(*args: Any, usual: Any = usual) -> Any:
            result = usual(*args)
            stop_when_due(first)
            return result

        setattr(first, name, wrapped)
    first.run()
    assert stop_at <= first.update < rehearsing.updates or first.is_over
    second = Trainer(rehearsing, tmp_path / "cut")
    second.restore()
    assert second.pictures == first.pictures
    second.run()
    ours, theirs = weights(second), weights(whole)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_diaries_are_bounded(rehearsing: TrainConfig, tmp_path: Path) -> None:
    trainer = Trainer(dataclasses.replace(
        rehearsing, rehearsal=dataclasses.replace(rehearsing.rehearsal, remembered=6)
    ), tmp_path)
    trainer.run()
    assert trainer.consolidation.diary is not None and trainer.consolidation.diary.clips == 6


def test_diaries_of_the_first_round_are_not_kept(rehearsing: TrainConfig, tmp_path: Path) -> None:
    clips: list[int] = []
    trainer = Trainer(dataclasses.replace(
        rehearsing, rehearsal=dataclasses.replace(rehearsing.rehearsal, remembered=100)
    ), tmp_path)
    usual = trainer.consolidation.record
    trainer.consolidation.record = lambda *args: (      # type: ignore[method-assign]
        usual(*args), clips.append(trainer.consolidation.diary.clips)
    )[0]
    trainer.run()
    assert clips == [4, 4, 8]       # the second round has its own alone, the third those of the second, too


def test_inherited_imagination_is_kept_from_pictures(
    rehearsing: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates: list[str] = []

    def watched_with(*args: Any) -> Diary:
        gates.append(args[3])
        return record(*args)

    monkeypatch.setattr(consolidation, "record", watched_with)
    clips: list[int] = []
    trainer = Trainer(dataclasses.replace(
        rehearsing, rehearsal=dataclasses.replace(rehearsing.rehearsal, remembered=100, inherited=True)
    ), tmp_path)
    first = weights(trainer)
    usual = trainer.consolidation.record

    def recorded(*args: Any) -> int:
        if not clips:
            now = trainer.model.state_dict()
            changed = {name.split(".")[0] for name, value in first.items() if not torch.equal(value, now[name])}
            assert "encoder" in changed and not changed & {"transition", "gate"}
            assert trainer.consolidation.gate_learns
        watched = usual(*args)
        clips.append(trainer.consolidation.diary.clips)
        return watched

    trainer.consolidation.record = recorded      # type: ignore[method-assign]
    trainer.run()
    assert clips == [4, 8, 12] and set(gates) == {"learned"}
    assert trainer.consolidation.updates == 12


def test_clips_too_short_to_rehearse_are_skipped_and_counted(
    rehearsing: TrainConfig, changed: Callable[..., Any], tmp_path: Path
) -> None:
    for seed in range(4):
        save_clip(square_clip(seed, frames=5), tmp_path / "clips" / f"{seed}.clip")
    config = changed(rehearsing, data=DataConfig(folder=str(tmp_path / "clips"), batch=2))
    trainer = Trainer(config, tmp_path / "run")
    trainer.run()
    assert trainer.is_over and trainer.consolidation.diary is None
    assert trainer.consolidation.skipped == 4 and "4 clips were too short" in trainer.consolidation.told()
    assert trainer.pictures == 30


def test_runs_of_the_time_before_rehearsal_can_be_read(tiny: TrainConfig) -> None:
    old = tiny.to_json()
    del old["rehearsal"]
    assert TrainConfig.from_json(old).rehearsal == RehearsalConfig()


def test_rounds_come_in_order() -> None:
    with pytest.raises(ValueError, match="rising order"):
        RehearsalConfig(rounds_at=(30, 20))


def test_the_last_rounds_are_averaged_in_the_end(rehearsing: TrainConfig, tmp_path: Path) -> None:
    ends: list[dict[str, torch.Tensor]] = []
    for averaged in (1, 2):
        config = dataclasses.replace(rehearsing, rehearsal=dataclasses.replace(rehearsing.rehearsal, averaged=averaged))
        trainer = Trainer(config, tmp_path / str(averaged))
        rounds, usual = trainer.consolidation, trainer.consolidation._end_round

        def end_round(rounds: Any = rounds, usual: Any = usual) -> None:
            ends.append({name: value.clone() for name, value in rounds._learnt().items()})
            usual()

        rounds._end_round = end_round       # type: ignore[method-assign]
        trainer.run()
        now, last = rounds._learnt(), ends[-averaged:]
        assert all(torch.allclose(now[name], sum(end[name] for end in last) / averaged) for name in now)
    assert any(not torch.equal(ends[-1][name], ends[-2][name]) for name in ends[-1])
