from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch

from loci_looped.app.playback import ClipPlayback
from loci_looped.app.scenes import EXAMPLES, example, lab_scene, opening_scene
from loci_looped.app.session import Session
from loci_looped.app.settings import Settings
from loci_looped.app.wire import Part, pack, read_request, unpack
from loci_looped.data.coordinates import from_pixels, inside
from loci_looped.data.scenes.scene_json import describe
from loci_looped.inference.watch import watch
from loci_looped.model.loci import LociLooped
from loci_looped.utils.errors import LociError


def no_clip(name: str) -> ClipPlayback:
    raise LociError("no film")


@pytest.fixture
def session(network: LociLooped) -> Session:
    return Session(network, Settings(), no_clip)


def scene() -> dict[str, Any]:
    copied: dict[str, Any] = json.loads(json.dumps(describe(opening_scene())))
    return copied


def ask(session: Session, kind: str, **rest: Any) -> tuple[dict[str, Any], dict[str, Part]]:
    return unpack(session.answer({"type": kind, **rest}))


def array(part: Part) -> np.ndarray:
    assert isinstance(part, np.ndarray)
    return part


def codes(header: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("gestalt", "position", "size", "priority")
    return [{**{name: slot[name] for name in names}, "bound": k < 2} for k, slot in enumerate(header["slots"])]


def test_messages_survive_packing() -> None:
    picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    header, parts = unpack(pack({"type": "x", "n": 1}, {"a": picture, "b": b"jpeg"}))
    assert header == {"type": "x", "n": 1} and parts["b"] == b"jpeg"
    assert np.array_equal(array(parts["a"]), picture)


def test_a_scene_is_opened_and_played_to_its_end(session: Session) -> None:
    short = {**scene(), "num_frames": 7}
    header, parts = ask(session, "open", scene=short)
    assert header["length"] == 3 and header["slots"] == 5 and header["gestalt"] == 32
    assert array(parts["background"]).shape == (40, 60, 3) and parts["view"][:2] == b"\xff\xd8"
    for number in range(3):
        header, parts = ask(session, "next")
        assert header["type"] == "frame" and header["frame"] == number
        assert array(parts["seen"]).shape == array(parts["expected"]).shape == (40, 60, 3)
        bound = sum(slot["bound"] for slot in header["slots"])
        assert array(parts["masks"]).shape == (bound, 40, 60) and array(parts["colours"]).shape == (bound, 40, 60, 3)
        assert len(header["slots"][0]["gestalt"]) == 32 and array(parts["true_masks"]).shape == (2, 40, 60)
    assert ask(session, "next")[0] == {"type": "end"}


def test_the_lab_sees_what_watching_sees(session: Session, network: LociLooped) -> None:
    from loci_looped.inference.scene_stream import scene_source

    short = {**scene(), "num_frames": 12}
    ask(session, "open", scene=short)
    for seen in watch(network, scene_source(lab_scene(short, Settings()), (40, 60))):
        header, parts = ask(session, "next")
        assert np.array_equal(array(parts["seen"]), seen.frame)
        assert np.allclose(header["slots"][0]["position"], seen.percept.position[0].numpy(), atol=1e-5)


def test_a_blink_is_black(session: Session) -> None:
    ask(session, "open", scene=scene())
    ask(session, "next")
    _, dark = ask(session, "next", blackout=True)
    _, bright = ask(session, "next", blackout=False)
    assert array(dark["seen"]).max() == 0 and array(bright["seen"]).max() > 0


def test_the_world_changes_and_the_mind_stays(session: Session) -> None:
    ask(session, "open", scene=scene())
    for _ in range(12):
        before, parts_before = ask(session, "next")
    watcher = session.watcher
    changed = copy.deepcopy(scene())
    changed["violation"] = {"kind": "vanish", "time": 1.3, "mover": 0}
    assert ask(session, "change", scene=changed)[0]["type"] == "changed"
    assert session.watcher is watcher
    after, parts = ask(session, "next")
    assert after["frame"] == before["frame"] + 1
    assert before["truth"][0]["visible"] > 0 and after["truth"][0]["whole"] == 0
    assert array(parts_before["seen"]).shape == array(parts["seen"]).shape


def test_a_question_about_other_codes_changes_nothing_and_an_edit_does(session: Session, network: LociLooped) -> None:
    ask(session, "open", scene=scene())
    for _ in range(3):
        header, _ = ask(session, "next")
    state = session.watcher.state if session.watcher else None
    asked = codes(header)
    decoded, parts = ask(session, "decode", slots=asked)
    assert array(parts["masks"]).shape == (2, 40, 60) and len(decoded["nearness"]) == 5
    moved = copy.deepcopy(asked)
    moved[0]["position"] = [0.5, -0.5]
    moved[0]["gestalt"] = [1 - bit for bit in moved[0]["gestalt"]]
    _, other = ask(session, "decode", slots=moved)
    assert not np.array_equal(array(parts["colours"])[0], array(other["colours"])[0])
    assert np.array_equal(array(parts["colours"])[1], array(other["colours"])[1])
    assert session.watcher is not None and session.watcher.state is state
    assert ask(session, "adopt", slots=moved, frame=header["frame"])[0]["type"] == "adopted"
    assert session.watcher.state is not state


def test_a_place_that_has_left_the_picture_can_be_asked_about(session: Session) -> None:
    """A lost slot drifts on and on; the page sends back what it was told."""
    ask(session, "open", scene=scene())
    header, _ = ask(session, "next")
    gone = codes(header)
    gone[0]["position"] = [0.1, 3.4]
    assert ask(session, "decode", slots=gone)[0]["type"] == "decoded"
    gone[0]["position"] = [0.1, 1e6]
    with pytest.raises(LociError, match="position must hold numbers between"):
        session.answer({"type": "decode", "slots": gone})


def test_adopting_what_is_believed_already_changes_nothing_that_matters(network: LociLooped) -> None:
    import torch

    one, other = Session(network, Settings(), no_clip), Session(network, Settings(), no_clip)
    for session in (one, other):
        ask(session, "open", scene=scene())
        for _ in range(4):
            header, _ = ask(session, "next")
    ask(other, "adopt", slots=codes(header), frame=header["frame"])
    assert one.watcher is not None and other.watcher is not None
    a, b = one.watcher.state.predicted, other.watcher.state.predicted
    assert torch.allclose(a.position, b.position, atol=1e-4) and torch.allclose(a.gestalt, b.gestalt, atol=1e-3)


def test_previews_do_not_touch_the_run(session: Session) -> None:
    ask(session, "open", scene=scene())
    ask(session, "next")
    header, parts = ask(session, "preview", scene={**scene(), "screen": None}, frame=30, rough=True)
    assert header["frame"] == 30 and parts["view"][:2] == b"\xff\xd8"
    assert ask(session, "next")[0]["frame"] == 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_a_scene_the_lab_accepts(name: str) -> None:
    found = example(name, 5)
    assert lab_scene(json.loads(json.dumps(describe(found))), Settings()) == found


def bad_scenes() -> list[tuple[Any, str]]:
    base = scene()

    def changed(**rest: Any) -> dict[str, Any]:
        return {**copy.deepcopy(base), **rest}

    mover = base["movers"][0]
    return [
        (None, "must be an object"), (changed(movers=[]), "1 to 4 movers"), (changed(movers=[mover] * 5), "1 to 4"),
        (changed(movers=[{**mover, "shape": "dragon"}]), "dragon"), (changed(num_frames=10**9), "between"),
        (changed(num_frames=900), "2 to 600"), (changed(fps=1e9), "between"), (changed(fps=0.5), "frames per second"),
        (changed(movers=[{**mover, "start": [0, float("nan")]}]), "between"), (changed(surprise=1), "surprise"),
        (changed(movers=[{**mover, "start": [0, 1e300]}]), "between"), (changed(noise=5.0), "noise"),
        (changed(movers=[{**mover, "turns": [[i, [0, 0]] for i in range(50)]}]), "at most 12"),
        (changed(violation={"kind": "vanish", "time": 1, "mover": 7}), "mover 7"), (changed(noise_seed=-1), "range"),
        (changed(backdrop={"camera": {"position": [1, 2, 3]}}), "camera"), (changed(screen={"x": 1}), "lacks"),
        (changed(movers=[[[[[[[[[1]]]]]]]]]), "deeply"),
    ]


@pytest.mark.parametrize(("description", "words"), bad_scenes())
def test_bad_scenes_are_told_in_a_sentence(session: Session, description: Any, words: str) -> None:
    with pytest.raises(LociError, match=words):
        session.answer({"type": "open", "scene": description})


def test_requests_out_of_order_are_told_in_a_sentence(session: Session) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"type": "next"}, "Open a scene"), ({"type": "dance"}, "dance"), ({"type": "adopt"}, "no belief yet"),
        ({"type": "change", "scene": scene()}, "Only scenes"), ({"type": "open", "clip": "x"}, "no film"),
    ]
    for request, words in wrong:
        with pytest.raises(LociError, match=words):
            session.answer(request)
    ask(session, "open", scene=scene())
    header, _ = ask(session, "next")
    good = codes(header)
    for slots, words in [
        (None, "all 5 slots"), (good[:2], "all 5 slots"), ([{**good[0], "position": [0]}, *good[1:]], "position"),
        ([{**good[0], "gestalt": ["a"] * 32}, *good[1:]], "gestalt"),
        ([{**good[0], "position": [0, float("nan")]}, *good[1:]], "position"),
    ]:
        with pytest.raises(LociError, match=words):
            session.answer({"type": "decode", "slots": slots})
    with pytest.raises(LociError, match="latest frame"):
        session.answer({"type": "adopt", "slots": good, "frame": 99})
    assert ask(session, "next")[0]["frame"] == 1


