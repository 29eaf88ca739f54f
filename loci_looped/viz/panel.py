"""The paper's slot panel: time runs to the right; below the input come prediction, imagination and every slot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loci_looped.inference.watch import FrameResult
from loci_looped.utils.errors import LociError
from loci_looped.viz.canvas import Mask, Picture, Sheet, factor_for, fit
from loci_looped.viz.colours import HIDDEN, LIGHT, NOTHING, VISIBLE, Theme, readable_on, slot_colour, slot_name
from loci_looped.viz.overlay import overlay

LABELS = 168                # width of the captions on the left
GAP = 6


def object_mask(whole: Mask, visible: Mask) -> Picture:
    """(H, W, 3): the whole object; what can be seen of it white, what is hidden red, on black."""
    seen, hidden = np.clip(visible, 0, 1)[..., None], np.clip(whole - visible, 0, 1)[..., None]
    nothing = np.clip(1 - seen - hidden, 0, 1)
    mixed = seen * np.array(VISIBLE) + hidden * np.array(HIDDEN) + nothing * np.array(NOTHING)
    return np.asarray(np.rint(np.clip(mixed, 0, 255)), dtype=np.uint8)


def object_picture(whole: Mask, colours: Mask, ground: tuple[int, int, int] = NOTHING) -> Picture:
    """(H, W, 3): the whole object in its believed colours (3, H, W), cut out of a plain ground."""
    cover = np.clip(whole, 0, 1)[..., None]
    mixed = cover * np.clip(colours, 0, 1).transpose(1, 2, 0) * 255 + (1 - cover) * np.array(ground)
    return np.asarray(np.rint(mixed), dtype=np.uint8)


def slot_pictures(seen: FrameResult, slot: int) -> tuple[Picture, Picture]:
    """Mask and colours of one slot, both (H, W, 3); empty if it holds nothing."""
    whole = seen.belief.whole_masks[0, slot].numpy()
    visible = seen.belief.visible_masks()[0, slot].numpy()
    return object_mask(whole, visible), object_picture(whole, seen.belief.whole_colours[0, slot].numpy())


def slot_panel(moments: Sequence[FrameResult], title: str = "", theme: Theme = LIGHT, height: int = 80) -> Picture:
    """One column per moment; `height` is about the height of a small picture in pixels."""
    if not moments:
        raise LociError("A slot panel needs at least one moment.")
    slots = sorted({int(slot) for seen in moments for slot in np.flatnonzero(seen.bound.numpy())})
    rows, columns = moments[0].frame.shape[:2]
    factor = factor_for(rows, height)
    tall, wide = rows * factor, columns * factor
    heading = 56 if title else 28
    captions = [
        ("what it sees", "the input, with its beliefs drawn on it"), ("what it expected", "predicted one frame before"),
        ("behind the screen", "its belief, the screen taken away"),
    ]
    count = len(captions) + 2 * len(slots)
    sheet = Sheet(
        heading + count * (tall + GAP) + 12 * bool(slots) + 34, LABELS + len(moments) * (wide + GAP) + 12, theme.paper
    )
    if title:
        sheet.text(title, 14, 12, theme.ink, size=15, bold=True)
    for column, seen in enumerate(moments):
        left = LABELS + column * (wide + GAP)
        sheet.text(f"frame {seen.number}", heading - 8, left + wide // 2, theme.faint, size=11, anchor="ms")
        pictures = [overlay(seen, (tall, wide), seen.frame, tags=False), seen.expected, seen.behind_the_screen]
        for slot in slots:
            pictures += slot_pictures(seen, slot)
        for row, picture in enumerate(pictures):
            sheet.paste(fit(picture, (tall, wide)), _top(row, heading, tall), left)
    for row, (words, note) in enumerate(captions):
        middle = _top(row, heading, tall) + tall // 2
        sheet.text(words, middle - 9, 12, theme.ink, size=12, bold=True, anchor="lm")
        sheet.text(_wrapped(note), middle + 12, 12, theme.faint, size=9, anchor="lm")
    for index, slot in enumerate(slots):
        top = _top(3 + 2 * index, heading, tall)
        _slot_label(sheet, slot, top + tall // 2, theme)
        sheet.text("whole object", top + tall // 2, 44, theme.ink, size=12, anchor="lm")
        sheet.text("its colours", _top(4 + 2 * index, heading, tall) + tall // 2, 44, theme.ink, size=12, anchor="lm")
    _legend(sheet, heading + count * (tall + GAP) + 12 * bool(slots) + 8, theme)
    return sheet.picture


def _top(row: int, heading: int, tall: int) -> int:
    """The slots are set off from what is above them."""
    return heading + row * (tall + GAP) + (12 if row >= 3 else 0)


def _wrapped(note: str) -> str:
    words, lines = note.split(), [""]
    for word in words:
        lines = [*lines[:-1], f"{lines[-1]} {word}".strip()] if len(lines[-1]) + len(word) < 27 else [*lines, word]
    return "\n".join(lines)


def _slot_label(sheet: Sheet, slot: int, middle: int, theme: Theme) -> None:
    colour = slot_colour(slot)
    sheet.box(middle - 10, 12, 20, 22, colour, radius=5)
    sheet.text(slot_name(slot), middle, 23, readable_on(colour), size=12, bold=True, anchor="mm")


def _legend(sheet: Sheet, top: int, theme: Theme) -> None:
    left = LABELS
    for colour, words in ((VISIBLE, "seen"), (HIDDEN, "believed, out of sight")):
        sheet.box(top + 1, left, 12, 12, colour, radius=2, outline=theme.faint)
        sheet.text(words, top + 7, left + 18, theme.faint, size=11, anchor="lm")
        left += 34 + 7 * len(words)
