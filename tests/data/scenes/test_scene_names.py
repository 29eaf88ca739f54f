"""Every scene has one name, and asking for it twice gives the same scene."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from loci_looped.configs.scenes import FAMILIES, SCENE_NAMES, VIOLATIONS, GeneratedKind, family_of
from loci_looped.data import scenes
from loci_looped.data.scenes.balls import Balls
from loci_looped.data.scenes.collide import Story
from loci_looped.data.scenes.scene import Scene
from loci_looped.data.store.generate import clip_name, specs_of
from loci_looped.utils.errors import LociError


@pytest.mark.parametrize("name", SCENE_NAMES)
def test_every_name_makes_its_scene(name: str) -> None:
    scene = scenes.make(name, 2)
    kind = {"vanish": Scene, "violations": Scene, "collide": Story, "balls": Balls}[family_of(name)]
    assert isinstance(scene, kind) and scenes.source_of(name, 2)
    if isinstance(scene, Scene):
        assert scenes.make(name, 2) == scene == scenes.make_scene(name, 2)


def test_sources_are_different_but_for_nothing() -> None:
    sources = [scenes.source_of(name, 0) for name in SCENE_NAMES]
    assert len(set(sources)) == len(sources)


def test_the_twins_differ_by_the_violation_alone() -> None:
    control = scenes.make_scene("vanish-control", 4)
    assert replace(scenes.make_scene("vanish-surprise", 4), violation=None) == control
    assert replace(control, movers=control.movers[:1]) == scenes.make_scene("vanish-control-1", 4)
    for kind in VIOLATIONS:
        violated = scenes.make_scene(f"violations-{kind}", 4)
        twin = scenes.make_scene(f"violations-{kind}-control", 4)
        assert violated.violation is not None and violated.violation.kind == kind
        assert replace(violated, violation=None, collisions=twin.collisions) == twin


def test_a_published_sequence_is_the_scene_of_its_seed() -> None:
    third = scenes.make("balls-occlusion-test", 3)
    assert isinstance(third, Balls) and third.seed is not None
    again = scenes.make("balls-occlusion", third.seed)
    assert isinstance(again, Balls) and np.array_equal(third.positions, again.positions)


@pytest.mark.parametrize("kind", get_args(GeneratedKind))
def test_every_generated_kind_is_made_of_known_scenes(kind: str) -> None:
    specs = specs_of(kind, range(14))
    assert {spec.kind for spec in specs} <= set(SCENE_NAMES)
    assert len({clip_name(spec) for spec in specs}) == len(specs) == (28 if kind.startswith("violations") else 14)
    assert {spec.size for spec in specs} == {FAMILIES[family_of(kind)].size}


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(LociError, match="no scene 'vanish-twice'; choose one of vanish, vanish-control"):
        scenes.make("vanish-twice", 0)
    with pytest.raises(LociError, match="not a scene with a screen"):
        scenes.make_scene("collide", 0)
    with pytest.raises(LociError, match="no places in a world"):
        scenes.motion_of("balls-occlusion", 0)
