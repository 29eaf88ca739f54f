"""What any video model makes of a film: time runs to the right; below the input come expectation and every slot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loci_looped.data.coordinates import to_pixels
from loci_looped.inference.watch_slots import SlotsResult
from loci_looped.utils.errors import LociError
from loci_looped.viz.canvas import Picture, Sheet, factor_for, fit
from loci_looped.viz.colours import CASING, DARK, LIGHT, NOTHING, Theme, readable_on, slot_colour, slot_name

LABELS, GAP, MARGIN = 168, 6, 20
SMALLEST = 1e-3
"""A slot whose mask never covers more than this share of the picture has no row."""


def own_pixels(seen: SlotsResult, slot: int) -> Picture:
    """(H, W, 3): what of the frame a slot claims to see, on a plain ground."""
    share = seen.slots.visible_masks[0, slot].clamp(0, 1).numpy()[..., None]
    return np.asarray(np.rint(share * seen.frame + (1 - share) * np.array(NOTHING)), dtype=np.uint8)


def with_places(seen: SlotsResult, size: tuple[int, int]) -> Picture:
    """The frame at display size (H, W) with a dot where each present slot believes its object to be."""
    ground = fit(seen.frame, size)
    sheet = Sheet(*size, (0, 0, 0))
    sheet.paste(ground, 0, 0)
    scale = np.array(size) / np.array(seen.frame.shape[:2])
    for slot in np.flatnonzero(seen.slots.presence[0].numpy()):
        places = to_pixels(seen.slots.positions[0, slot].numpy().astype(np.float64), seen.frame.shape[:2])
        y, x = (round(float(value)) for value in (places + 0.5) * scale - 0.5)
        sheet.box(y - 5, x - 5, 11, 11, CASING, radius=5)
        sheet.box(y - 4, x - 4, 9, 9, slot_colour(int(slot)), radius=4)
    return sheet.picture


def slot_strip(moments: Sequence[SlotsResult], title: str = "", theme: Theme = LIGHT, height: int = 80) -> Picture:
    """One column per moment; `height` is about the height of a small picture in pixels."""
    if not moments:
        raise LociError("A strip needs at least one moment.")
    shares = np.stack([seen.slots.visible_masks[0].mean((1, 2)).numpy() for seen in moments])       # (moments, K)
    slots = [int(slot) for slot in np.flatnonzero(shares.max(axis=0) > SMALLEST)]
    rows, columns = moments[0].frame.shape[:2]
    factor = factor_for(rows, height)
    tall, wide = rows * factor, columns * factor
    heading = 56 if title else 28
    captions = ["what it sees", *(["what it expected"] if any(m.expected is not None for m in moments) else [])]
    count = len(captions) + len(slots)
    sheet = Sheet(heading + count * (tall + GAP) + 12, LABELS + len(moments) * (wide + GAP) + 12, theme.paper)
    if title:
        sheet.text(title, 14, 12, theme.ink, size=15, bold=True)
    for column, seen in enumerate(moments):
        left = LABELS + column * (wide + GAP)
        sheet.text(f"frame {seen.number}", heading - 8, left + wide // 2, theme.faint, size=11, anchor="ms")
        pictures = [with_places(seen, (tall, wide))]
        if len(captions) > 1:
            pictures.append(np.zeros_like(seen.frame) + 40 if seen.expected is None else seen.expected)
        pictures += [own_pixels(seen, slot) for slot in slots]
        for row, picture in enumerate(pictures):
            sheet.paste(fit(picture, (tall, wide)), heading + row * (tall + GAP), left)
    for row, words in enumerate(captions):
        sheet.text(words, heading + row * (tall + GAP) + tall // 2, 12, theme.ink, size=12, bold=True, anchor="lm")
    for index, slot in enumerate(slots):
        middle, colour = heading + (len(captions) + index) * (tall + GAP) + tall // 2, slot_colour(slot)
        sheet.box(middle - 10, 12, 20, 22, colour, radius=5)
        sheet.text(slot_name(slot), middle, 23, readable_on(colour), size=12, bold=True, anchor="mm")
        sheet.text("what it claims", middle, 44, theme.ink, size=12, anchor="lm")
    return sheet.picture


def slot_board(seen: SlotsResult, title: str = "", theme: Theme = DARK, height: int = 240) -> Picture:
    """The picture of a film: what is seen and what was expected, and below it what each slot claims."""
    rows, columns = seen.frame.shape[:2]
    factor = factor_for(rows, height)
    tall, wide = rows * factor, columns * factor
    count, half = seen.slots.presence.shape[1], max(1, factor // 2)
    low, narrow = rows * half, columns * half
    width = max(2 * wide + 3 * MARGIN, count * (narrow + GAP) + 2 * MARGIN - GAP)
    sheet = Sheet(76 + tall + 44 + low + MARGIN, width, theme.paper)
    sheet.text(title, 24, MARGIN, theme.ink, size=16, bold=True, anchor="lm")
    sheet.text(f"frame {seen.number}   {seen.time:.1f} s", 24, width - MARGIN, theme.faint, size=13, anchor="rm")
    expected = np.zeros_like(seen.frame) + 40 if seen.expected is None else seen.expected
    size = (tall, wide)
    shown = (("What it sees", with_places(seen, size)), ("What it expected to see", fit(expected, size)))
    for index, (words, picture) in enumerate(shown):
        left = MARGIN + index * (wide + MARGIN)
        sheet.text(words, 67, left, theme.ink, size=13, bold=True, anchor="ls")
        sheet.paste(picture, 76, left)
    for slot in range(count):
        left, top = MARGIN + slot * (narrow + GAP), 76 + tall + 14
        present = bool(seen.slots.presence[0, slot])
        sheet.box(top, left, 18, 20, slot_colour(slot) if present else theme.line, radius=4)
        letters = readable_on(slot_colour(slot)) if present else theme.faint
        sheet.text(slot_name(slot), top + 9, left + 10, letters, size=11, bold=True, anchor="mm")
        sheet.paste(fit(own_pixels(seen, slot), (low, narrow)), top + 24, left)
    return sheet.picture
