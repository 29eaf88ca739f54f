"""A new run from another run's checkpoint: the same bits if nothing is changed, and a sentence where it cannot be."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from squares import flags_of

from loci_looped.cli.main import main
from loci_looped.configs.recipes import recipe
from loci_looped.configs.training import TrainConfig
from loci_looped.model import LociLooped
from loci_looped.training.branch import branch_of, starting_point
from loci_looped.training.log import RunLog, read_log
from loci_looped.training.loop import Trainer
from loci_looped.utils.checkpoint import Checkpoint, checkpoints, newest_checkpoint, read_checkpoint
from loci_looped.utils.errors import LociError

Change = Callable[..., TrainConfig]
WALL_CLOCK = ("seconds", "updates_per_second")


def _loci(config: TrainConfig, out: Path, *words: str) -> int:
    return main(["train", config.name, *flags_of(config, recipe(config.name)), "--out", str(out), *words])


def _updates(run: Path) -> list[int]:
    return [int(path.name[-9:]) for path in checkpoints(run / "checkpoints")]


def _lines(run: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k not in WALL_CLOCK} for line in read_log(run, "train")]


def _same(ours: Checkpoint, theirs: Checkpoint) -> None:
    """All but the wall clock, and where it came from."""
    aside = ("seconds", "started_from", "config")
    assert ours.update == theirs.update and set(ours.tensors) == set(theirs.tensors)
    assert {k: v for k, v in ours.values.items() if k not in aside} == {
        k: v for k, v in theirs.values.items() if k not in aside
    }
    for part, tensors in ours.tensors.items():
        assert set(tensors) == set(theirs.tensors[part])
        for name, value in tensors.items():
            assert torch.equal(value, theirs.tensors[part][name]), (part, name)


def _fresh(config: TrainConfig) -> dict[str, torch.Tensor]:
    torch.manual_seed(config.seed)
    return LociLooped(config.model).state_dict()


@pytest.fixture
def run(tiny: TrainConfig, tmp_path: Path) -> Path:
    """A finished run, of which the last three checkpoints and where phases began are left."""
    folder = tmp_path / "run"
    with RunLog(folder, 40, console=Console(quiet=True)) as log:
        Trainer(tiny, folder).run(log)
    return folder


@pytest.mark.parametrize("kind", ["small", "paper"])
def test_with_an_equal_configuration_the_branch_is_the_run_bit_for_bit(
    kind: str, tiny: TrainConfig, tiny_paper: TrainConfig, changed: Change, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """AdamW with a moving average; rectified Adam without. A mean of losses is under way where the branch begins."""
    config = changed(tiny if kind == "small" else tiny_paper, log_every=7)
    whole, branch, resumed = (tmp_path / name for name in ("whole", "branch", "resumed"))
    assert _loci(config, whole) == 0
    begin = _updates(whole)[0]
    assert 0 < begin < 40 and begin % 7
    capsys.readouterr()
    assert _loci(config, branch, "--start-from", str(whole), "--start-update", str(begin)) == 0
    told = capsys.readouterr().err
    assert f"going on at update {begin} of {whole}" in told and "Its configuration is that of the other run." in told

    # Resuming the original at the same checkpoint is the same again.
    shutil.copytree(whole, resumed)
    for update in _updates(whole)[1:]:
        shutil.rmtree(resumed / "checkpoints" / f"update-{update:09d}")
    assert main(["train", "--resume", str(resumed)]) == 0
    ends = [newest_checkpoint(folder / "checkpoints") for folder in (branch, resumed, whole)]
    assert ends[0].update == 40
    _same(ends[0], ends[1])
    _same(ends[0], ends[2])
    assert _lines(branch) == _lines(resumed) == _lines(whole) and len(_lines(branch)) == 5
    assert ends[2].values["started_from"] is None


def test_an_unlooped_twin_is_one_command(
    run: Path, tiny: TrainConfig, changed: Change, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its gate never learns; where it came from is in every checkpoint, and it resumes as any run does."""
    begin, twin = _updates(run)[0], tmp_path / "twin"
    config = changed(tiny, **{"curriculum.gate_from": 1000, "curriculum.updates": 60})
    assert _loci(config, twin, "--start-from", str(run), f"--start-update={begin}", "--minutes", "1000") == 0
    told = capsys.readouterr().err
    for change in ("curriculum.gate_from: 18 -> 1000", "curriculum.updates: 40 -> 60", "minutes: 0.0 -> 1000.0"):
        assert change in told
    (record,) = read_log(twin, "branch")
    assert record["update"] == begin and record["run"] == "run" and "gate_from: 18 -> 1000" in record["changed"]
    assert [line["update"] for line in read_log(twin, "train")] == list(range(1, 61))
    assert {line["phase"] for line in read_log(twin, "train") if line["update"] > begin + 20} == {"recruiting"}

    start, end = read_checkpoint(checkpoints(run / "checkpoints")[0]), newest_checkpoint(twin / "checkpoints")
    origin = end.values["started_from"]
    assert (origin["run"], origin["update"], origin["started_from"]) == ("run", begin, None)
    assert TrainConfig.from_json(origin["config"]) == tiny
    assert TrainConfig.from_json(end.values["config"]) == changed(config, minutes=1000.0)
    for name, value in start.tensors["weights"].items():
        if name.startswith("gate."):
            assert torch.equal(value, end.tensors["weights"][name]), name

    # The end is lost: the resumed branch gets there again, bit for bit, and still knows its origin.
    shutil.rmtree(checkpoints(twin / "checkpoints")[-1])
    assert main(["train", "--resume", str(twin)]) == 0
    again = newest_checkpoint(twin / "checkpoints")
    _same(again, end)
    assert again.values["started_from"] == origin and len(read_log(twin, "branch")) == 1

    # A branch of the branch remembers both.
    config = changed(config, **{"curriculum.updates": 61})
    assert _loci(config, tmp_path / "second", "--start-from", str(twin)) == 0
    second = newest_checkpoint(tmp_path / "second" / "checkpoints").values["started_from"]
    assert (second["run"], second["update"]) == ("twin", 60) and second["started_from"] == origin


