"""Pixels and the network's coordinates: there and back, corners and centres, inside and outside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.coordinates import diagonal, from_pixels, inside, resize_masks, resize_pixels, to_pixels
from loci_looped.utils.errors import LociError

sizes = st.tuples(st.integers(2, 500), st.integers(2, 500))


@given(sizes)
def test_minus_one_and_one_are_the_centres_of_the_first_and_last_pixels(size: tuple[int, int]) -> None:
    corners = to_pixels(np.array([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]]), size)
    assert np.allclose(corners, [[0, 0], [size[0] - 1, size[1] - 1], [(size[0] - 1) / 2, (size[1] - 1) / 2]])


@given(sizes, st.floats(-2, 2), st.floats(-2, 2))
def test_there_and_back(size: tuple[int, int], row: float, column: float) -> None:
    position = np.array([row, column])
    assert np.allclose(from_pixels(to_pixels(position, size), size), position, atol=1e-9)


def test_a_point_is_inside_if_it_falls_on_a_pixel() -> None:
    points = np.array([[-0.4, 0], [-0.6, 0], [9.4, 0], [9.6, 0], [0, 19.4], [0, 19.6], [np.nan, 0]])
    assert inside(points, (10, 20)).tolist() == [True, False, True, False, True, False, False]
    assert diagonal((30, 40)) == pytest.approx(50)


# ---- other sizes -------------------------------------------------------------------------------------------------

def centre(mask: np.ndarray) -> np.ndarray:
    """(2,) the mean pixel of a mask."""
    return np.argwhere(mask).mean(axis=0)


def block(size: tuple[int, int], rows: slice, columns: slice) -> ObjectTruth:
    """Two frames of one object that fills a rectangle; its position is the middle of that."""
    masks = np.zeros((2, 1, *size), bool)
    masks[:, :, rows, columns] = True
    place = centre(masks[0, 0]).astype(np.float32)
    return ObjectTruth(("block",), ("mover",), np.tile(place, (2, 1, 1)), masks, masks, np.ones((2, 1), np.float32))


def test_a_block_at_half_the_size_by_hand() -> None:
    """Pixels 0 to 3 of 16 are pixels 0 and 1 of 8: their middle goes from 1.5 to 0.5, not to 1.5 * 7 / 15 = 0.7."""
    truth = block((16, 16), slice(0, 4), slice(8, 12)).resized((8, 8))
    assert np.argwhere(truth.object_masks[0, 0]).tolist() == [[0, 4], [0, 5], [1, 4], [1, 5]]
    assert truth.positions[0, 0].tolist() == [0.5, 4.5]
    assert truth.size == (8, 8) and truth.positions.dtype == np.float32


@given(sizes, st.integers(1, 4), st.integers(1, 4), st.data())
def test_positions_stay_in_the_middle_of_their_masks(
    size: tuple[int, int], tall: int, wide: int, data: st.DataObject
) -> None:
    size = (size[0] % 40 + 1, size[1] % 40 + 1)
    mask = np.zeros(size, bool)
    top, left = data.draw(st.integers(0, size[0] - 1)), data.draw(st.integers(0, size[1] - 1))
    mask[top : data.draw(st.integers(top + 1, size[0])), left : data.draw(st.integers(left + 1, size[1]))] = True
    larger = (tall * size[0], wide * size[1])
    moved = resize_pixels(centre(mask), size, larger)
    assert np.allclose(moved, centre(resize_masks(mask, larger)), atol=1e-9)
    assert np.allclose(resize_pixels(moved, larger, size), centre(mask), atol=1e-9)
    assert bool(inside(moved, larger))


@given(sizes, sizes)
def test_edges_stay_edges(old: tuple[int, int], new: tuple[int, int]) -> None:
    edges = np.array([[-0.5, -0.5], [old[0] - 0.5, old[1] - 0.5]])
    assert np.allclose(resize_pixels(edges, old, new), [[-0.5, -0.5], [new[0] - 0.5, new[1] - 0.5]])


def test_a_clip_is_resized_with_its_truth_and_keeps_its_events() -> None:
    truth = block((16, 24), slice(4, 8), slice(8, 16))
    frames = np.where(truth.object_masks[:, 0, :, :, None], 200, 10).astype(np.uint8).repeat(3, axis=3)
    clip = Clip(frames, frames[0], truth, (Event("removed", 1, 0),), seed=3, source="test")
    small = clip.resized((8, 12))
    assert small.size == (8, 12) and small.events == clip.events and small.seed == 3
    assert small.truth is not None and np.allclose(centre(small.truth.visible_masks[0, 0]), small.truth.positions[0, 0])
    # Smoothed, so the brightness has its middle where the mask has it.
    bright = small.frames[0, :, :, 0].astype(float) - 10
    rows, columns = np.mgrid[:8, :12]
    middle = [(rows * bright).sum() / bright.sum(), (columns * bright).sum() / bright.sum()]
    assert np.allclose(middle, small.truth.positions[0, 0], atol=0.05)
    assert clip.resized((16, 24)) is clip and truth.resized((16, 24)) is truth


def test_the_truth_at_one_frame_keeps_its_time_axis() -> None:
    truth = block((4, 6), slice(0, 2), slice(0, 3))
    row = truth.at(1)
    assert row.positions.shape == (1, 1, 2) and row.object_masks.shape == (1, 1, 4, 6) and row.names == truth.names
    with pytest.raises(IndexError):
        truth.at(2)


def test_events_behind_the_last_kept_frame_are_left_out() -> None:
    frames = np.zeros((10, 4, 6, 3), np.uint8)
    clip = Clip(frames, frames[0], events=(Event("collision", 3, 0), Event("collision", 9, 0)))
    assert clip.strided(4).events == (Event("collision", 1, 0),)
    assert clip.strided(1, 2, 5).events == (Event("collision", 1, 0),) and len(clip.strided(1, 2, 5)) == 3
    with pytest.raises(LociError, match="does not fit"):
        clip.strided(1, 5, 5)
