"""Where clips come from, and what is said before training if they do not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from squares import SIZE, square_clip

from loci_looped.configs.scenes import TrainingScene
from loci_looped.configs.training import TrainConfig
from loci_looped.data import scenes
from loci_looped.data.clip import Clip, ObjectTruth
from loci_looped.data.render.clips import make_clip
from loci_looped.data.store.clip_file import save_clip
from loci_looped.training.clips import MOST_OBJECTS, open_dataset
from loci_looped.utils.errors import LociError

Change = Callable[..., TrainConfig]


def _with_objects(count: int) -> Clip:
    clip = square_clip(0)
    shape = (len(clip), count)
    masks = np.zeros((*shape, *SIZE), dtype=bool)
    return Clip(clip.frames, clip.background, ObjectTruth(
        ("thing",) * count, ("mover",) * count, np.zeros((*shape, 2), np.float32), masks, masks,
        np.zeros(shape, np.float32),
    ))


def test_batches_depend_on_seed_and_number_alone(tiny: TrainConfig, changed: Change) -> None:
    first, again = open_dataset(tiny, SIZE), open_dataset(tiny, SIZE)
    assert first.batch_at(7).frames.shape == (2, 13, 3, *SIZE)
    assert torch.equal(first.batch_at(7).frames, again.batch_at(7).frames)
    other = open_dataset(changed(tiny, seed=1), SIZE)
    assert [first.batch_at(n).clips for n in range(9)] != [other.batch_at(n).clips for n in range(9)]


def test_a_stride_begins_anywhere_in_the_first_stride(tiny: TrainConfig, changed: Change) -> None:
    whole, strided = open_dataset(tiny, SIZE), open_dataset(changed(tiny, **{"data.stride": 3}), SIZE)
    starts = set()
    for number in range(12):
        frames, kept = whole.batch_at(number).frames, strided.batch_at(number).frames
        (start,) = (s for s in range(3) if kept.shape == frames[:, s::3].shape and torch.equal(kept, frames[:, s::3]))
        starts.add(start)
        assert torch.equal(kept, strided.batch_at(number).frames)
    assert starts == {0, 1, 2}


def test_clips_of_a_folder_are_shown_in_a_mirror_half_of_the_time(tiny: TrainConfig, changed: Change) -> None:
    plain = open_dataset(tiny, SIZE)
    mirrored = open_dataset(changed(tiny, **{"data.mirrored": True}), SIZE)
    turned = []
    for number in range(12):
        before, after = plain.batch_at(number), mirrored.batch_at(number)
        assert before.clips == after.clips and torch.equal(after.frames, mirrored.batch_at(number).frames)
        for clip in range(len(before.clips)):
            same = torch.equal(after.frames[clip], before.frames[clip])
            turned.append(not same)
            expected = before.frames[clip] if same else before.frames[clip].flip(-1)
            behind = before.background[clip] if same else before.background[clip].flip(-1)
            assert torch.equal(after.frames[clip], expected) and torch.equal(after.background[clip], behind)
    assert 6 < sum(turned) < 18


def test_generated_clips_are_cached_and_reused(
    tiny: TrainConfig, changed: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path))
    config = changed(tiny, **{
        "data.folder": "", "data.world": "balls-interaction", "data.clips": 3, "model.latent": (16, 16)
    })
    told: list[tuple[int, int]] = []
    first = open_dataset(config, (64, 64), lambda done, total: told.append((done, total))).batch_at(0)
    assert told[-1] == (3, 3) and list(tmp_path.iterdir()) == [tmp_path / "balls-interaction-64x64-seed0-3"]
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    again = open_dataset(config, (64, 64)).batch_at(0)
    assert torch.equal(first.frames, again.frames)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")} == files


@pytest.mark.parametrize(("fields", "size", "sentence"), [
    ({"data.folder": "", "data.clips": 3, "data.batch": 8}, SIZE, "3 clips cannot fill a batch of 8"),
    ({"data.batch": 8}, SIZE, "6 clips to learn from, which cannot fill a batch of 8"),
    ({"data.batch": 0}, SIZE, "at least 1"),
    ({"data.stride": 0}, SIZE, "at least 1"),
    ({"data.stride": 12}, SIZE, "fewer than two"),
    ({"data.length": 1}, SIZE, "at least two"),
    ({"data.folder": "", "model.slots": 3}, SIZE, r"up to 4 objects in clips of the world vanish.*--model.slots 4"),
    ({"data.folder": "/nowhere/at/all"}, SIZE, "/nowhere/at/all"),
])
def test_what_does_not_fit_is_said_before_training(
    fields: dict[str, Any], size: tuple[int, int], sentence: str, tiny: TrainConfig, changed: Change, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path))
    with pytest.raises(LociError, match=sentence):
        open_dataset(changed(tiny, **fields), size)
    assert list(tmp_path.iterdir()) == []       # nothing was generated for nothing


def test_a_stored_clip_with_more_objects_than_slots_is_named(
    tiny: TrainConfig, changed: Change, tmp_path: Path
) -> None:
    save_clip(_with_objects(2), tmp_path / "a.clip")
    save_clip(_with_objects(5), tmp_path / "b.clip")
    config = changed(tiny, **{"data.folder": str(tmp_path)})
    with pytest.raises(LociError, match=r"up to 5 objects in .*b\.clip, but the network has only 4 slots"):
        open_dataset(config, SIZE)
    assert open_dataset(changed(config, **{"model.slots": 5}), SIZE).dataset is not None


def test_the_known_numbers_of_objects_are_those_of_the_generators() -> None:
    assert set(MOST_OBJECTS) == set(get_args(TrainingScene))
    for kind in ("vanish", "collide"):
        counts = [scenes.motion_of(kind, seed).half_extents.shape[0] for seed in range(24)]
        assert max(counts) == MOST_OBJECTS[kind]
    for kind in ("balls-interaction", "balls-occlusion"):
        clip = make_clip(kind, 0)
        assert clip.truth is not None and clip.truth.count == MOST_OBJECTS[kind]
