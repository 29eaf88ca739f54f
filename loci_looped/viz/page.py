"""A page for the browser in one file: films, curves that move with them, pictures and numbers. Nothing is fetched."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loci_looped.data.clip import Event
from loci_looped.utils.atomic import write_text
from loci_looped.viz.colours import css, hexadecimal, slot_colour, slot_name
from loci_looped.viz.history import History
from loci_looped.viz.timeline import EVENT_WORDS, QUANTITIES

TEMPLATE = Path(__file__).with_name("page.html")
LARGEST_INSIDE = 24 << 20
"""Films up to this many bytes are put into the page itself; larger ones must lie beside it."""
KINDS = {".mp4": "video/mp4", ".png": "image/png", ".gif": "image/gif"}


@dataclass(frozen=True)
class Section:
    """One film with its curves."""

    title: str
    note: str
    film: Path
    fps: float
    history: History
    events: Sequence[Event] = ()


@dataclass(frozen=True)
class Plate:
    """A picture with its caption."""

    title: str
    picture: Path


def write_page(
    path: str | Path, title: str, lead: str, sections: Sequence[Section], plates: Sequence[Plate] = (),
    numbers: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the page. Films and pictures are read from their files, which must exist."""
    path = Path(path)
    data = {
        "sections": [_section(section, path.parent) for section in sections],
        "plates": [{"title": plate.title, "source": _inside(plate.picture, path.parent)} for plate in plates],
        "numbers": [list(pair) for pair in numbers],
        "quantities": [{"name": name, "words": words, "unit": unit} for name, words, unit in QUANTITIES],
    }
    # A "<" inside a script could end it; as an escape it cannot.
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    page = TEMPLATE.read_text(encoding="utf-8").replace("/*PALETTE*/", css())
    for name, value in (("TITLE", html.escape(title)), ("LEAD", html.escape(lead)), ("DATA", text)):
        page = page.replace(f"<!--{name}-->", value)
    write_text(path, page)


def _inside(file: Path, folder: Path) -> str:
    """A data address with the whole file in it, or for a large one its name beside the page."""
    if file.stat().st_size > LARGEST_INSIDE:
        return file.relative_to(folder).as_posix()
    return f"data:{KINDS[file.suffix.lower()]};base64,{base64.b64encode(file.read_bytes()).decode('ascii')}"


def _section(section: Section, folder: Path) -> dict[str, Any]:
    history = section.history
    hidden = np.array([any(row.hidden) for row in history.rows], dtype=np.int8)
    edges = np.flatnonzero(np.diff(hidden, prepend=0, append=0)).reshape(-1, 2) * history.stride
    return {
        "title": section.title, "note": section.note, "film": _inside(section.film, folder), "fps": section.fps,
        "stride": history.stride, "length": len(history.rows),
        "slots": [{"name": slot_name(slot), "colour": hexadecimal(slot_colour(slot)), "index": slot}
                  for slot in history.slots_used],
        "curves": {name: _numbers(history, name) for name, _, _ in QUANTITIES},
        "hidden": edges.tolist(),
        "events": [{"frame": event.frame, "words": EVENT_WORDS[event.kind]}
                   for event in sorted(section.events, key=lambda event: event.frame)
                   if EVENT_WORDS[event.kind] and event.kind != "violation"],
    }


def _numbers(history: History, name: str) -> list[list[float | None]]:
    """Per slot the curve, None where it holds nothing."""
    curve = history.curve(name)
    return [[None if np.isnan(value) else round(float(value), 5) for value in curve[:, slot]]
            for slot in range(curve.shape[1])]
