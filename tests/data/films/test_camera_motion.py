"""A camera that stands still is told from one that pans or shakes, whatever moves before it; cuts are found."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_films import draw, make_film
from numpy.typing import NDArray

from loci_looped.data.films.camera_motion import camera_motion


@pytest.fixture(scope="module")
def film() -> NDArray[np.uint8]:
    return draw(make_film(0, frames=60))[::2]


def _window(frames: NDArray[np.uint8], shifts: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
    """(row, column) of the corner per frame: what a camera sees that looks there."""
    return [frame[10 + y : 140 + y, 20 + x : 200 + x] for frame, (y, x) in zip(frames, shifts, strict=True)]


def test_things_that_move_do_not_move_the_camera(film: NDArray[np.uint8]) -> None:
    found = camera_motion(film)
    assert found.certain and not found.moves() and not found.cuts and found.extent() < 0.01


def test_a_pan_and_a_shaking_hand_are_found(film: NDArray[np.uint8]) -> None:
    pan = np.stack([np.zeros(30, int), np.arange(30) // 2], axis=1)
    shake = np.random.default_rng(0).integers(-8, 9, (30, 2))
    assert camera_motion(_window(film, pan)).moves() and camera_motion(_window(film, shake)).moves()
    # 14 of 180 columns, half of them to either side of the middle.
    assert camera_motion(_window(film, pan)).extent() == pytest.approx(7 / 180, abs=0.015)


def test_a_cut_begins_another_shot_and_is_no_motion(film: NDArray[np.uint8]) -> None:
    other = draw(make_film(5, frames=30))[::2]
    found = camera_motion([*film[:20], *other])
    assert found.cuts == (20,) and [len(shot) for shot in found.shots()] == [20, 15] and not found.moves()


def test_of_a_plain_wall_nothing_is_claimed() -> None:
    found = camera_motion([np.full((96, 144, 3), 90, np.uint8)] * 5)
    assert not found.certain and not found.moves() and not found.cuts


@pytest.mark.parametrize("seed", [20, 110])
def test_a_large_board_that_slides_past_does_not_move_the_camera(seed: int) -> None:
    found = camera_motion(draw(make_film(seed))[::3])
    assert found.extent() < 0.01 and not found.cuts


def test_a_patterned_thing_before_a_plain_wall_is_not_the_camera() -> None:
    """It has nearly all the texture of the picture; the wall has only its shading, which stays."""
    random = np.random.default_rng(0)
    wall = np.tile(np.linspace(150, 210, 240)[None, :, None], (160, 1, 3)) + np.linspace(-20, 20, 160)[:, None, None]
    pattern = random.integers(0, 255, (9, 11, 3)).repeat(12, axis=0).repeat(8, axis=1)
    frames = []
    for step in range(20):
        picture = wall + random.normal(0, 1, wall.shape)
        picture[26:134, 30 + 5 * step : 118 + 5 * step] = pattern
        frames.append(np.clip(picture, 0, 255).astype(np.uint8))
    assert not camera_motion(frames).moves()
