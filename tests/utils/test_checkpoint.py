"""A checkpoint is whole or absent, whatever happens while it is written."""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from loci_looped.utils import checkpoint as checkpoint_of
from loci_looped.utils.checkpoint import (
    STATE,
    Checkpoint,
    checkpoints,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from loci_looped.utils.errors import LociError


def _checkpoint(update: int) -> Checkpoint:
    laid_out = torch.arange(24.0).view(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    weights = {"a": laid_out + update, "b": torch.tensor(3, dtype=torch.uint8)}
    return Checkpoint(
        update, {"weights": weights, "optimiser": {"a|step": torch.ones(())}},
        {"calls": 7, "means": {"loss": 0.1 + 0.2}, "config": {"steps": [[1, 2.5]]}},
    )


def _same(ours: Checkpoint, theirs: Checkpoint) -> None:
    assert ours.update == theirs.update and ours.values == theirs.values
    assert set(ours.tensors) == set(theirs.tensors)
    for name, tensors in ours.tensors.items():
        assert all(torch.equal(value, theirs.tensors[name][key]) for key, value in tensors.items())


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "run", _checkpoint(12))
    assert path.name == "update-000000012"
    _same(read_checkpoint(path), _checkpoint(12))


def test_only_the_last_few_are_kept(tmp_path: Path) -> None:
    for update in (1, 20, 300, 4000, 50000):
        write_checkpoint(tmp_path, _checkpoint(update))
    assert [int(path.name[-9:]) for path in checkpoints(tmp_path)] == [300, 4000, 50000]
    assert newest_checkpoint(tmp_path).update == 50000


def test_milestones_are_kept_beside_the_last_few(tmp_path: Path) -> None:
    for update in (1, 20, 300, 4000, 50000, 60000):
        write_checkpoint(tmp_path, _checkpoint(update), spared=[20])
    assert [int(path.name[-9:]) for path in checkpoints(tmp_path)] == [20, 4000, 50000, 60000]


@pytest.mark.parametrize("damage", ["cut", "flip", "gone", "state", "empty folder", "other version"])
def test_a_damaged_newest_one_is_passed_over_with_a_warning(damage: str, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, _checkpoint(1))
    newest = write_checkpoint(tmp_path, _checkpoint(2))
    weights, state = newest / "weights.safetensors", newest / STATE
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-5])
    elif damage == "flip":
        content = bytearray(weights.read_bytes())
        content[-1] ^= 1
        weights.write_bytes(content)
    elif damage == "gone":
        weights.unlink()
    elif damage == "state":
        state.write_text(state.read_text()[:40])
    elif damage == "empty folder":
        shutil.rmtree(newest)
        newest.mkdir()
    else:
        state.write_text(state.read_text().replace('"version": 1', '"version": 99'))
    with pytest.warns(UserWarning, match=r"update-000000002.* Falling back to the checkpoint before it"):
        found = newest_checkpoint(tmp_path)
    _same(found, _checkpoint(1))


def test_nothing_whole_is_said(tmp_path: Path) -> None:
    with pytest.raises(LociError, match="There is no checkpoint in"):
        newest_checkpoint(tmp_path)
    (write_checkpoint(tmp_path, _checkpoint(1)) / STATE).unlink()
    with warnings.catch_warnings(), pytest.raises(LociError, match="None of the 1 checkpoints"):
        warnings.simplefilter("ignore")
        newest_checkpoint(tmp_path)


@pytest.mark.parametrize("last_write", [0, 1, 2])
def test_a_full_disk_leaves_the_one_before_and_says_so(
    last_write: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills up at the first, second and third file; half of it is still written."""
    write_checkpoint(tmp_path, _checkpoint(1))
    real, calls = checkpoint_of._write, []

    def fills_up(path: Path, content: bytes) -> None:
        calls.append(path)
        if len(calls) > last_write:
            path.write_bytes(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr(checkpoint_of, "_write", fills_up)
    with pytest.raises(LociError, match=r"update 2 could not be written to .*No space left on device.*intact"):
        write_checkpoint(tmp_path, _checkpoint(2))
    assert [path.name for path in tmp_path.iterdir()] == ["update-000000001"]
    _same(newest_checkpoint(tmp_path), _checkpoint(1))


def test_a_real_limit_on_file_size_is_a_full_disk(tmp_path: Path) -> None:
    import resource
    import signal

    write_checkpoint(tmp_path, _checkpoint(1))
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        with pytest.raises(LociError, match="could not be written"):
            write_checkpoint(tmp_path, _checkpoint(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert newest_checkpoint(tmp_path).update == 1


@pytest.mark.parametrize("moment", ["_write", "_sync", "os.replace"])
def test_a_kill_while_writing_leaves_the_one_before(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is tidied up after a kill; the next checkpoint does it."""
    class Killed(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Killed

    write_checkpoint(tmp_path, _checkpoint(1))
    with monkeypatch.context() as patched:
        patched.setattr(os if moment == "os.replace" else checkpoint_of, moment.removeprefix("os."), die)
        with pytest.raises(Killed):
            write_checkpoint(tmp_path, _checkpoint(2))
    _same(newest_checkpoint(tmp_path), _checkpoint(1))
    assert len(list(tmp_path.iterdir())) == 2
    write_checkpoint(tmp_path, _checkpoint(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["update-000000001", "update-000000002"]


def test_a_second_checkpoint_of_an_update_replaces_only_a_damaged_one(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, _checkpoint(5))
    before = (path / STATE).stat().st_ino
    write_checkpoint(tmp_path, _checkpoint(5))
    assert (path / STATE).stat().st_ino == before
    (path / STATE).write_text("{")
    write_checkpoint(tmp_path, _checkpoint(5))
    _same(read_checkpoint(path), _checkpoint(5))
