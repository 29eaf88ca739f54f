"""The picture of an annotated film: what is seen, expected and believed, with every slot's state below it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loci_looped.inference.watch import FrameResult
from loci_looped.viz.canvas import Picture, Sheet, enlarge, factor_for, fit
from loci_looped.viz.colours import DARK, Theme, readable_on, slot_colour, slot_name
from loci_looped.viz.overlay import overlay
from loci_looped.viz.panel import slot_pictures

MARGIN, TRAIL, WINDOW = 20, 10, 96


@dataclass
class Storyboard:
    """Draws frame after frame; it remembers a short trail of places and the last curves, nothing more."""

    title: str = ""
    note: str = ""
    theme: Theme = DARK
    trail: deque[NDArray[np.floating]] = field(default_factory=lambda: deque(maxlen=TRAIL))
    surprise: deque[NDArray[np.floating]] = field(default_factory=lambda: deque(maxlen=WINDOW))
    highest: float = 4.0

    def draw(self, seen: FrameResult) -> Picture:
        rows, columns = seen.frame.shape[:2]
        factor = factor_for(rows, 240)
        tall, wide = rows * factor, columns * factor
        slots = seen.bound.shape[0]
        small = max(1, factor // 3)
        width = max(3 * wide + 4 * MARGIN, slots * (columns * small + 16) + 2 * MARGIN, 760)
        top_row, card_row = 76, 76 + tall + 22
        card_height = 30 + 2 * (rows * small + 6) + 70
        curve_row = card_row + card_height + 18
        sheet = Sheet(curve_row + 92 + MARGIN, width, self.theme.paper)
        self._heading(sheet, seen, width)
        trail = overlay(seen, (tall, wide), seen.frame if not seen.frame.any() else None, tuple(self.trail))
        pictures = (
            ("What it sees", trail), ("What it expected to see", enlarge(seen.expected, factor)),
            ("What it believes is behind the screen" if seen.screen is not None else "What it believes",
             overlay(seen, (tall, wide), seen.behind_the_screen, tags=False, ghost=seen.screen)),
        )
        gap = (width - 2 * MARGIN - 3 * wide) // 2
        for index, (words, picture) in enumerate(pictures):
            left = MARGIN + index * (wide + gap)
            sheet.text(words, top_row - 9, left, self.theme.ink, size=13, bold=True, anchor="ls")
            sheet.paste(fit(picture, (tall, wide)), top_row, left)
        pitch = (width - 2 * MARGIN + 12) // slots
        for slot in range(slots):
            self._card(sheet, seen, slot, card_row, MARGIN + slot * pitch, card_height, pitch - 12, small)
        self.trail.append(seen.percept.position.numpy())
        self.surprise.append(np.where(seen.bound.numpy(), seen.surprise.numpy(), np.nan))
        self._curve(sheet, curve_row, width)
        return sheet.picture

    def _heading(self, sheet: Sheet, seen: FrameResult, width: int) -> None:
        sheet.text(self.title, 24, MARGIN, self.theme.ink, size=16, bold=True, anchor="lm")
        words = f"frame {seen.number}   {seen.time:.1f} s"
        sheet.text(words, 24, width - MARGIN, self.theme.faint, size=13, anchor="rm")
        if self.note:
            sheet.text(self.note, 24, width - MARGIN - 170, self.theme.faint, size=13, anchor="rm")

    def _card(
        self, sheet: Sheet, seen: FrameResult, slot: int, top: int, left: int, height: int, width: int, small: int
    ) -> None:
        bound, colour = bool(seen.bound[slot]), slot_colour(slot)
        sheet.box(top, left, height, width, self.theme.card, radius=8)
        sheet.box(top + 8, left + 10, 18, 20, colour if bound else self.theme.line, radius=4)
        label = readable_on(colour) if bound else self.theme.faint
        sheet.text(slot_name(slot), top + 17, left + 20, label, size=11, bold=True, anchor="mm")
        state = "empty" if not bound else "screen" if slot == seen.screen else (
            "hidden" if float(seen.occlusion[slot]) > 0.8 else "seen")
        sheet.text(state, top + 17, left + 37, self.theme.ink if bound else self.theme.faint, size=12, anchor="lm")
        rows, columns = seen.frame.shape[:2]
        inner = left + (width - columns * small) // 2
        for index, picture in enumerate(slot_pictures(seen, slot)):
            sheet.paste(enlarge(picture, small), top + 32 + index * (rows * small + 6), inner)
        bars = (
            ("hidden", float(seen.occlusion[slot])), ("position gate", float(seen.gate[slot, 1])),
            ("gestalt gate", float(seen.gate[slot, 0])),
        )
        base = top + 32 + 2 * (rows * small + 6) + 4
        for index, (words, value) in enumerate(bars):
            self._bar(sheet, words, value if bound else 0.0, base + 20 * index, left + 10, width - 20, colour)

    def _bar(self, sheet: Sheet, words: str, value: float, top: int, left: int, width: int, colour: tuple[int, int, int]
             ) -> None:
        sheet.text(words, top + 5, left, self.theme.faint, size=10, anchor="lm")
        start = left + 78
        length = width - 78
        sheet.box(top + 2, start, 6, length, self.theme.line, radius=3)
        filled = round(length * min(1.0, max(0.0, value)))
        sheet.box(top + 2, start, 6, filled, colour, radius=3)

    def _curve(self, sheet: Sheet, top: int, width: int) -> None:
        """The last seconds of every slot's surprise; the scale only ever grows, so peaks can be compared."""
        values = np.stack(self.surprise)
        if np.isfinite(values).any():
            self.highest = max(self.highest, float(np.nanmax(values)))
        left, height = MARGIN + 84, 84
        span = width - left - MARGIN
        sheet.text("Surprise", top + 12, MARGIN, self.theme.ink, size=13, bold=True, anchor="lm")
        sheet.text(f"top {self.highest:.0f} bits", top + 31, MARGIN, self.theme.faint, size=10, anchor="lm")
        sheet.box(top, left, height, span, self.theme.card, radius=6)
        window = self.surprise.maxlen or WINDOW
        start = window - len(values)
        for slot in range(values.shape[1]):
            points = [
                (top + height - 6 - (height - 14) * float(value) / self.highest,
                 left + 6 + (start + t) * (span - 12) / (window - 1))
                for t, value in enumerate(values[:, slot]) if np.isfinite(value)
            ]
            sheet.line(points, slot_colour(slot), width=2)
