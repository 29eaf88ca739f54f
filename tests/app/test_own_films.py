"""Films in the lab: what stands still and hides is found or marked, and the verdict is told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from drawn_films import draw, make_film

from loci_looped.app.own_films import FIRST_VERDICT, occluder_part, with_occluder
from loci_looped.app.playback import ClipPlayback, jpeg
from loci_looped.app.session import Session
from loci_looped.app.settings import Settings
from loci_looped.app.wire import unpack
from loci_looped.data.coordinates import resize
from loci_looped.data.films.occluders import standing_occluders
from loci_looped.data.formats.background import estimate
from loci_looped.model.loci import LociLooped
from loci_looped.utils.errors import LociError

SIZE = (40, 60)


@pytest.fixture(scope="module")
def clip() -> ClipPlayback:
    pictures = draw(make_film(3, sliding=False))[::3]
    frames = np.stack([resize(picture, SIZE) for picture in pictures])
    background = estimate(frames).image
    views = tuple(jpeg(picture) for picture in pictures)
    return ClipPlayback(frames, background, views, 25 / 3, "film.mp4", (), standing_occluders(frames, background))


def test_what_was_found_is_taken_out_of_the_background(clip: ClipPlayback) -> None:
    assert clip.occluder is not None and 0.1 < clip.occluder.mean() < 0.3
    opened = with_occluder(clip, None)
    changed = np.abs(opened.background.astype(int) - clip.background).max(axis=-1) > 8
    assert changed[clip.occluder].mean() > 0.9 and not changed[:4].any()
    part = occluder_part(opened)["occluder"]
    assert isinstance(part, np.ndarray) and np.array_equal(part > 0, clip.occluder)


def test_a_rectangle_replaces_what_was_found_and_none_leaves_it_out(clip: ClipPlayback) -> None:
    marked = with_occluder(clip, [0.5, 0, 1, 0.5])
    assert marked.occluder is not None
    assert marked.occluder[20:, :30].all() and marked.occluder.sum() == 20 * 30
    none = with_occluder(clip, "none")
    assert np.array_equal(none.background, clip.background) and occluder_part(none) == {}


@pytest.mark.parametrize(("wanted", "words"), [
    ([0, 0, 1], "4 numbers"), ([0, 0, 2, 1], "between"), ([0.5, 0, 0.2, 1], "not inside the picture"),
    ([0.5, 0.5, 0.501, 0.501], "smaller than a pixel"), ("all", "the word none"), ({"top": 1}, "the word none"),
    ([0, 0, float("nan"), 1], "between"), ([0, 0, True, 1], "between"),
])
def test_a_rectangle_that_is_none_is_told_in_a_sentence(clip: ClipPlayback, wanted: object, words: str) -> None:
    with pytest.raises(LociError, match=words):
        with_occluder(clip, wanted)


def test_films_are_judged_and_scenes_are_not(network: LociLooped, clip: ClipPlayback) -> None:
    short = dataclasses.replace(clip, frames=clip.frames[:16], views=clip.views[:16])
    session = Session(network, Settings(), lambda name: short, "films of garden")
    header, parts = unpack(session.answer({"type": "open", "clip": "x"}))
    assert header["length"] == 16 and "occluder" in parts
    told = [unpack(session.answer({"type": "next"}))[0].get("verdict") for _ in range(16)]
    assert told[: FIRST_VERDICT - 1] == [None] * (FIRST_VERDICT - 1) and all(told[FIRST_VERDICT - 1 :])
    last = told[-1]
    assert last["sentence"].startswith("This network was trained on films of garden; it explains")
    assert not last["at_home"] and "The camera stands still." in last["facts"]
    session.answer({"type": "open", "clip": "x", "occluder": [0.1, 0.1, 0.9, 0.4]})
    assert unpack(session.answer({"type": "next"}))[0].get("verdict") is None      # judged anew
    with pytest.raises(LociError):
        session.answer({"type": "open", "clip": "x", "occluder": "everything"})
    assert unpack(session.answer({"type": "next"}))[0]["frame"] == 1                # the film goes on as it was
