"""Batches for training: the same from any starting point, each epoch in its own order, from disk or from seeds."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from loci_looped.data.clip import Clip
from loci_looped.data.store import shards
from loci_looped.data.store.dataset import generated_dataset
from loci_looped.utils.errors import LociError


def tiny_clip(seed: int) -> Clip:
    """Cheap clips that can be told apart: every pixel of frame t is 10 * seed + t."""
    frames = np.zeros((4, 6, 9, 3), dtype=np.uint8) + (10 * seed + np.arange(4, dtype=np.uint8))[:, None, None, None]
    return Clip(frames, np.full((6, 9, 3), 200 + seed, dtype=np.uint8), seed=seed, source="tiny")


def test_batches_are_floats_of_the_right_shape() -> None:
    batch = generated_dataset(tiny_clip, range(5), batch_size=2).batch_at(0)
    assert batch.frames.shape == (2, 4, 3, 6, 9) and batch.background.shape == (2, 3, 6, 9)
    assert batch.frames.dtype == torch.float32 and batch.frames.is_contiguous()
    for row, clip in enumerate(batch.clips):
        assert torch.allclose(batch.frames[row, 3] * 255, torch.tensor(10.0 * clip + 3))
        assert torch.allclose(batch.background[row] * 255, torch.tensor(200.0 + clip))


def test_an_epoch_shows_every_clip_once_and_epochs_differ() -> None:
    dataset = generated_dataset(tiny_clip, range(12), batch_size=4, seed=7)
    epochs = [[clip for n in range(3) for clip in dataset.batch_at(3 * epoch + n).clips] for epoch in range(3)]
    assert all(sorted(epoch) == list(range(12)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    other = generated_dataset(tiny_clip, range(12), batch_size=4, seed=8)
    assert [clip for n in range(3) for clip in other.batch_at(n).clips] != epochs[0]


def test_resuming_at_batch_n_continues_the_sequence() -> None:
    whole = [batch.clips for batch in islice(generated_dataset(tiny_clip, range(7), batch_size=2).batches(), 10)]
    rest = [batch.clips for batch in islice(generated_dataset(tiny_clip, range(7), batch_size=2).batches(6), 4)]
    assert whole[6:] == rest


def test_cache_gives_the_same_batches_and_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "CLIPS_PER_SHARD", 3)
    asked: list[int] = []

    def counted(seed: int) -> Clip:
        asked.append(seed)
        return tiny_clip(seed)

    told: list[tuple[int, int]] = []
    cached = generated_dataset(counted, range(7), batch_size=3, cache=tmp_path,
                               on_progress=lambda done, of: told.append((done, of)))
    assert told == [(3, 7), (6, 7), (7, 7)] and len(asked) == 8
    fresh = generated_dataset(tiny_clip, range(7), batch_size=3)
    for number in range(4):
        assert torch.equal(cached.batch_at(number).frames, fresh.batch_at(number).frames)
        assert torch.equal(cached.batch_at(number).background, fresh.batch_at(number).background)
    generated_dataset(counted, range(7), batch_size=3, cache=tmp_path)
    assert len(asked) == 9      # only the first clip, to see whether the cache is still true


def test_an_interrupted_cache_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "CLIPS_PER_SHARD", 2)

    def dies(seed: int) -> Clip:
        if seed == 5:
            raise KeyboardInterrupt
        return tiny_clip(seed)

    with pytest.raises(KeyboardInterrupt):
        generated_dataset(dies, range(8), batch_size=2, cache=tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["shard-00000.npy", "shard-00001.npy", "shards.json"]
    whole = generated_dataset(tiny_clip, range(8), batch_size=2, cache=tmp_path)
    assert torch.allclose(whole[7][0] * 255, 70 + torch.arange(4.0)[:, None, None, None].expand(4, 3, 6, 9))


def test_a_cache_of_something_else_is_refused(tmp_path: Path) -> None:
    generated_dataset(tiny_clip, range(4), batch_size=2, cache=tmp_path)
    with pytest.raises(LociError, match="Choose another folder or delete it"):
        generated_dataset(tiny_clip, range(5), batch_size=2, cache=tmp_path)
    with pytest.raises(LociError, match="another version of the generator"):
        generated_dataset(lambda seed: tiny_clip(seed + 1), range(4), batch_size=2, cache=tmp_path)
    (tmp_path / "shard-00000.npy").write_bytes(b"\x93NUMPY nothing")
    with pytest.raises(LociError, match="Delete it: it will be made again"):
        generated_dataset(tiny_clip, range(4), batch_size=2, cache=tmp_path)