@pytest.mark.parametrize("text", ["", "no json", "[1]", "{}", '{"type": 3}', "[" * 5000])
def test_what_is_no_request_is_told_in_a_sentence(text: str) -> None:
    with pytest.raises(LociError):
        read_request(text)


def test_a_slot_at_no_object_is_called_a_phantom(session: Session, network: LociLooped) -> None:
    """The page is told what `at_no_object` says of the frame, and nothing where there is no truth."""
    ask(session, "open", scene=scene())
    for _ in range(12):
        header, _ = ask(session, "next")
    seen = session.last
    assert seen is not None and seen.truth is not None
    found = seen.phantoms
    assert found is not None and [slot["phantom"] for slot in header["slots"]] == found.tolist()
    assert dataclasses.replace(seen, truth=None).phantoms is None
    # Every slot is put into the upper left corner of the wall, where nothing is, and then onto the true mover.
    held = torch.ones_like(seen.output.bound)
    assert inside(seen.truth.positions[0, 0], seen.truth.size)
    mover = from_pixels(seen.truth.positions[0, 0].astype(np.float64), seen.truth.size)
    for place, expected in (((-0.95, -0.95), True), (tuple(mover), False)):
        percept = dataclasses.replace(
            seen.output.percept, position=torch.tensor(place).float().expand_as(seen.output.percept.position)
        )
        output = dataclasses.replace(
            seen.output, bound=held, percept=percept, occlusion=torch.zeros_like(seen.output.occlusion)
        )
        moved = dataclasses.replace(seen, output=output).phantoms
        assert moved is not None and moved.tolist() == [expected] * network.config.slots
