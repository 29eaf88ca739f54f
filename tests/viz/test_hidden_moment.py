"""Who still knows where the ball is: figures by hand, and dots where they belong."""

from __future__ import annotations

import numpy as np
import pytest

from loci_looped.utils.errors import LociError
from loci_looped.viz.hidden_moment import HEADING, HELD, LABELS, Moment, Witness, hidden_moment

SHAPE = (30, 40, 3)     # a diagonal of 50 pixels


def moment(*holders: tuple[float, float], others: tuple[tuple[float, float], ...] = ()) -> Moment:
    frame = np.full(SHAPE, 60, dtype=np.uint8)
    places = (np.array(given, dtype=float).reshape(-1, 2) for given in (holders, others))
    return Moment(frame, np.array([10.0, 10.0]), *places)


def test_the_nearest_holder_counts_in_shares_of_the_diagonal() -> None:
    near = moment((13.0, 14.0), (10.0, 12.0))
    assert near.error == pytest.approx(2 / 50) and near.is_known and near.words == "4.0 % off"
    lost = moment((13.0, 14.0))
    assert lost.error == pytest.approx(0.1) and not lost.is_known and lost.words == "lost, 10 % off"


def test_an_object_that_other_slots_happen_to_be_at_is_not_held() -> None:
    alone = moment(others=((10.0, 10.0),))
    assert alone.error is None and not alone.is_known and alone.words == "held by no slot"


def test_a_dot_lies_where_the_holder_believes_its_object() -> None:
    picture = hidden_moment([Witness("a", "", (moment((20.0, 30.0)),))], ["hidden"], "", height=120)
    row, column = HEADING + round(20.5 * 4), LABELS + round(30.5 * 4)
    assert tuple(picture[row, column]) == HELD
    assert tuple(picture[HEADING + 100, LABELS + 20]) == (60, 60, 60)


def test_square_and_wide_frames_stand_in_one_picture() -> None:
    square = Moment(np.zeros((64, 64, 3), np.uint8), np.array([5.0, 5.0]), np.zeros((0, 2)), np.zeros((0, 2)))
    picture = hidden_moment([Witness("wide", "", (moment(),)), Witness("square", "", (square,))], ["hidden"], "Where?")
    assert picture.shape[1] > LABELS + 160
    with pytest.raises(LociError, match="as many moments"):
        hidden_moment([Witness("wide", "", (moment(),))], ["one", "two"], "")
