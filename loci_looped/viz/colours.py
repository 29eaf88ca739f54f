"""One colour per slot, the same in every picture, film, curve and in the lab; and the colours of paper around them."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass, fields

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
NOTHING: Colour = (10, 11, 14)
"""Where a slot draws nothing."""
CASING: Colour = (12, 13, 16)
"""A dark rim under every coloured line, so that it can be seen on any ground."""


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
    """The paper around the pictures, by day or by night. `css` gives the same colours to the browser."""

    paper: Colour
    card: Colour
    well: Colour        # what lies deeper than a card: empty bars, keys
    ink: Colour
    faint: Colour       # captions
    line: Colour        # rules
    accent: Colour      # links, the button to press first
    accent_ink: Colour  # words on it
    ours: Colour        # the rows of a table that are ours
    alarm: Colour
    alarm_paper: Colour
    series: tuple[Colour, ...]      # the lines of a chart, one per model


LIGHT = Theme(
    paper=(255, 255, 255), card=(246, 247, 249), well=(233, 236, 241), ink=(24, 27, 33), faint=(93, 101, 115),
    line=(214, 218, 225), accent=(47, 85, 212), accent_ink=(255, 255, 255), ours=(238, 244, 253), alarm=(179, 38, 30),
    alarm_paper=(253, 236, 234),
    series=((31, 111, 209), (194, 98, 10), (194, 47, 69), (47, 138, 74), (122, 79, 192), (13, 138, 147)),
)
DARK = Theme(
    paper=(17, 19, 24), card=(27, 30, 37), well=(40, 44, 53), ink=(236, 238, 242), faint=(158, 165, 178),
    line=(58, 63, 74), accent=(138, 168, 255), accent_ink=(14, 21, 48), ours=(24, 36, 58), alarm=(255, 154, 144),
    alarm_paper=(58, 28, 26),
    series=((106, 169, 255), (240, 160, 75), (255, 125, 142), (111, 202, 136), (183, 151, 242), (92, 200, 207)),
)
OPACITIES = {"shade": 0.07, "grid": 0.13, "reference": 0.18}
"""Veils of ink: stretches in which something is hidden, base lines, and the run before."""


def css() -> str:
    """The palette as CSS variables. The lab serves it as `palette.css`; demo page and report carry it inside."""
    always = {"night": DARK.paper, "night-faint": DARK.faint, "casing": CASING,
              "hidden": HIDDEN, "visible": VISIBLE, "nothing": NOTHING}
    fixed = " ".join(f"--{name}: {hexadecimal(colour)};" for name, colour in always.items())
    return (
        f":root {{ color-scheme: light dark; {fixed}\n  {_variables(LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{\n  {_variables(DARK)} }} }}\n"
    )


def _variables(theme: Theme) -> str:
    names = [field.name for field in fields(theme) if field.name != "series"]
    plain = {name.replace("_", "-"): getattr(theme, name) for name in names}
    plain |= {f"c{number}": colour for number, colour in enumerate(theme.series, start=1)}
    veils = {name: "rgba({}, {}, {}, {})".format(*theme.ink, opacity) for name, opacity in OPACITIES.items()}
    return " ".join(f"--{name}: {value};" for name, value in
                    {**{name: hexadecimal(colour) for name, colour in plain.items()}, **veils}.items())
