"""Clip specs and the cache of their clips: equal clips once, damage repaired, never those of another version."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clairvoyant import clip_of

import loci_looped.data
from loci_looped.data.render.clips import make_clip
from loci_looped.data.store import clip_cache, clip_spec
from loci_looped.data.store.clip_cache import cached_clip, cached_file, fill_cache, source_fingerprint
from loci_looped.data.store.clip_file import save_clip
from loci_looped.data.store.clip_spec import ClipSpec, StoredClip
from loci_looped.utils.errors import LociError

SIZE = (10, 15)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def control(seed: int, movers: int = 1) -> ClipSpec:
    return ClipSpec("vanish-control" if movers == 2 else "vanish-control-1", seed, SIZE)


def test_clips_are_those_of_the_generator_and_are_made_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = control(3, movers=2)
    first = cached_clip(spec)
    expected = make_clip("vanish-control", 3, SIZE)
    assert np.array_equal(first.frames, expected.frames) and first.source == expected.source == "vanish/control-2"
    assert cached_file(spec).is_file() and cached_file(spec).is_relative_to(cache)
    monkeypatch.setattr(clip_spec, "make_clip", lambda *_: pytest.fail("made again"))
    again = cached_clip(spec)
    assert np.array_equal(again.frames, first.frames) and again.seed == 3
    assert np.array_equal(again.truth.visible_masks, first.truth.visible_masks)     # type: ignore[union-attr]


def test_the_control_of_a_pair_is_the_control_scene_itself() -> None:
    twin, violation = (ClipSpec(f"violations-colour{end}", 3, SIZE) for end in ("-control", ""))
    assert twin.key() == control(3, movers=2).key() != violation.key()
    assert twin.key() != ClipSpec(twin.kind, 3, (12, 18)).key()
    cached_clip(control(3, movers=2))
    assert cached_clip(twin).source == "vanish/colour-control"


def test_other_frames_and_other_seeds_are_other_clips() -> None:
    keys = {ClipSpec("collide", seed, SIZE, frames).key() for seed in (1, 2) for frames in (None, range(8), range(9))}
    assert len(keys) == 6
    assert ClipSpec("collide", 1, SIZE).key() == ClipSpec("collide", 1, SIZE, range(128)).key()


def test_a_damaged_clip_is_made_again() -> None:
    spec = control(5)
    first = cached_clip(spec)
    cached_file(spec).write_bytes(b"not a clip")
    assert np.array_equal(cached_clip(spec).frames, first.frames)
    assert cached_file(spec).stat().st_size > 1000


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "file"))
    assert len(cached_clip(control(5))) == 80


def test_missing_clips_are_made_once_each_and_reported() -> None:
    reported: list[int] = []
    wanted = [control(1), control(1), control(2)]
    fill_cache(wanted, on_progress=lambda label, done, total: reported.append(done * 10 + total))
    assert reported == [2, 12, 22] and all(cached_file(spec).is_file() for spec in wanted)
    fill_cache(wanted, on_progress=lambda *_: pytest.fail("nothing is missing"))


def test_another_version_of_the_generator_has_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cached_file(control(1))
    monkeypatch.setattr(clip_cache, "generator_version", lambda: "another")
    assert cached_file(control(1)).parent != before.parent


def test_the_version_covers_every_source_file_however_deep(tmp_path: Path) -> None:
    assert clip_cache.generator_version() == source_fingerprint(Path(str(loci_looped.data.__file__)).parent)
    (tmp_path / "render" / "deep").mkdir(parents=True)
    files = [tmp_path / "clip.py", tmp_path / "render" / "draw.py", tmp_path / "render" / "deep" / "ray.py"]
    seen = {source_fingerprint(tmp_path)}
    for file in files:
        for text in ("a = 1", "a = 2"):
            file.write_text(text)
            seen.add(source_fingerprint(tmp_path))
    assert len(seen) == 7
    files[0].rename(tmp_path / "coordinates.py")
    assert source_fingerprint(tmp_path) not in seen
    before = source_fingerprint(tmp_path)
    (tmp_path / "notes.txt").write_text("no source")
    assert source_fingerprint(tmp_path) == before


def test_balls_come_at_the_networks_size_with_their_truth() -> None:
    whole, half = (ClipSpec("balls-interaction-test", 0, size, range(20)).make() for size in ((64, 64), (32, 32)))
    assert whole.size == (64, 64) and half.size == (32, 32) and len(whole) == len(half) == 20
    assert whole.truth is not None and half.truth is not None
    # The same place as a share of the image, edge to edge.
    assert np.allclose((whole.truth.positions + 0.5) / 64, (half.truth.positions + 0.5) / 32, atol=1e-5)
    assert all(event.frame < 20 for event in whole.events)


def test_a_stored_clip_of_another_shape_is_refused(tmp_path: Path) -> None:
    file = save_clip(clip_of(0), tmp_path / "wide")
    with pytest.raises(LociError, match="another shape of picture"):
        StoredClip(file, (64, 64)).make()
    assert StoredClip(file, (12, 18)).make().size == (12, 18)
