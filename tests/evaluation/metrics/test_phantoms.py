"""Phantoms: a slot at an object is none, wherever on it; one in the empty, or hidden behind a screen alone, is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from loci_looped.data.clip import ObjectTruth
from loci_looped.evaluation.metrics.mota import count_events
from loci_looped.evaluation.metrics.phantoms import phantom_frames, phantoms
from loci_looped.evaluation.metrics.tracking import Track

SIZE = (30, 40)         # a diagonal of 50 pixels: a slot is at an object within 5 of its centre


def scene(ball: tuple[float, float] = (20, 8)) -> ObjectTruth:
    """One frame: a small ball, and a screen of 21 x 21 pixels around (15, 25)."""
    positions = np.array([[ball, (15, 25)]], dtype=np.float32)
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    screen = (abs(rows - 15) <= 10) & (abs(columns - 25) <= 10)
    ball_mask = np.hypot(rows - ball[0], columns - ball[1]) <= 2
    whole = np.stack([ball_mask, screen])[None]
    visible = np.stack([ball_mask & ~screen, screen])[None]
    return ObjectTruth(("ball", "screen"), ("mover", "screen"), positions, visible, whole, np.float32([[2, 1]]))


def track(*places: tuple[float, float], hidden: bool = False, present: bool = True) -> Track:
    shape = (1, len(places))
    return Track(np.array([places], dtype=np.float64), np.full(shape, present), np.full(shape, hidden))


@pytest.mark.parametrize(("place", "hidden", "is_phantom"), [
    ((20, 8), False, False),            # at the ball
    ((20, 12.9), False, False),         # beside it, within a tenth of the diagonal
    ((20, 13.1), False, True),          # farther, on the floor
    ((6, 16), False, False),            # on the screen's corner, far from its centre
    ((3, 3), False, True),              # nothing is there
    ((3, 3), True, True),
    ((15, 25), True, True),             # behind the screen, but nothing is behind it
    ((20, 8), True, False),             # at the ball, and only believed hidden
    ((-5, 3), False, False),            # it has left the image
])
def test_a_slot_at_no_object_is_a_phantom(place: tuple[float, float], hidden: bool, is_phantom: bool) -> None:
    assert phantoms(track(place, hidden=hidden), scene()).tolist() == [[is_phantom]]


def test_behind_the_screen_a_hidden_mover_is_no_phantom() -> None:
    truth = scene(ball=(15, 27))
    assert not truth.visible_masks[0, 0].any()
    assert phantoms(track((15, 25), (8, 18), hidden=True), truth).tolist() == [[False, True]]


def test_a_slot_that_holds_nothing_and_what_has_left_do_not_count() -> None:
    assert not phantoms(track((3, 3), present=False), scene()).any()
    gone = scene(ball=(math.nan, math.nan))
    assert phantoms(track((20, 8)), gone).all()


def test_two_slots_at_an_object_are_a_false_positive_but_no_phantom() -> None:
    counts = count_events(track((20, 8), (20, 9), (15, 25)), scene())
    assert counts.false_positives == 1 and counts.false_positives_per_frame == 1
    assert (counts + counts).false_positives_per_frame == 1
    assert not phantoms(track((20, 8), (20, 9)), scene()).any()


def test_frames_with_several_phantoms_count_once() -> None:
    first = np.array([[True, True], [False, False]])
    second = np.array([[False, False], [False, True]])
    assert phantom_frames([first, second]) == 0.5
    assert math.isnan(phantom_frames([]))
