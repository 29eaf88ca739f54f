"""Pixels and the network's coordinates: there and back, corners and centres, inside and outside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loci_looped.data.coordinates import diagonal, from_pixels, inside, to_pixels

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
