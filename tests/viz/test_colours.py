from __future__ import annotations

import itertools

from loci_looped.viz.colours import hexadecimal, readable_on, slot_colour


def test_every_slot_has_a_colour_of_its_own() -> None:
    colours = [slot_colour(slot) for slot in range(24)]
    for (a, first), (b, second) in itertools.combinations(enumerate(colours), 2):
        assert sum(abs(x - y) for x, y in zip(first, second, strict=True)) > 20, (a, b)


def test_the_colour_of_a_slot_never_changes() -> None:
    assert [hexadecimal(slot_colour(slot)) for slot in range(3)] == ["#e69f00", "#56b4e9", "#009e73"]


def test_words_can_be_read_on_every_slot_colour() -> None:
    for slot in range(24):
        colour = slot_colour(slot)
        brightness = [0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] for c in (colour, readable_on(colour))]
        assert abs(brightness[0] - brightness[1]) > 80
