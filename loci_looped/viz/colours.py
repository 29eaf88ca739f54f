"""One colour per slot, the same in every picture, film, curve and in the lab; and the colours of paper around them."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

Colour = tuple[int, int, int]

# Okabe and Ito's colours, told apart by people who confuse red and green as well; the black one is left out.
_BASE: tuple[Colour, ...] = (
    (230, 159, 0),      # orange
    (86, 180, 233),     # sky blue
    (0, 158, 115),      # green
    (204, 121, 167),    # pink
    (240, 228, 66),     # yellow
    (0, 114, 178),      # blue
    (213, 94, 0),       # vermilion
)
GOLDEN_TURN = 0.61803398875

HIDDEN: Colour = (214, 39, 40)
"""The parts of an object mask that are believed to be out of sight."""
VISIBLE: Colour = (255, 255, 255)


def slot_colour(slot: int) -> Colour:
    """The colour of slot number `slot`, counted from 0. After the first seven, hues a golden turn apart."""
    if slot < len(_BASE):
        return _BASE[slot]
    turn = (slot - len(_BASE) + 1) * GOLDEN_TURN
    red, green, blue = colorsys.hls_to_rgb(turn % 1.0, 0.62, 0.6)
    return round(red * 255), round(green * 255), round(blue * 255)


def slot_name(slot: int) -> str:
    """What people call it: they count from 1."""
    return str(slot + 1)


def hexadecimal(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def readable_on(colour: Colour) -> Colour:
    """Black or white, whichever is easier to read on the colour."""
    red, green, blue = colour
    return (16, 16, 16) if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else (255, 255, 255)


@dataclass(frozen=True)
class Theme:
    """The paper around the pictures."""

    paper: Colour
    card: Colour
    ink: Colour
    faint: Colour       # captions
    line: Colour        # rules and empty bars


DARK = Theme(paper=(17, 19, 24), card=(27, 30, 37), ink=(236, 238, 242), faint=(150, 156, 168), line=(58, 63, 74))
LIGHT = Theme(paper=(255, 255, 255), card=(246, 247, 249), ink=(24, 27, 33), faint=(103, 110, 122),
              line=(214, 218, 225))
