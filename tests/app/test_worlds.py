"""Balls and tables in the lab: laws of the world, things taken hold of on the way, dreams, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

from loci_looped.app.ball_world import BallWorld
from loci_looped.app.playback import ClipPlayback
from loci_looped.app.session import Session
from loci_looped.app.settings import Settings
from loci_looped.app.table_world import EXAMPLES as TABLE_EXAMPLES
from loci_looped.app.table_world import TableWorld
from loci_looped.app.wire import unpack
from loci_looped.app.worlds import world_called
from loci_looped.model.loci import LociLooped
from loci_looped.utils.errors import LociError

VIEW = (240, 360)


def balls() -> BallWorld:
    return BallWorld((64, 64), 3, VIEW)


def table() -> TableWorld:
    return TableWorld((48, 72), 6, VIEW)


def test_balls_that_collide_turn_and_those_that_pass_do_not() -> None:
    head_on = {"since": 0, "things": [
        {"place": [16, 32], "velocity": [2, 0], "colour": "red"},
        {"place": [48, 32], "velocity": [-2, 0], "colour": "blue"},
    ]}
    collide, through = (balls().playback({**head_on, "meeting": meeting}) for meeting in ("collide", "pass"))
    assert [thing["velocity"][0] for thing in collide.things(8)] == [-2, 2]
    assert [thing["velocity"][0] for thing in through.things(8)] == [2, -2]


@pytest.mark.parametrize("made", [balls, table])
def test_what_was_told_of_a_frame_goes_on_as_before(made: Any) -> None:
    world = made()
    opening = world.facts()["opening"]
    film, since = world.playback(opening), 10
    state = film.things(since)
    again = copy.deepcopy(opening)
    again["since"] = since
    for thing, now in zip(again["things"], state, strict=True):
        thing |= now
    later = world.playback(again)
    apart = [np.abs(np.subtract(a["place"], b["place"])).max() for a, b in
             zip(film.things(since + 6), later.things(since + 6), strict=True)]
    assert max(apart) < 0.05
    assert np.abs(film.shot(since)[0].astype(int) - later.shot(since)[0]).mean() < 2       # image noise


def test_things_of_the_table_bump_into_each_other() -> None:
    film = table().playback(table().example(TABLE_EXAMPLES[0], 0))
    resting = [thing["velocity"] for thing in film.things(0)]
    assert resting[0] == [0, 0]
    assert any(np.hypot(*film.things(number)[0]["velocity"]) > 0.1 for number in range(film.length))


@pytest.mark.parametrize("made", [balls, table])
def test_every_example_can_be_played(made: Any) -> None:
    world = made()
    for name in world.facts()["examples"]:
        film = world.playback(world.example(name, 4))
        picture, truth = film.shot(film.length - 1)
        assert picture.shape[:2] == world.size and truth is not None and "screen" not in truth.kinds
        assert film.view(1)[:2] == b"\xff\xd8"
    with pytest.raises(LociError, match="no example"):
        world.example("nonsense", 0)


@pytest.mark.parametrize("change, words", [
    ({"things": []}, "1 to 3 balls"),
    ({"things": [{"place": [32, 32], "velocity": [0, 0], "colour": "red"}] * 4}, "1 to 3 balls"),
    ({"things": [{"place": [32, 32], "velocity": [0, 0], "colour": "red"}] * 2}, "same place"),
    ({"things": [{"place": [32, 32], "velocity": [0, 99], "colour": "red"}]}, "velocity must hold numbers"),
    ({"things": [{"place": [32, float("nan")], "velocity": [0, 0], "colour": "red"}]}, "place must hold numbers"),
    ({"things": [{"place": [32, 32], "velocity": [0, 0], "colour": "beige"}]}, "colour"),
    ({"meeting": "merge"}, "collide or pass"),
    ({"since": -3}, "begins with frame 0"),
    ({"since": 1e9}, "since must hold numbers"),
])
def test_what_cannot_be_a_scene_of_balls_is_refused(change: dict[str, Any], words: str) -> None:
    world = balls()
    with pytest.raises(LociError, match=words):
        world.playback({**world.facts()["opening"], **change})


def test_balls_are_refused_by_networks_that_are_not_square() -> None:
    with pytest.raises(LociError, match="square box"):
        world_called("balls", (40, 60), 5, Settings())


def no_clip(name: str) -> ClipPlayback:
    raise LociError("no film")


def test_a_dream_needs_no_frames_and_a_ball_can_be_moved_meanwhile() -> None:
    torch.manual_seed(0)
    model = LociLooped("balls-small").eval()
    world = balls()
    session = Session(model, Settings(), no_clip, scenes=world)
    scene = world.facts()["opening"]

    def ask(kind: str, **rest: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return unpack(session.answer({"type": kind, **rest}))

    assert ask("open", scene=scene)[0]["length"] == 100
    first, parts = ask("next", dream=True)
    assert np.asarray(parts["seen"]).any()                  # the first frame is seen in any case
    dreamt, parts = ask("next", dream=True)
    assert not np.asarray(parts["seen"]).any()
    assert all(slot["gate"] == [0, 0] for slot in dreamt["slots"]) and dreamt["screen"] is None
    moved = copy.deepcopy(scene) | {"since": 1}
    for thing, now in zip(moved["things"], dreamt["things"], strict=True):
        thing |= now
    moved["things"][0]["place"] = [54, 54]
    assert ask("change", scene=moved)[0]["type"] == "changed"
    after, _ = ask("next", dream=True)
    assert after["things"][0]["place"][0] > 45
    assert first["things"][0]["place"] == [16, 24]
