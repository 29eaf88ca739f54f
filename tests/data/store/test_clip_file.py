"""Clips on disk: what comes back is what was written, and damage is told in a sentence."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.store.clip_file import clip_files, load_clip, load_pixels, save_clip
from loci_looped.utils.errors import LociError


def some_clip(length: int = 5, height: int = 9, width: int = 13, objects: int | None = 2, seed: int = 0) -> Clip:
    random = np.random.default_rng(seed)
    frames = random.integers(0, 256, (length, height, width, 3), dtype=np.uint8)
    truth = None
    if objects is not None:
        whole = random.random((length, objects, height, width)) < 0.5
        positions = random.normal(size=(length, objects, 2)).astype(np.float32)
        positions[0] = np.nan
        truth = ObjectTruth(
            names=tuple(f"red thing {index}" for index in range(objects)), kinds=("mover",) * objects,
            positions=positions, visible_masks=whole & (random.random(whole.shape) < 0.5), object_masks=whole,
            depths=random.random((length, objects)).astype(np.float32),
        )
    return Clip(frames, frames[0], truth, (Event("removed", 2, 1), Event("screen_falls", 4)), seed, "test/some",
                {"focal_at_480": 525.0, "position": [1.0, 2.0, 3.0]})


def assert_same(clip: Clip, other: Clip) -> None:
    assert np.array_equal(clip.frames, other.frames) and np.array_equal(clip.background, other.background)
    assert (clip.events, clip.seed, clip.source, clip.camera) == (other.events, other.seed, other.source, other.camera)
    assert (clip.truth is None) == (other.truth is None)
    if clip.truth is not None and other.truth is not None:
        assert (clip.truth.names, clip.truth.kinds) == (other.truth.names, other.truth.kinds)
        for name in ("positions", "visible_masks", "object_masks", "depths"):
            one, two = getattr(clip.truth, name), getattr(other.truth, name)
            assert one.dtype == two.dtype and np.array_equal(one, two, equal_nan=one.dtype == np.float32), name


@settings(max_examples=25, deadline=None)
@given(length=st.integers(1, 4), height=st.integers(1, 9), width=st.integers(1, 19),
       objects=st.one_of(st.none(), st.integers(0, 3)))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, length: int, height: int, width: int,
                    objects: int | None) -> None:
    clip = some_clip(length, height, width, objects)
    path = save_clip(clip, tmp_path_factory.mktemp("clips") / "one")
    assert path.suffix == ".clip"
    assert_same(load_clip(path), clip)


def test_frames_are_memory_mapped_and_masks_packed(tmp_path: Path) -> None:
    clip = some_clip(20, 32, 48)
    path = save_clip(clip, tmp_path / "one.clip")
    assert isinstance(load_pixels(path)[0], np.memmap)
    masks = 2 * clip.frames.shape[0] * 2 * 32 * 48 // 8
    assert path.stat().st_size < clip.frames.nbytes + clip.background.nbytes + masks + 3000
    assert set(load_file(path)) >= {"frames", "background", "visible_masks"}     # any safetensors library reads it


def test_same_clip_same_bytes(tmp_path: Path) -> None:
    first, second = save_clip(some_clip(), tmp_path / "a.clip"), save_clip(some_clip(), tmp_path / "b.clip")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("keep", [0, 5, 100, 0.5, -1])
def test_cut_off_file(tmp_path: Path, keep: float) -> None:
    path = save_clip(some_clip(), tmp_path / "one.clip")
    content = path.read_bytes()
    path.write_bytes(content[:int(len(content) * keep) if 0 < keep < 1 else int(keep)])
    with pytest.raises(LociError, match=r"one\.clip .*(cut off|not a clip).*again"):
        load_clip(path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_changed_byte_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = save_clip(some_clip(2, 4, 5), tmp_path_factory.mktemp("clips") / "one.clip")
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        clip = load_clip(path)
    except LociError as error:
        assert "one.clip" in str(error)
    else:       # JSON allows some changes that mean nothing, such as the padding after the header
        assert_same(clip, some_clip(2, 4, 5))


def test_other_layouts_and_other_files(tmp_path: Path) -> None:
    path = save_clip(some_clip(), tmp_path / "one.clip")
    path.write_bytes(path.read_bytes().replace(b'"schema": "1"', b'"schema": "9"'))
    with pytest.raises(LociError, match="layout 9"):
        load_clip(path)
    (tmp_path / "two.clip").write_text("a text that is long enough to be taken for a header")
    with pytest.raises(LociError, match=r"two\.clip is not a clip"):
        load_clip(tmp_path / "two.clip")
    header = json.dumps({"frames": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    (tmp_path / "three.clip").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    with pytest.raises(LociError, match=r"three\.clip is not a clip"):
        load_clip(tmp_path / "three.clip")
    with pytest.raises(LociError, match="There is no clip"):
        load_clip(tmp_path / "four.clip")
    with pytest.raises(LociError, match="loci generate"):
        clip_files(tmp_path / "nowhere")


def test_no_room_on_the_disk(tmp_path: Path) -> None:
    """A real limit of the file size, in a process of its own: the old file stays, nothing half-written is left."""
    path = save_clip(some_clip(), tmp_path / "one.clip")
    before = path.read_bytes()
    script = f"""
import resource, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_clip_file import some_clip
from loci_looped.data.store.clip_file import save_clip
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    save_clip(some_clip(100, 40, 60), {str(path)!r})
except ValueError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "could not be written" in told and "one.clip" in told
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["one.clip"]


def test_saving_a_loaded_clip_over_itself(tmp_path: Path) -> None:
    path = save_clip(some_clip(), tmp_path / "one.clip")
    save_clip(replace(load_clip(path), source="renamed"), path)
    assert load_clip(path).source == "renamed"
    assert np.array_equal(load_clip(path).frames, some_clip().frames)
