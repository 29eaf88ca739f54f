"""Scene descriptions: courses over time, violations, and the way to JSON and back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loci_looped.configs.scenes import VIOLATIONS, ViolationKind
from loci_looped.data.render.scene_render import render_frame, render_scene
from loci_looped.data.scenes.scene import Mover, Scene, Screen, Violation, at_time
from loci_looped.data.scenes.scene_json import describe, scene_from
from loci_looped.data.scenes.vanish import training_scene
from loci_looped.data.scenes.violations import matched_scenes
from loci_looped.utils.errors import LociError

BALL = Mover("sphere", "red", 0.35, (-0.5, -2.0), (0.1, 1.0))


def test_courses() -> None:
    course = ((1.0, 90.0), (2.0, 0.0), (4.0, -90.0))
    assert [at_time(course, time) for time in (0, 1, 1.5, 2, 3, 4, 9)] == [90, 90, 45, 0, -45, -90, -90]
    turned = Mover("sphere", "red", 0.3, (0.0, 0.0), (0.0, 1.0), turns=((2.0, (0.0, 0.0)), (2.5, (0.0, -2.0))))
    assert [turned.place(time)[1] for time in (1.0, 2.0, 2.25, 2.5, 3.0, 4.0)] == pytest.approx([1, 2, 2, 2, 1, -1])


@pytest.mark.parametrize("kind", VIOLATIONS)
def test_a_violation_changes_nothing_before_its_moment(kind: ViolationKind) -> None:
    ball = replace(BALL, turns=((1.0, (0.0, -1.0)),)) if kind == "pass" else BALL
    violation = Violation(kind, 1.0, 0, jump=(0.0, 0.5), colour="blue", shape="cube")
    scene = Scene((ball,), violation=violation)
    if kind == "appear":
        assert not scene.mover(0, 0.9).is_present(0.9) and scene.mover(0, 1.0).is_present(1.0)
    else:
        assert scene.mover(0, 0.96) == ball
        after = scene.mover(0, 1.5)
        assert after != ball
        expected = {"vanish": (-0.35, -0.5), "teleport": (-0.35, 0.0), "colour": (-0.35, -0.5), "shape": (-0.35, -0.5),
                    "stop": (-0.4, -1.0), "pass": (-0.35, -0.5)}[kind]
        assert after.place(1.5) == pytest.approx(expected)
        assert after.is_present(1.5) == (kind != "vanish")


@pytest.mark.parametrize("scene", [training_scene(2), *(matched_scenes(kind, 3)[1] for kind in VIOLATIONS)])
def test_description_and_back(scene: Scene) -> None:
    assert scene_from(json.loads(json.dumps(describe(scene), allow_nan=False))) == scene


def test_old_descriptions_call_the_backdrop_a_stage() -> None:
    scene = training_scene(2)
    old = describe(scene)
    old["stage"] = old.pop("backdrop")
    assert scene_from(old) == scene


def test_a_short_description_takes_defaults() -> None:
    mover = {"shape": "cube", "colour": "blue", "size": 0.3, "start": [-1, 0], "velocity": [0, 0]}
    scene = scene_from({"movers": [mover]})
    assert scene.movers[0].size == 0.3 and scene.screen is None
    frame = render_frame(scene, 0, (40, 60))
    assert frame.visible_masks[0].any() and not np.isnan(frame.positions).any()


@pytest.mark.parametrize(("change", "told"), [
    ({"movers": 3}, r"scene\.movers is 3; it must be a list"),
    ({"movers": [{"shape": "cube"}]}, r"scene\.movers\[0\] lacks the entry 'colour'"),
    ({"wheels": 4}, r"scene has an entry 'wheels'"),
    ({"noise": "much"}, r"scene\.noise is 'much'; it must be a finite number"),
    ({"noise": float("nan")}, r"finite number"),
    ({"screen": {"x": 0, "y": 0, "half_width": 1, "half_height": -1, "colour": "red"}}, "positive half width"),
    ({"screen": {"x": 0, "y": 0, "half_width": 1, "half_height": 1, "colour": "pink"}}, "no colour 'pink'"),
    ({"violation": {"kind": "explode", "time": 1}}, r"scene\.violation\.kind is 'explode'; it must be one of vanish"),
    ({"violation": {"kind": "colour", "time": 1}}, "no new colour None"),
    ({"violation": {"kind": "vanish", "time": 1, "mover": 5}}, "names mover 5"),
    ({"fps": 0}, "frames per second"),
    ({"screen": {"x": 0, "y": 0, "half_width": 1, "half_height": 1, "colour": "red", "angle": [[1, 0], [1, 90]]}},
     "one after the other"),
    ({"backdrop": {"camera": {"position": [1, 2]}}}, r"scene\.backdrop\.camera\.position has 2 entries"),
])
def test_bad_descriptions_are_told(change: dict[str, Any], told: str) -> None:
    with pytest.raises(LociError, match=told):
        scene_from(describe(Scene((BALL,))) | change)


def test_events_are_counted_in_kept_frames() -> None:
    screen = Screen(0.2, 0.0, 0.8, 0.7, "blue", angle=((0.0, 0.0), (2.0, 0.0), (3.0, 90.0)))
    scene = Scene((BALL,), screen, violation=Violation("vanish", 1.0, 0), num_frames=100)
    clip = render_scene(scene, (32, 48), range(1, 100, 3))
    events = {event.kind: (event.frame, event.object) for event in clip.events}
    assert events["removed"] == events["violation"] == (8, 0)     # frame 25 = 1 s is kept as number 8
    assert events["screen_falls"] == (17, 1)                      # 2 s is frame 50, the next one kept is 52
    with pytest.raises(LociError, match="at least one frame"):
        render_scene(scene, (32, 48), [])
    with pytest.raises(LociError, match="between 8 and 4096"):
        render_scene(scene, (2, 48), [0])
