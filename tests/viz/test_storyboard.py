from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from loci_looped.inference.watch import FrameResult
from loci_looped.viz.storyboard import TRAIL, Storyboard


def test_every_picture_of_a_film_has_the_same_size_and_they_move(make_moment: Callable[..., FrameResult]) -> None:
    board = Storyboard("a title")
    pictures = [board.draw(make_moment(10.0 + 5 * n, n)) for n in range(4)]
    assert len({picture.shape for picture in pictures}) == 1 and pictures[0].dtype == np.uint8
    assert all((a != b).any() for a, b in pairwise(pictures))


def test_the_storyboard_remembers_only_a_little(make_moment: Callable[..., FrameResult]) -> None:
    board = Storyboard(surprise=deque(maxlen=12))
    for number in range(20):
        board.draw(make_moment(30.0, number, surprise=7.5 if number == 3 else 0.1))
    assert len(board.trail) == TRAIL and len(board.surprise) == 12
    assert abs(board.highest - 7.5) < 1e-3


def test_a_trail_is_drawn_behind_a_moving_object(make_moment: Callable[..., FrameResult]) -> None:
    still, moving = Storyboard(), Storyboard()
    for number, column in enumerate((5.0, 7.0, 9.0)):
        fresh = Storyboard().draw(make_moment(column, number))
        last = moving.draw(make_moment(column, number))
        still.draw(make_moment(9.0, number))
    assert (fresh != last)[76 : 76 + 240, 20 : 20 + 360].any()