def test_the_first_checkpoint_is_there_before_anything_is_learnt(
    run: Path, tiny: TrainConfig, tmp_path: Path
) -> None:
    found = starting_point(run, _updates(run)[0])
    trainer = Trainer(tiny, tmp_path / "branch")
    trainer.restore(branch_of(found, run, tiny, trainer.model.state_dict()).checkpoint)
    trainer.stop()
    trainer.run()
    assert _updates(tmp_path / "branch") == [found.update]
    first = newest_checkpoint(tmp_path / "branch" / "checkpoints")
    _same(first, found)
    assert first.values["started_from"]["update"] == found.update
    assert first.values["seconds"] == found.values["seconds"]


def test_without_an_update_it_is_the_newest_whole_checkpoint(
    run: Path, tiny: TrainConfig, changed: Change, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, before, newest = _updates(run)
    assert starting_point(run, None).update == newest
    (run / "checkpoints" / f"update-{newest:09d}" / "weights.safetensors").write_bytes(b"")
    config = changed(tiny, **{"curriculum.updates": before + 1})
    assert _loci(config, tmp_path / "branch", "--start-from", str(run)) == 0
    told = capsys.readouterr().err
    assert "Falling back" in told and f"going on at update {before} of" in told
    with pytest.raises(LociError, match=rf"is damaged.* Choose another with --start-update: there are .*{before}"):
        starting_point(run, newest)


def test_new_parts_begin_untrained_and_are_named(
    run: Path, tiny: TrainConfig, changed: Change, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = changed(tiny, **{"model.decoder.layers": 2, "model.transition.layers": 3, "curriculum.updates": 44})
    found, fresh = starting_point(run, None), _fresh(config)
    branch = branch_of(found, run, config, fresh)
    added = set(fresh) - set(found.tensors["weights"])
    assert added and "optimiser" in found.tensors
    for part in ("weights", "average"):
        for name, value in branch.checkpoint.tensors[part].items():
            assert torch.equal(value, fresh[name] if name in added else found.tensors[part][name]), (part, name)
    (sentence,) = (s for s in branch.sentences if "untrained" in s)
    named = sentence.partition(": ")[2].rstrip(".").split(", ")
    assert "decoder.trunk.1" in named and len(named) < len(added)
    assert all(any(name.startswith(f"{part}.") or name == part for part in named) for name in added)

    # And they learn.
    assert _loci(config, tmp_path / "branch", "--start-from", str(run)) == 0
    assert sentence in capsys.readouterr().err
    end = newest_checkpoint(tmp_path / "branch" / "checkpoints")
    assert any(not torch.equal(end.tensors["weights"][name], fresh[name]) for name in added)
    assert end.tensors["optimiser"]["decoder.trunk.1.conv1.weight|step"] == 4


def test_parts_that_do_not_fit_are_refused(
    run: Path, tiny: TrainConfig, changed: Change, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for change, sentences in [
        ({"model.gestalt": 12}, ["These would have another shape: ", " (8,) -> (12,)", " more. Leave"]),
        ({"model.extensions.offsets": False}, ["These would have another shape: encoder.position_blocks", " -> (3, "]),
        ({"model.transition.layers": 1}, ["These would be dropped: transition.", "or add parts only"]),
        ({"model.transition.layers": 1, "model.extensions.offsets": False}, ["another shape: ", "would be dropped: "]),
    ]:
        config = changed(tiny, **change, **{"curriculum.updates": 50})
        assert _loci(config, tmp_path / "branch", "--start-from", str(run)) == 2
        told = capsys.readouterr().err
        assert f"The network of update 40 of {run} does not fit" in told and "Traceback" not in told
        assert all(sentence in told for sentence in sentences), told
    assert not (tmp_path / "branch").exists()


def test_a_moving_average_may_begin_or_end_with_the_branch(
    run: Path, tiny: TrainConfig, tiny_paper: TrainConfig, changed: Change, tmp_path: Path
) -> None:
    Trainer(changed(tiny_paper, **{"curriculum.updates": 8}), tmp_path / "paper").run()
    config = changed(tiny_paper, **{"optimiser.average": 0.5})
    found = starting_point(tmp_path / "paper", None)
    branch = branch_of(found, tmp_path / "paper", config, _fresh(config))
    assert any("begins with the weights" in sentence for sentence in branch.sentences)
    trainer = Trainer(config, tmp_path / "begun")
    trainer.restore(branch.checkpoint)
    for ours, theirs in zip(trainer.average.parameters(), trainer.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)

    config = changed(tiny, **{"optimiser.average": 0.0, "curriculum.updates": 41})
    trainer = Trainer(config, tmp_path / "ended")
    trainer.restore(branch_of(starting_point(run, None), run, config, trainer.model.state_dict()).checkpoint)
    trainer.run()
    assert "average" not in newest_checkpoint(tmp_path / "ended" / "checkpoints").tensors


def test_a_network_does_not_shrink_to_the_coarser_level(run: Path, tiny: TrainConfig, changed: Change) -> None:
    config = changed(tiny, **{"curriculum.updates": 50})
    found = starting_point(run, None)
    fine = dataclasses.replace(found, values={**found.values, "level": 2})
    with pytest.raises(LociError, match="already works at level 2, but in this configuration it is at level 1 then"):
        branch_of(fine, run, config, _fresh(config))
    assert branch_of(fine, run, changed(config, level_two_from=40), _fresh(config)).checkpoint.values["level"] == 2


def test_what_cannot_be_started_is_a_sentence(
    run: Path, tiny: TrainConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *_ = updates = _updates(run)
    folder, empty = str(run), tmp_path / "empty"
    empty.mkdir()
    for words, sentence in [
        (["--start-from", folder, "--resume", folder], f"Either --resume {folder} goes on with that run in its folder"),
        (["--start-from", str(tmp_path / "none")], f"There is no run folder {tmp_path / 'none'} to start from"),
        (["--start-from", str(empty)], f"There is no checkpoint in {empty / 'checkpoints'}"),
        (["--start-from", str(empty), "--start-update", "3"], f"There is no checkpoint in {empty / 'checkpoints'}"),
        (["--start-from", folder, "--start-update", "7"],
         f"no checkpoint of update 7; it has those of {', '.join(map(str, updates))}"),
        (["--start-from", folder, "--start-update", "late"], "--start-update late is not a number of updates"),
        (["--start-from", folder, "--start-update"], "--start-update needs the update of a checkpoint"),
        (["--start-from"], "--start-from needs the folder of a run"),
        (["--start-from", "--seed", "3"], "--start-from needs the folder of a run"),
        (["--start-update", "7"], "--start-update 7 needs --start-from RUN"),
        (["--start-from", folder], "checkpoint is of update 40, and this configuration ends at 40"),
        (["--start-from", folder, "--start-update", str(first), "--minutes", "1e-9"], "Raise --minutes"),
    ]:
        assert _loci(tiny, tmp_path / "branch", *words) == 2, words
        told = capsys.readouterr().err
        assert sentence in told and "Traceback" not in told
    assert not (tmp_path / "branch").exists()

    begin = ["--start-from", folder, "--start-update", str(first)]
    assert _loci(tiny, run, *begin) == 2
    assert f"{folder} already holds a run. Go on with --resume {folder}, or choose another" in capsys.readouterr().err
    assert main(["train", *begin]) == 2
    assert f"Which recipe? Say loci train RECIPE --start-from {folder}" in capsys.readouterr().err
    assert _updates(run) == updates
