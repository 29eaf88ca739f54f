"""The background: the median, the mode, and what goes on from the surroundings."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_films import draw, make_film
from numpy.typing import NDArray

from loci_looped.data.coordinates import resize
from loci_looped.data.formats.background import estimate
from loci_looped.data.formats.continuity import continued, jumps_on_the_way
from loci_looped.utils.errors import LociError

WALL = np.array([90, 120, 150], dtype=np.uint8)
BOARD = np.array([240, 240, 240], dtype=np.uint8)


def wall_with_a_slope(height: int = 12, width: int = 20) -> NDArray[np.uint8]:
    """Every pixel a little lighter than its neighbour to the left."""
    picture = np.tile(WALL, (height, width, 1)).astype(np.int16)
    return np.asarray(picture + 3 * np.arange(width)[None, :, None], dtype=np.uint8)


def with_a_board(share: float, frames: int = 40) -> NDArray[np.uint8]:
    """(T, H, W, 3) a board stands in the middle for this share of the frames."""
    film = np.repeat(wall_with_a_slope()[None], frames, axis=0)
    film[: round(share * frames), 3:9, 7:13] = BOARD
    return film


@pytest.mark.parametrize("share", [0.3, 0.6, 0.85])
def test_what_goes_on_from_around_is_the_wall_however_short_it_is_seen(share: float) -> None:
    found = estimate(with_a_board(share))
    assert np.abs(found.image.astype(int) - wall_with_a_slope()).max() <= 1
    assert found.support[5, 10] == pytest.approx(1 - share, abs=0.01)


def test_what_stands_from_the_first_frame_to_the_last_is_background() -> None:
    found = estimate(with_a_board(1.0))
    assert (found.image[3:9, 7:13] == BOARD).all() and found.known.all()


def test_a_wall_that_is_never_seen_for_three_frames_is_not_known() -> None:
    film = with_a_board(0.95)                       # two frames of forty
    assert (estimate(film).image[5, 10] == BOARD).all()


def test_one_frame_is_its_own_background_and_none_is_refused() -> None:
    film = with_a_board(1.0)
    assert (estimate(film[:1]).image == film[0]).all()
    with pytest.raises(LociError, match="at least one frame"):
        estimate(film[:0])


@pytest.mark.parametrize("seed", [3, 7, 12, 26])
def test_a_sliding_board_is_no_wall(seed: int) -> None:
    # In these films it covers parts of the wall for more than half of the time.
    film = make_film(seed, standing=False)
    frames = np.stack([resize(frame, (40, 60)) for frame in draw(film)[::3]])
    wall = resize(film.wall, (40, 60)).astype(int)
    assert (np.abs(estimate(frames).image - wall).max(axis=-1) > 25).mean() < 0.005


def test_jumps_are_the_largest_on_the_smoothest_way() -> None:
    # One row: sure 6 and 10, then 14 or 90, then 18 or 92, then sure 22 and 26.
    colours = np.zeros((2, 1, 6, 3), dtype=np.float32)
    colours[0, 0] = np.array([6, 10, 90, 92, 22, 26])[:, None]
    colours[1, 0, 2:4] = np.array([14, 18])[:, None]
    shown = np.array([[[True] * 6], [[False, False, True, True, False, False]]])
    jumps = jumps_on_the_way(colours, shown)
    assert jumps[0, 0] == pytest.approx([0, 0, 70, 70, 0, 0], abs=0.01)
    assert jumps[1, 0, 2:4] == pytest.approx([4, 4], abs=0.01) and np.isinf(jumps[1, 0, [0, 1, 4, 5]]).all()
    assert continued(colours, shown, clearly=12).tolist() == [[0, 0, 1, 1, 0, 0]]
    assert continued(colours, shown, clearly=80).tolist() == [[0] * 6]


def test_where_the_wall_is_rough_jumps_tell_nothing() -> None:
    random = np.random.default_rng(1)
    wall = random.integers(0, 255, (12, 20, 3)).astype(np.uint8)
    film = np.repeat(wall[None], 40, axis=0)
    film[:16, 3:9, 7:13] = (120, 120, 120)
    assert (estimate(film).image == wall).all()


def test_without_any_sure_pixel_the_most_frequent_colour_stays() -> None:
    colours = np.random.default_rng(0).uniform(0, 255, (2, 3, 4, 3)).astype(np.float32)
    assert (continued(colours, np.ones((2, 3, 4), dtype=bool), clearly=12) == 0).all()
