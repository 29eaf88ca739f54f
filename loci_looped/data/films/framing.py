"""Films of any shape for a network of one shape: squeezed, or cropped, and said."""

from __future__ import annotations

from dataclasses import dataclass

from loci_looped.data.coordinates import Size
from loci_looped.data.formats.images import shape_note
from loci_looped.utils.errors import LociError


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


def framing(name: str, film: Size, network: Size, crop: str = "none") -> Framing:
    """How a film of size (H, W) is brought to the network's.

    `crop` is none (the whole film, squeezed into the other shape, as `loci watch` does), middle (what is too much is
    cut off on both sides) or TOP,LEFT,HEIGHT,WIDTH in the film's pixels (that part, squeezed if need be).
    """
    if crop == "none":
        return Framing(Box(0, 0, *film), *shape_note(name, film, network))
    if crop != "middle":
        box = _box(crop, film)
        return Framing(box, *shape_note(f"{name}, cropped,", (box.height, box.width), network))
    height = min(film[0], max(1, round(film[1] * network[0] / network[1])))
    width = min(film[1], max(1, round(film[0] * network[1] / network[0])))
    box = Box((film[0] - height) // 2, (film[1] - width) // 2, height, width)
    if (height, width) == film:
        return Framing(box)
    lost = f"{film[0] - height} rows" if height < film[0] else f"{film[1] - width} columns"
    return Framing(box, f"{name} is {film[0]} x {film[1]} pixels, another shape than {network[0]} x {network[1]}: "
                        f"{lost} at its edges are cut off.")


def _box(text: str, film: Size) -> Box:
    try:
        top, left, height, width = (int(part) for part in text.split(","))
    except ValueError:
        raise LociError(
            f"--crop {text!r} is not understood: write none, middle, or TOP,LEFT,HEIGHT,WIDTH in pixels of the "
            "film, for example --crop 40,0,320,480."
        ) from None
    if min(top, left) < 0 or min(height, width) < 8 or top + height > film[0] or left + width > film[1]:
        raise LociError(
            f"--crop {text} does not fit the film, which has {film[0]} rows and {film[1]} columns; the part must lie "
            "inside and have at least 8 of each."
        )
    return Box(top, left, height, width)
