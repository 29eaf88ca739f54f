"""Test sets and the cache of their films: the paper's mixture, equal films once, damage repaired."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clairvoyant import clip_of

from loci_looped.data.clip import Clip
from loci_looped.data.scenes import vanish
from loci_looped.data.store.clip_file import save_clip
from loci_looped.evaluation.experiments import clip_specs
from loci_looped.evaluation.experiments.clip_specs import (
    BallsTake,
    CollideTake,
    VanishTake,
    cached_file,
    collide_takes,
    film,
    fitted,
    make_films,
)
from loci_looped.evaluation.experiments.test_sets import (
    PAPER,
    composition,
    control_take,
    pair_takes,
    seeds_of,
    stored_items,
    vanish_items,
)
from loci_looped.utils.errors import LociError

SIZE = (10, 15)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_default_is_the_papers_mixture() -> None:
    assert (PAPER.two_movers, PAPER.one_mover, PAPER.surprise, PAPER.total) == (16, 19, 11, 46)
    assert composition() == PAPER and composition(46) == PAPER
    for scenes in range(1, 60):
        mixture = composition(scenes)
        assert mixture.total == scenes and mixture.two_movers >= 1 and mixture.one_mover >= 0
    held_out = composition(50, movers=2)
    assert (held_out.two_movers, held_out.one_mover, held_out.surprise) == (50, 0, 0)


@pytest.mark.parametrize("wrong", [{"scenes": 0}, {"scenes": -3}, {"movers": 3}])
def test_impossible_mixtures_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(LociError, match=r"--scenes|--movers"):
        composition(**wrong)


def test_every_scene_has_a_seed_of_its_own() -> None:
    items = vanish_items(composition(6), SIZE, seed=40)
    assert seeds_of(items) == list(range(40, 46))
    assert [item.set for item in items] == ["control"] * 5 + ["surprise"]
    movers = [len(item.take.scene.movers) for item in items if isinstance(item.take, VanishTake)]
    assert movers == [2, 2, 2, 1, 1, 2]
    with pytest.raises(LociError, match="from 0 on"):
        vanish_items(PAPER, SIZE, seed=-1)


def test_films_are_those_of_the_generator_and_are_made_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = control_take(3, 2, SIZE)
    first = film(take)
    expected = vanish.control_clip(3, 2, SIZE)
    assert np.array_equal(first.frames, expected.frames) and first.source == expected.source == "vanish/control-2"
    assert cached_file(take).is_file() and cached_file(take).is_relative_to(cache)
    monkeypatch.setattr(vanish, "film_test", lambda *_: pytest.fail("made again"))
    again = film(take)
    assert np.array_equal(again.frames, first.frames) and again.seed == 3
    assert np.array_equal(again.truth.visible_masks, first.truth.visible_masks)     # type: ignore[union-attr]


def test_the_control_of_a_pair_is_the_control_scene_itself() -> None:
    (control, violation), = pair_takes("colour", 1, SIZE, seed=3)
    assert control.key() == control_take(3, 2, SIZE).key() != violation.key()
    assert control.key() != control_take(3, 2, (12, 18)).key()
    assert control.name(clip_of(9)).source == "vanish/colour-control"


def test_a_damaged_film_is_made_again() -> None:
    take = control_take(5, 1, SIZE)
    first = film(take)
    cached_file(take).write_bytes(b"not a clip")
    assert np.array_equal(film(take).frames, first.frames)
    assert cached_file(take).stat().st_size > 1000


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "file"))
    assert len(film(control_take(5, 1, SIZE))) == 80


def test_missing_films_are_made_once_each_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[int] = []
    wanted = [control_take(1, 1, SIZE), control_take(1, 1, SIZE), control_take(2, 1, SIZE)]
    make_films(wanted, on_progress=lambda label, done, total: reported.append(done * 10 + total))
    assert reported == [2, 12, 22] and all(cached_file(take).is_file() for take in wanted)
    make_films(wanted, on_progress=lambda *_: pytest.fail("nothing is missing"))


def test_another_version_of_the_generator_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cached_file(control_take(1, 1, SIZE))
    monkeypatch.setattr(clip_specs, "generator_version", lambda: "another")
    assert cached_file(control_take(1, 1, SIZE)).parent != before.parent


def test_table_scenes_are_slotformers_clips() -> None:
    chosen = collide_takes(2, 0, (16, 24))
    assert len({take.seed for take in chosen}) == 2
    clip = chosen[0].make()
    assert len(clip) == 48 and clip.size == (16, 24)
    # Nobody comes into view after the burn-in.
    assert clip.truth is not None
    inside = clip.truth.in_image()
    assert not (inside[6:].any(axis=0) & ~inside[:6].any(axis=0)).any()
    assert CollideTake(1, 0, SIZE).key() != CollideTake(1, 2, SIZE).key()


def test_balls_come_at_the_networks_size_with_their_truth() -> None:
    whole, half = BallsTake("interaction", 0, (64, 64), 20).make(), BallsTake("interaction", 0, (32, 32), 20).make()
    assert whole.size == (64, 64) and half.size == (32, 32) and len(whole) == len(half) == 20
    assert whole.truth is not None and half.truth is not None
    # The same place as a share of the image, edge to edge.
    assert np.allclose((whole.truth.positions + 0.5) / 64, (half.truth.positions + 0.5) / 32, atol=1e-5)


def test_a_clip_of_another_shape_is_refused() -> None:
    with pytest.raises(LociError, match="another shape of picture"):
        fitted(clip_of(0), (64, 64))
    assert fitted(clip_of(0), (12, 18)).size == (12, 18)


def test_stored_clips_are_told_apart_by_what_is_taken_away(tmp_path: Path) -> None:
    for index, clip in enumerate((clip_of(0), clip_of(1, surprise=True), clip_of(2))):
        save_clip(clip, tmp_path / f"film_{index}.clip")
    items = stored_items(tmp_path, (24, 36))
    assert [item.set for item in items] == ["control", "surprise", "control"]
    stored: Clip = film(items[1].take)
    assert np.array_equal(stored.frames, clip_of(1, surprise=True).frames)
