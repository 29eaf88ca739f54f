"""Small tools for pictures: crisp enlarging, text, and sheets on which pictures are laid out."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from loci_looped.utils.atomic import replacing
from loci_looped.viz.colours import Colour

Picture = NDArray[np.uint8]         # (H, W, 3) RGB
Mask = NDArray[np.float32]          # (H, W) in [0, 1]


def enlarge(picture: Picture, factor: int) -> Picture:
    """Every pixel becomes a square: what the network sees is not made smoother than it is."""
    return np.ascontiguousarray(picture.repeat(factor, axis=0).repeat(factor, axis=1))


def fit(picture: Picture, size: tuple[int, int]) -> Picture:
    """At size (H, W): crisp where that is a whole multiple of the picture, smoothed otherwise."""
    height, width = picture.shape[:2]
    if size[0] % height == 0 and size[1] % width == 0 and size[0] // height == size[1] // width:
        return enlarge(picture, size[0] // height)
    shrinks = size[0] < height
    kind = Image.Resampling.BOX if shrinks else Image.Resampling.BICUBIC
    return np.asarray(Image.fromarray(picture).resize((size[1], size[0]), kind))


def factor_for(height: int, wanted: int) -> int:
    """The whole factor that brings `height` nearest to the wanted one."""
    return max(1, round(wanted / height))


@lru_cache(maxsize=16)
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which matplotlib brings along: the same letters on every machine."""
    return ImageFont.truetype(_font_file(bold), size)


def _font_file(bold: bool = False) -> str:
    from matplotlib import get_data_path

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return str(Path(get_data_path()) / "fonts" / "ttf" / name)


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(_font_file()).get_charmap())


def legible(words: str) -> str:
    """Words as they can be drawn: names in scripts that the font lacks (Chinese, say) get question marks in pictures;
    pages and tables have them as they are."""
    return "".join(letter if ord(letter) in _letters() or letter.isspace() else "?" for letter in words)


class Sheet:
    """A sheet of paper on which pictures and words are put; `picture` gives the result."""

    def __init__(self, height: int, width: int, paper: Colour):
        self.image = Image.new("RGB", (width, height), paper)
        self.pen = ImageDraw.Draw(self.image)

    def paste(self, picture: Picture, top: int, left: int) -> None:
        self.image.paste(Image.fromarray(picture), (left, top))

    def text(
        self, words: str, top: int, left: int, colour: Colour, size: int = 13, bold: bool = False, anchor: str = "la"
    ) -> None:
        """`anchor` is PIL's: first letter l, m, r across, second a (top), m (middle), s (baseline) down."""
        self.pen.text((left, top), legible(words), fill=colour, font=font(size, bold), anchor=anchor)

    def box(
        self, top: int, left: int, height: int, width: int, fill: Colour | None, radius: int = 0,
        outline: Colour | None = None,
    ) -> None:
        if height < 1 or width < 1:
            return
        corners = (left, top, left + width - 1, top + height - 1)
        self.pen.rounded_rectangle(corners, min(radius, height // 2, width // 2), fill=fill, outline=outline)

    def line(self, points: list[tuple[float, float]], colour: Colour, width: int = 1) -> None:
        """Points are (row, column)."""
        if len(points) > 1:
            self.pen.line([(x, y) for y, x in points], fill=colour, width=width, joint="curve")

    @property
    def picture(self) -> Picture:
        return np.asarray(self.image)


def write_png(path: str | Path, picture: Picture) -> None:
    """Write a picture, whole or not at all."""
    with replacing(path) as temporary:
        Image.fromarray(picture).save(temporary, format="PNG")
