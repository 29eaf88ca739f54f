from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loci_looped.inference.watch import FrameResult
from loci_looped.viz.colours import slot_colour
from loci_looped.viz.overlay import dashes, hidden_along, outlines, overlay

SIZE = (240, 360)


def near(picture: np.ndarray, slot: int) -> np.ndarray:
    """(H, W) where the picture shows the slot's colour."""
    return np.abs(picture.astype(int) - slot_colour(slot)).sum(-1) < 40


def test_an_outline_runs_around_the_mask_at_the_right_distance() -> None:
    rows, columns = np.mgrid[:40, :60]
    disc = np.clip(6.5 - np.hypot(rows - 20, columns - 30), 0, 1).astype(np.float32)
    (line,) = outlines(disc)
    radius = np.hypot(line[:, 0] - 20, line[:, 1] - 30)
    assert np.allclose(radius, 6, atol=0.25)


def test_an_object_cut_by_the_border_has_an_outline_inside_the_picture() -> None:
    mask = np.zeros((40, 60), np.float32)
    mask[:10, :10] = 1
    (line,) = outlines(mask)
    assert line.min() >= -0.5 and line[:, 0].max() < 10 and line[:, 1].max() < 10


def test_a_seen_line_is_whole_and_a_hidden_one_is_broken() -> None:
    line = np.array([[0.0, 0.0], [0.0, 120.0]])
    seen = list(dashes(line, np.array([False, False])))
    hidden = list(dashes(line, np.array([True, True])))
    assert len(seen) == 1 and len(seen[0]) == 121
    assert len(hidden) == 10
    assert 0.5 < sum(len(piece) for piece in hidden) / 121 < 0.7


def test_points_behind_the_screen_are_hidden_and_others_are_not(make_moment: Callable[..., FrameResult]) -> None:
    seen = make_moment(column=20.0)         # half of it behind the screen's left edge
    whole, visible = seen.belief.whole_masks[0, 1].numpy(), seen.belief.visible_masks()[0, 1].numpy()
    (line,) = outlines(whole)
    hidden = hidden_along(line, whole, visible)
    inside = np.abs(line[:, 1] - 19.5) > 1
    assert np.array_equal(hidden[inside], line[inside, 1] > 19.5)


def test_pixels_change_around_objects_and_nowhere_else(make_moment: Callable[..., FrameResult]) -> None:
    seen = make_moment(column=8.0)
    plain = seen.frame.repeat(6, 0).repeat(6, 1)
    changed = (overlay(seen, SIZE) != plain).any(-1)
    assert changed[114:132, 42:58].any()                # the mover's marker
    assert not changed[:40].any() and not changed[200:].any() and not changed[:, 300:].any()


def test_each_slot_is_drawn_in_its_own_colour_empty_ones_not_at_all(make_moment: Callable[..., FrameResult]) -> None:
    picture = overlay(make_moment(column=8.0), SIZE)
    assert near(picture, 0)[50:190, 110:250].sum() > 100 and near(picture, 0)[:, :90].sum() == 0
    assert near(picture, 1)[80:160, 10:90].sum() > 100
    assert near(picture, 2).sum() == 0


def test_a_hidden_object_has_a_broken_outline_and_a_ring(make_moment: Callable[..., FrameResult]) -> None:
    hidden, seen = (overlay(make_moment(column), SIZE, tags=False) for column in (30.0, 8.0))
    assert near(hidden, 1).sum() < 0.8 * near(seen, 1).sum()
    y, x = round(20.5 * 6 - 0.5), round(30.5 * 6 - 0.5)
    assert near(hidden, 1)[y, x] == np.False_ and near(seen, 1)[y, round(8.5 * 6 - 0.5)] == np.True_


def test_the_screen_that_is_taken_away_leaves_a_faint_line_only(make_moment: Callable[..., FrameResult]) -> None:
    seen = make_moment()
    picture = overlay(seen, SIZE, seen.behind_the_screen, ghost=seen.screen, tags=False)
    assert near(picture, 0).sum() == 0
    assert near(picture, 1).sum() > 50
