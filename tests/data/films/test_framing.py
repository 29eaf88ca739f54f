"""Which part of a film the network sees, and what is said about it."""

from __future__ import annotations

import pytest

from loci_looped.data.films.framing import Box, framing
from loci_looped.utils.errors import LociError


def test_a_film_of_the_same_shape_is_taken_as_it_is() -> None:
    found = framing("a.mp4", (320, 480), (40, 60))
    assert found.box == Box(0, 0, 320, 480) and not found.sentence


def test_a_film_of_another_shape_is_squeezed_and_said() -> None:
    found = framing("a.mp4", (400, 400), (40, 60))
    assert found.box == Box(0, 0, 400, 400) and "a.mp4 is 400 x 400 pixels and is squeezed" in found.sentence


@pytest.mark.parametrize(("film", "box", "lost"), [
    ((400, 1000), Box(0, 200, 400, 600), "400 columns"), ((640, 360), Box(200, 0, 240, 360), "400 rows"),
])
def test_the_middle_has_the_shape_of_the_network(film: tuple[int, int], box: Box, lost: str) -> None:
    found = framing("a.mp4", film, (40, 60), "middle")
    assert found.box == box and lost in found.sentence


@pytest.mark.parametrize("text", ["left", "1,2,3", "0,0,400,10", "-1,0,20,20", "0,0,4,4"])
def test_a_part_that_is_not_inside_is_refused_in_a_sentence(text: str) -> None:
    assert framing("a.mp4", (160, 240), (40, 60), "10,20,100,150").box == Box(10, 20, 100, 150)
    with pytest.raises(LociError, match="--crop"):
        framing("a.mp4", (160, 240), (40, 60), text)
