"""Who still knows where the ball is? One row per model, one column per moment of the same scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.coordinates import diagonal
from loci_looped.utils.errors import LociError
from loci_looped.viz.canvas import Picture, Sheet, fit
from loci_looped.viz.colours import CASING, HIDDEN, LIGHT, VISIBLE, Colour, Theme

LABELS, GAP, CAPTION, HEADING, MARGIN = 210, 8, 22, 78, 14
LOST = 0.10
"""A slot farther away than this share of the diagonal has lost its object; the tracking experiment's limit."""
FINE = 4
HELD: Colour = (0, 158, 115)
OTHER: Colour = (150, 152, 158)


@dataclass(frozen=True)
class Moment:
    """What a model says at one frame about one object. Places are pixels (row, column) of the frame."""

    frame: Picture                      # (H, W, 3) as the model is shown it
    truth: NDArray[np.floating]         # (2,)
    holders: NDArray[np.floating]       # (N, 2) of the slots that have taken this object for theirs, and are present
    others: NDArray[np.floating]        # (M, 2) of the other slots that are present

    @property
    def error(self) -> float | None:
        """Distance of the nearest holder over the diagonal; None if nobody holds the object."""
        if not len(self.holders):
            return None
        distances = np.linalg.norm(self.holders - self.truth, axis=1)
        return float(distances.min()) / diagonal((self.frame.shape[0], self.frame.shape[1]))

    @property
    def is_known(self) -> bool:
        return self.error is not None and self.error < LOST

    @property
    def words(self) -> str:
        if self.error is None:
            return "held by no slot"
        return f"{100 * self.error:.1f} % off" if self.is_known else f"lost, {100 * self.error:.0f} % off"


@dataclass(frozen=True)
class Witness:
    """A model, and what it says at every moment."""

    name: str
    note: str
    moments: tuple[Moment, ...]


def hidden_moment(
    witnesses: Sequence[Witness], captions: Sequence[str], title: str, theme: Theme = LIGHT, height: int = 120
) -> Picture:
    """All pictures are `height` pixels tall, whatever their shape."""
    if not witnesses or not captions or any(len(witness.moments) != len(captions) for witness in witnesses):
        raise LociError("The picture of a hidden moment needs one model or more, and as many moments of each.")
    widest = max(_width(moment.frame, height) for witness in witnesses for moment in witness.moments)
    step = height + CAPTION + GAP
    sheet = Sheet(HEADING + len(witnesses) * step + 34, LABELS + len(captions) * (widest + GAP) + MARGIN, theme.paper)
    sheet.text(title, 14, MARGIN, theme.ink, size=16, bold=True)
    for column, words in enumerate(captions):
        left = LABELS + column * (widest + GAP)
        sheet.text(words, HEADING - 12, left + widest // 2, theme.faint, size=12, anchor="ms")
    for row, witness in enumerate(witnesses):
        top = HEADING + row * step
        sheet.text(witness.name, top + height // 2 - 10, MARGIN, theme.ink, size=14, bold=True, anchor="lm")
        sheet.text(witness.note, top + height // 2 + 12, MARGIN, theme.faint, size=11, anchor="lm")
        for column, moment in enumerate(witness.moments):
            wide = _width(moment.frame, height)
            left = LABELS + column * (widest + GAP) + (widest - wide) // 2
            sheet.paste(_marked(moment, (height, wide)), top, left)
            colour = HELD if moment.is_known else HIDDEN
            sheet.text(moment.words, top + height + 4, left + wide // 2, colour, size=12, bold=True, anchor="ma")
    _legend(sheet, HEADING + len(witnesses) * step + 10, theme)
    return sheet.picture


def _width(frame: Picture, height: int) -> int:
    return round(float(frame.shape[1] * height / frame.shape[0]))


def _marked(moment: Moment, size: tuple[int, int]) -> Picture:
    """The frame at display size with a ring at the truth and a dot at every place that is believed in.

    Drawn larger and shrunk, which makes round things smooth.
    """
    large = size[0] * FINE, size[1] * FINE
    sheet = Sheet(*large, (0, 0, 0))
    sheet.paste(fit(moment.frame, large), 0, 0)
    scale = np.array(large) / np.array(moment.frame.shape[:2])

    def shown(place: NDArray[np.floating]) -> tuple[int, int]:
        y, x = np.clip((place + 0.5) * scale - 0.5, 0, np.array(large) - 1)
        return round(float(y)), round(float(x))

    for place in moment.others:
        _dot(sheet, *shown(place), 3 * FINE, OTHER)
    _ring(sheet, *shown(moment.truth), FINE)
    for place in moment.holders:
        _dot(sheet, *shown(place), 5 * FINE, HELD)
    return fit(sheet.picture, size)


def _dot(sheet: Sheet, y: int, x: int, radius: int, colour: Colour) -> None:
    for grown, fill in ((round(1.3 * radius), CASING), (radius, colour)):
        sheet.box(y - grown, x - grown, 2 * grown + 1, 2 * grown + 1, fill, radius=grown)


def _ring(sheet: Sheet, y: int, x: int, thick: int = 1) -> None:
    for radius in range(8 * thick, 12 * thick):
        colour = VISIBLE if 9 * thick <= radius < 11 * thick else CASING
        sheet.box(y - radius, x - radius, 2 * radius + 1, 2 * radius + 1, None, radius=radius, outline=colour)


def _legend(sheet: Sheet, top: int, theme: Theme) -> None:
    marks = (("where the object is", 200), ("where a slot that took it for its own believes it to be", 400),
             ("other slots", 100))
    left = LABELS + 10
    for index, (words, wide) in enumerate(marks):
        if index == 0:
            _ring(sheet, top + 10, left)
        else:
            _dot(sheet, top + 10, left, 5 if index == 1 else 3, HELD if index == 1 else OTHER)
        sheet.text(words, top + 10, left + 18, theme.ink, size=12, anchor="lm")
        left += wide
