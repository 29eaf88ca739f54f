from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loci_looped.inference.watch import FrameResult
from loci_looped.utils.errors import LociError
from loci_looped.viz.panel import object_mask, slot_panel


def test_hidden_parts_are_red_visible_parts_white_and_the_rest_black() -> None:
    whole = np.array([[1.0, 1.0, 0.0]], np.float32)
    visible = np.array([[1.0, 0.0, 0.0]], np.float32)
    seen, hidden, nothing = object_mask(whole, visible)[0].astype(int)
    assert seen.min() == 255
    assert hidden[0] > 200 and hidden[1:].max() < 60
    assert nothing.max() < 20


def test_the_belief_behind_the_screen_shows_the_mover_and_no_screen(make_moment: Callable[..., FrameResult]) -> None:
    seen = make_moment(column=30.0)
    frame, behind = seen.frame.astype(int), seen.behind_the_screen.astype(int)
    assert frame[20, 30, 2] > 150 and frame[20, 30, 0] < 100            # the frame shows the blue screen
    assert behind[20, 30, 0] > 200 and behind[20, 30, 2] < 50           # the belief a red mover
    assert np.all(behind[12, 22] == 128)                                # where the screen was, the background


def test_a_panel_has_a_row_per_quantity_and_a_column_per_moment(make_moment: Callable[..., FrameResult]) -> None:
    one = slot_panel([make_moment()])
    three = slot_panel([make_moment(column, number) for number, column in enumerate((8.0, 20.0, 30.0))])
    assert three.shape[0] == one.shape[0] and three.shape[1] - one.shape[1] == 2 * (120 + 6)
    titled = slot_panel([make_moment()], "with a title")
    assert titled.shape[0] > one.shape[0]


def test_panels_of_a_moving_object_differ_only_where_it_matters(make_moment: Callable[..., FrameResult]) -> None:
    left, right = slot_panel([make_moment(8.0)]), slot_panel([make_moment(50.0)])
    changed = (left != right).any((1, 2))
    assert changed.any()
    # Rows of slot 1, the screen, are the same: heading 28, three pictures, a gap of 12, two pictures of 80 + 6.
    first = 28 + 3 * 86 + 12
    assert not changed[first : first + 80].any()


def test_nothing_to_show_is_told_in_a_sentence() -> None:
    with pytest.raises(LociError, match="at least one moment"):
        slot_panel([])
