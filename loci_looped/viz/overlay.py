"""Drawing on frames: where each object is, and its whole outline, solid where it is seen, dashed where it is hidden."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import contourpy
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from loci_looped.data.coordinates import to_pixels
from loci_looped.inference.watch import FrameResult
from loci_looped.viz.canvas import Mask, Picture, fit, font
from loci_looped.viz.colours import CASING, Colour, readable_on, slot_colour, slot_name

Points = NDArray[np.float64]        # (N, 2) row, column
FINE = 2                            # lines are drawn at twice the size and shrunk, which makes them smooth
DASH, GAP = 7.0, 5.0                # display pixels


def outlines(mask: Mask, level: float = 0.5) -> list[Points]:
    """The closed or open lines along which a soft mask (H, W) crosses `level`, with sub-pixel places."""
    padded = np.pad(mask.astype(np.float64), 1)         # an object cut by the border gets a line along it
    lines = contourpy.contour_generator(z=padded, line_type=contourpy.LineType.Separate).lines(level)
    found = [np.asarray(line, dtype=np.float64)[:, ::-1] - 1 for line in lines]
    height, width = mask.shape
    return [np.clip(line, (-0.5, -0.5), (height - 0.5, width - 0.5)) for line in found]


def hidden_along(line: Points, whole: Mask, visible: Mask) -> NDArray[np.bool_]:
    """(N,) which points of an outline belong to a part that is out of sight."""
    height, width = whole.shape
    around = [
        (np.clip(row(line[:, 0]), 0, height - 1).astype(int), np.clip(column(line[:, 1]), 0, width - 1).astype(int))
        for row in (np.floor, np.ceil) for column in (np.floor, np.ceil)
    ]
    # An outline runs between pixels: of the four around a point, how much belongs to the object, how much is seen?
    there = np.stack([whole[place] for place in around]).sum(0)
    seen = np.stack([visible[place] for place in around]).sum(0)
    return np.asarray(seen < 0.5 * there)


def dashes(line: Points, hidden: NDArray[np.bool_], dash: float = DASH, gap: float = GAP) -> Iterator[Points]:
    """Pieces of a line (in display pixels): all of it where it is seen, dashes where it is hidden."""
    lengths = np.hypot(*np.diff(line, axis=0).T)
    places = np.concatenate([[0.0], np.cumsum(lengths)])
    count = max(2, int(places[-1]) + 1)
    even = np.linspace(0.0, places[-1], count)          # about one point per display pixel
    points = np.stack([np.interp(even, places, line[:, axis]) for axis in (0, 1)], axis=1)
    nearest = np.clip(np.searchsorted(places, even), 0, len(hidden) - 1)
    drawn = ~hidden[nearest] | (even % (dash + gap) < dash)
    edges = np.flatnonzero(np.diff(drawn.astype(np.int8), prepend=0, append=0))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        if last - first > 1:
            yield points[first:last]


def overlay(
    seen: FrameResult, size: tuple[int, int], base: Picture | None = None, trails: Sequence[NDArray[np.floating]] = (),
    tags: bool = True, ghost: int | None = None,
) -> Picture:
    """The frame at display size (H, W) with outlines, places and slot numbers of all bound slots.

    `base` is drawn upon instead of the frame. `trails` are earlier (K, 2) positions, the oldest first. Of the slot
    `ghost` only a faint outline is left: the screen that has been taken away.
    """
    weight = min(1.0, max(0.55, size[0] / 240))         # lines on small pictures are thinner
    ground = fit(seen.picture if base is None else base, size)
    layer = Image.new("RGBA", (size[1] * FINE, size[0] * FINE), (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    network = seen.frame.shape[:2]
    scale = np.array(size) / np.array(network)

    def to_display(points: NDArray[np.floating]) -> Points:
        return np.asarray((points + 0.5) * scale - 0.5, dtype=np.float64)

    whole = seen.belief.whole_masks[0].numpy()
    visible = seen.belief.visible_masks()[0].numpy()
    positions = seen.percept.position.numpy()
    for slot in np.flatnonzero(seen.bound.numpy()):
        colour = slot_colour(int(slot))
        for line in outlines(whole[slot]):
            if slot == ghost:
                _ghost(pen, to_display(line), weight)
            else:
                _outline(pen, to_display(line), hidden_along(line, whole[slot], visible[slot]), colour, weight)
        if slot == ghost:
            continue
        past = [to_display(to_pixels(row[slot], network)) for row in trails]
        place = to_display(to_pixels(positions[slot], network))
        _trail(pen, [*past, place], colour, weight)
        _marker(pen, place, colour, float(seen.occlusion[slot]) < 0.5, weight)
        if tags:
            _tag(pen, place, slot_name(int(slot)), colour, size)
    small = layer.resize((size[1], size[0]), Image.Resampling.BOX)
    picture = Image.fromarray(ground).convert("RGBA")
    return np.asarray(Image.alpha_composite(picture, small).convert("RGB"))


def _outline(
    pen: ImageDraw.ImageDraw, line: Points, hidden: NDArray[np.bool_], colour: Colour, weight: float
) -> None:
    pieces = list(dashes(line, hidden, DASH * weight, GAP * weight))
    for shade, width in ((CASING, 4.0), (colour, 2.0)):
        for piece in pieces:
            pen.line([(x * FINE, y * FINE) for y, x in piece], fill=(*shade, 255), width=round(width * weight * FINE),
                     joint="curve")


def _ghost(pen: ImageDraw.ImageDraw, line: Points, weight: float) -> None:
    for piece in dashes(line, np.ones(len(line), dtype=bool), 2 * weight, 4 * weight):
        pen.line([(x * FINE, y * FINE) for y, x in piece], fill=(255, 255, 255, 190), width=round(1.5 * weight * FINE))


def _trail(pen: ImageDraw.ImageDraw, places: list[Points], colour: Colour, weight: float) -> None:
    for age, place in enumerate(reversed(places[:-1])):
        _disc(pen, place, max(0.8, 2.2 - 0.12 * age) * weight, (*colour, max(0, 200 - 16 * age)))


def _marker(pen: ImageDraw.ImageDraw, place: Points, colour: Colour, solid: bool, weight: float) -> None:
    _disc(pen, place, 6.0 * weight, (*CASING, 255))
    _disc(pen, place, 4.5 * weight, (*colour, 255))
    if not solid:           # a ring: the object is hidden
        _disc(pen, place, 2.2 * weight, (*CASING, 255))


def _disc(pen: ImageDraw.ImageDraw, place: Points, radius: float, fill: tuple[int, int, int, int]) -> None:
    y, x = place * FINE
    reach = radius * FINE
    pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=fill)


def _tag(pen: ImageDraw.ImageDraw, place: Points, words: str, colour: Colour, size: tuple[int, int]) -> None:
    """The slot's number beside its marker, on the side where there is room."""
    y, x = place * FINE
    letters = font(11 * FINE, bold=True)
    width, height = letters.getlength(words) + 8 * FINE, 15 * FINE
    left = x + 9 * FINE if x + 9 * FINE + width < size[1] * FINE else x - 9 * FINE - width
    top = min(max(y - height / 2, 0), size[0] * FINE - height)
    pen.rounded_rectangle((left, top, left + width, top + height), 4 * FINE, fill=(*colour, 255))
    pen.text((left + width / 2, top + height / 2), words, fill=(*readable_on(colour), 255), font=letters, anchor="mm")
