"""Contact sheets: what is in a clip, on one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from loci_looped.data.clip import Clip, ObjectTruth
from loci_looped.utils.atomic import replacing
from loci_looped.utils.errors import LociError
from loci_looped.viz.canvas import legible

# Object colours of the mask rows: far apart in hue, readable on grey.
INKS = np.array([(230, 60, 60), (60, 120, 230), (250, 190, 40), (60, 180, 90), (180, 80, 200), (40, 190, 200),
                 (240, 130, 60), (140, 140, 140)], dtype=np.uint8)
MARGIN, CAPTION = 4, 12
PAPER, INK, FAINT = (250, 250, 248), (30, 30, 30), (120, 120, 120)


def contact_sheet(clips: Sequence[Clip], columns: int = 10, width: int = 1400, masks: bool = True) -> NDArray[np.uint8]:
    """(H, W, 3) one block per clip: frames spread over its length, under them the objects (pale where hidden)."""
    if not clips:
        raise LociError("A contact sheet needs at least one clip.")
    blocks = [_block(clip, columns, width, masks) for clip in clips]
    return np.concatenate(blocks, axis=0)


def write_sheet(
    path: str | Path, clips: Sequence[Clip], columns: int = 10, width: int = 1400, masks: bool = True
) -> None:
    """The contact sheet as a PNG file."""
    sheet = contact_sheet(clips, columns, width, masks)
    with replacing(Path(path).with_suffix(".png")) as temporary:
        Image.fromarray(sheet).save(temporary, format="png")


def _block(clip: Clip, columns: int, width: int, masks: bool) -> NDArray[np.uint8]:
    height_px, width_px = clip.size
    columns = min(columns, len(clip))
    cell_width = (width - MARGIN) // columns - MARGIN
    if cell_width > width_px:                       # enlarge by a whole number, so that every pixel has the same size
        cell_width -= cell_width % width_px
    cell_height = max(1, round(cell_width * height_px / width_px))
    rows = 2 if masks and clip.truth is not None else 1
    sheet = Image.new("RGB", (width, 2 * CAPTION + rows * (cell_height + MARGIN) + 2 * MARGIN), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((MARGIN, 1), _fitted(pen, legible(_title(clip)), width - 2 * MARGIN), fill=INK)
    for column, frame in enumerate(np.linspace(0, len(clip) - 1, columns).round().astype(int).tolist()):
        left, top = MARGIN + column * (cell_width + MARGIN), CAPTION + MARGIN
        pen.text((left + 1, top), str(frame), fill=FAINT)
        top += CAPTION
        sheet.paste(_scaled(clip.frames[frame], cell_width, cell_height), (left, top))
        if rows == 2 and clip.truth is not None:
            drawn = mask_picture(clip.truth, frame)
            sheet.paste(_scaled(drawn, cell_width, cell_height), (left, top + cell_height + MARGIN))
    return np.asarray(sheet)


def mask_picture(truth: ObjectTruth, frame: int) -> NDArray[np.uint8]:
    """(H, W, 3) objects in their inks; what is hidden of them is pale; a dark dot marks the centre."""
    height, width = truth.object_masks.shape[2:]
    image = np.full((height, width, 3), 236, dtype=np.uint8)
    for index in range(truth.count):
        ink = INKS[index % len(INKS)].astype(np.uint16)
        hidden = truth.object_masks[frame, index] & ~truth.visible_masks[frame, index]
        image[hidden] = ((image[hidden].astype(np.uint16) * 2 + ink) // 3).astype(np.uint8)
    for index in range(truth.count):
        image[truth.visible_masks[frame, index]] = INKS[index % len(INKS)]
    for place in truth.positions[frame]:
        if not np.isnan(place).any():
            row, column = (round(float(value)) for value in place)
            if 0 <= row < height and 0 <= column < width:
                image[row, column] = INK
    return image


def _scaled(pixels: NDArray[np.uint8], width: int, height: int) -> Image.Image:
    """Enlarged frames show their pixels; reduced ones are smoothed."""
    how = Image.Resampling.NEAREST if width >= pixels.shape[1] else Image.Resampling.LANCZOS
    return Image.fromarray(np.ascontiguousarray(pixels)).resize((width, height), how)


def _fitted(pen: ImageDraw.ImageDraw, text: str, width: int) -> str:
    """The text, cut at its end if it is too long for the sheet."""
    if pen.textlength(text) <= width:
        return text
    while text and pen.textlength(text + " ...") > width:
        text = text[:-1]
    return text + " ..."


def _title(clip: Clip) -> str:
    height, width = clip.size
    parts = [clip.source or "clip", f"{len(clip)} frames", f"{height}x{width}"]
    if clip.seed is not None:
        parts.append(f"seed {clip.seed}")
    if clip.truth is not None:
        parts.append(", ".join(clip.truth.names))
    events = [f"{event.kind} {event.frame}" + ("" if event.object is None else f" ({event.object})")
              for event in clip.events if event.kind not in ("hidden_from", "hidden_to")]
    return " · ".join([*parts, *([", ".join(dict.fromkeys(events))] if events else [])])
