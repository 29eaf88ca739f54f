"""What stands still and hides others: found where it can be told, marked by hand, taken out of the background."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_films import SIZE, draw, make_film, truth_of
from numpy.typing import NDArray
from PIL import Image

from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import resize
from loci_looped.data.films import occluders
from loci_looped.data.films.occluders import (
    ALIKE,
    marked_or_found,
    read_mask,
    rectangle,
    standing_occluders,
    trails,
    without,
)
from loci_looped.data.films.prepare import Preparation, _with_background
from loci_looped.data.formats.background import estimate, spread
from loci_looped.utils.errors import LociError


def _small(seed: int, standing: bool = True) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    film = make_film(seed, standing=standing)
    frames = np.stack([resize(frame, (40, 60)) for frame in draw(film)[::3]])
    return frames, estimate(spread(frames)).image


@pytest.mark.parametrize("seed", [2, 5])
def test_a_box_behind_which_discs_pass_is_found(seed: int) -> None:
    frames, background = _small(seed)
    found = standing_occluders(frames, background)
    true = truth_of(make_film(seed), range(1)).resized((40, 60)).object_masks[0, -1]
    assert (found & true).sum() > 0.8 * true.sum() and (found & ~true).sum() < 0.02 * found.size


def test_a_trail_keeps_its_colour_where_it_changes_little_by_little() -> None:
    # As when a disc slides into a board and another one out of it: each blob is like the one before.
    steps = 16
    frames = np.zeros((steps, 40, 60, 3), np.uint8)
    for number in range(steps):
        frames[number, 10:18, 20 + number : 28 + number] = (240 - 15 * number, 15 * number, 60)
    found = trails(frames, frames.any(axis=-1))
    assert len(found) > 1
    for trail in found:
        assert np.linalg.norm(trail.blobs[0].colour - trail.blobs[-1].colour) < 2 * ALIKE


def test_without_a_box_nothing_is_found() -> None:
    frames, background = _small(2, standing=False)
    assert not standing_occluders(frames, background).any()


def test_the_background_behind_an_occluder_comes_from_around_it() -> None:
    wall = np.full((40, 60, 3), (100, 150, 200), np.uint8)
    boxed = wall.copy()
    boxed[10:30, 20:40] = 0
    mask = rectangle(0.25, 1 / 3, 0.75, 2 / 3, (40, 60))
    filled = without(boxed, mask)
    assert mask.sum() == 20 * 20 and np.abs(filled.astype(int) - wall).max() <= 2
    same, nothing = marked_or_found(wall[None], wall, None, find=False)
    assert same is wall and not nothing.any()


def test_a_mask_is_a_picture_that_is_white_where_it_stands(tmp_path: Path) -> None:
    picture = np.zeros((*SIZE, 3), np.uint8)
    picture[40:80, 60:120] = 255
    Image.fromarray(picture).save(tmp_path / "mask.png")
    assert read_mask(tmp_path / "mask.png", (40, 60)).sum() == 10 * 15
    Image.fromarray(np.zeros_like(picture)).save(tmp_path / "black.png")
    with pytest.raises(LociError, match="marks nothing: paint the occluder white"):
        read_mask(tmp_path / "black.png")
    with pytest.raises(LociError, match="not inside the picture"):
        rectangle(0.5, 0.0, 0.2, 1.0, (40, 60))


@pytest.mark.parametrize(("pixels", "told"), [(13, "less than 1 %"), (240, "10 %")])
def test_how_much_of_the_picture_hides_is_told(pixels: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plate on a pole in vtest.avi hides people, and is as small as that."""
    frames, background = np.zeros((9, 40, 60, 3), np.uint8), np.zeros((40, 60, 3), np.uint8)
    mask = np.zeros((40, 60), dtype=bool)
    mask.flat[:pixels] = True
    monkeypatch.setattr(occluders, "marked_or_found", lambda *_, **__: (background, mask))
    clip = Clip(frames, background, source="street")
    found = _with_background(clip, Preparation((40, 60)), False, (0, 0, 40, 60), (40, 60))
    assert found.notes[0].startswith(f"street: something that never moves was seen to hide others, on {told} of the")
