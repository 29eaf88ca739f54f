"""Test sets: the paper's mixture, a seed for every scene, pairs, and clips of the user's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clairvoyant import clip_of

from loci_looped.data.store.clip_file import save_clip
from loci_looped.evaluation.experiments.test_sets import (
    PAPER,
    composition,
    pair_specs,
    set_of,
    stored_specs,
    vanish_specs,
)
from loci_looped.utils.errors import LociError

SIZE = (10, 15)


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
    specs = vanish_specs(composition(6), SIZE, seed=40)
    assert [spec.seed for spec in specs] == list(range(40, 46))
    assert [spec.kind for spec in specs] == ["vanish-control"] * 3 + ["vanish-control-1"] * 2 + ["vanish-surprise"]
    with pytest.raises(LociError, match="from 0 on"):
        vanish_specs(PAPER, SIZE, seed=-1)


def test_a_clip_with_an_impossible_event_is_of_the_surprise_set() -> None:
    (control, violation), = pair_specs("colour", 1, SIZE, seed=3)
    assert (set_of(control.make()), set_of(violation.make())) == ("control", "surprise")


def test_stored_clips_are_told_apart_by_what_is_taken_away(tmp_path: Path) -> None:
    for index, clip in enumerate((clip_of(0), clip_of(1, surprise=True), clip_of(2))):
        save_clip(clip, tmp_path / f"film_{index}.clip")
    clips = [spec.make() for spec in stored_specs(tmp_path, (24, 36))]
    assert [set_of(clip) for clip in clips] == ["control", "surprise", "control"]
    assert np.array_equal(clips[1].frames, clip_of(1, surprise=True).frames)
