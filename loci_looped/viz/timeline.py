"""Curves over time, one line per slot: surprise, how much is hidden, how far the gates are open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from loci_looped.data.clip import Event
from loci_looped.utils.atomic import replacing
from loci_looped.viz.canvas import Picture, legible
from loci_looped.viz.colours import hexadecimal, slot_colour, slot_name
from loci_looped.viz.history import History

QUANTITIES = (
    ("surprise", "surprise", "bits"),
    ("occlusion", "hidden", "share of object"),
    ("gate_position", "position gate", "open"),
    ("gate_gestalt", "gestalt gate", "open"),
)
EVENT_WORDS = {
    "removed": "removed", "inserted": "inserted", "screen_falls": "screen falls", "violation": "violation",
    "hidden_from": "", "hidden_to": "", "collision": "collision",
}


def timeline(
    history: History, events: Sequence[Event] = (), title: str = "", reference: History | None = None
) -> Figure:
    """A figure with one row per quantity. `reference` is drawn in grey behind the surprise: the matched control."""
    figure = Figure(figsize=(9, 6.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Sequence[Axes] = figure.subplots(len(QUANTITIES), 1, sharex=True, height_ratios=(1.6, 1, 1, 1))
    frames = history.frames
    for axis, (name, words, unit) in zip(axes, QUANTITIES, strict=True):
        curves = history.curve(name)
        for slot in history.slots_used:
            axis.plot(frames, curves[:, slot], color=hexadecimal(slot_colour(slot)), linewidth=1.7,
                      label=f"slot {slot_name(slot)}")
        axis.set_ylabel(f"{words}\n({unit})", fontsize=9)
        if name != "surprise":
            axis.set_ylim(-0.05, 1.05)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        _shade_hidden(axis, history)
    _mark_events(axes, events)
    if reference is not None and reference.rows:
        highest = np.nanmax(np.nan_to_num(reference.curve("surprise")), axis=1)
        axes[0].fill_between(reference.frames, highest, color="#9aa0aa", alpha=0.45, linewidth=0,
                             label="largest in the control")
    axes[0].set_ylim(bottom=0)
    axes[-1].set_xlabel("frame")
    if axes[0].get_legend_handles_labels()[0]:
        axes[0].legend(loc="upper left", fontsize=8, ncols=4, frameon=False)
    if title:
        figure.suptitle(legible(title), fontsize=11, parse_math=False)     # a name with $ in it is no formula
    return figure


def _shade_hidden(axis: Axes, history: History) -> None:
    """Grey where, in truth, something in the image is wholly out of sight."""
    anything = np.array([any(row.hidden) for row in history.rows], dtype=bool)
    edges = np.flatnonzero(np.diff(anything.astype(np.int8), prepend=0, append=0))
    frames = np.append(history.frames, history.frames[-1:] + history.stride)
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        axis.axvspan(frames[first], frames[last], color="#000000", alpha=0.06, linewidth=0)


def _mark_events(axes: Sequence[Axes], events: Sequence[Event]) -> None:
    named: dict[int, list[str]] = {}
    for event in events:
        word = EVENT_WORDS[event.kind]
        if word and word not in named.setdefault(event.frame, []):
            named[event.frame].append(word)
    for frame, words in named.items():
        several = [word for word in words if word != "violation"] or words
        for axis in axes:
            axis.axvline(frame, color="#555b66", linewidth=0.9, linestyle=(0, (3, 3)))
        if several:
            axes[0].annotate(", ".join(several), (frame, 1.0), xycoords=("data", "axes fraction"), fontsize=8,
                             xytext=(3, -2), textcoords="offset points", va="top", color="#555b66")


def rendered(figure: Figure, dpi: int = 130) -> Picture:
    """(H, W, 3) the figure as a picture."""
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])


def write_timeline(path: str | Path, figure: Figure, dpi: int = 130) -> None:
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=dpi, format=Path(path).suffix.lstrip(".") or "png")
