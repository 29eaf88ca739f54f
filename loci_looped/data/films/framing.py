"""Films of any shape for a network of one shape: squeezed where nobody would notice, cropped where everybody would."""

from __future__ import annotations

from dataclasses import dataclass

from loci_looped.data.coordinates import Size
from loci_looped.utils.errors import LociError

MILD = 1.35
"""A picture may be squeezed by this factor before it is cropped: 4:3 and 16:9 films fit a 3:2 network uncropped."""


@dataclass(frozen=True)
class Box:
    """A part of a picture, in pixels."""

    top: int
    left: int
    height: int
    width: int

    @property
    def rows(self) -> slice:
        return slice(self.top, self.top + self.height)

    @property
    def columns(self) -> slice:
        return slice(self.left, self.left + self.width)


@dataclass(frozen=True)
class Framing:
    """Which part of the film the network sees, and a sentence about it where something is lost or bent."""

    box: Box
    sentence: str = ""


def framing(film: Size, network: Size, crop: str = "auto") -> Framing:
    """How a film of size (H, W) is brought to the network's: `crop` is auto, none, middle or TOP,LEFT,HEIGHT,WIDTH."""
    whole = Box(0, 0, *film)
    if crop not in ("auto", "none", "middle"):
        return Framing(_box(crop, film))
    stretch = (film[1] / film[0]) / (network[1] / network[0])       # above 1: the film is wider than the network
    bent = max(stretch, 1 / stretch)
    shapes = f"{film[0]} x {film[1]} pixels, the network's picture {network[0]} x {network[1]}"
    if bent < 1.02:
        return Framing(whole)
    if crop == "none" or (crop == "auto" and bent <= MILD):
        way = "narrower" if stretch > 1 else "flatter"
        return Framing(whole, f"The film has {shapes}: it is squeezed and looks {100 * (1 - 1 / bent):.0f} % {way}.")
    if stretch > 1:
        width = max(1, round(film[0] * network[1] / network[0]))
        box = Box(0, (film[1] - width) // 2, film[0], width)
        lost = f"{film[1] - width} columns at its sides are"
    else:
        height = max(1, round(film[1] * network[0] / network[1]))
        box = Box((film[0] - height) // 2, 0, height, film[1])
        lost = f"{film[0] - height} rows at its top and bottom are"
    return Framing(box, f"The film has {shapes}: {lost} cut off. A part of your own: --crop TOP,LEFT,HEIGHT,WIDTH.")


def _box(text: str, film: Size) -> Box:
    try:
        top, left, height, width = (int(part) for part in text.split(","))
    except ValueError:
        raise LociError(
            f"--crop {text!r} is not understood: write auto, none, middle, or TOP,LEFT,HEIGHT,WIDTH in pixels of the "
            "film, for example --crop 40,0,320,480."
        ) from None
    if min(top, left) < 0 or min(height, width) < 8 or top + height > film[0] or left + width > film[1]:
        raise LociError(
            f"--crop {text} does not fit the film, which has {film[0]} rows and {film[1]} columns; the part must lie "
            "inside and have at least 8 of each."
        )
    return Box(top, left, height, width)
