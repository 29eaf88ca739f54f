from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from loci_looped.data.clip import Event
from loci_looped.inference.watch import FrameResult
from loci_looped.viz.canvas import legible
from loci_looped.viz.colours import slot_colour
from loci_looped.viz.history import History
from loci_looped.viz.timeline import rendered, timeline, write_timeline


def fill(make_moment: Callable[..., FrameResult], frames: int, limit: int = 2048) -> History:
    history = History(limit)
    for number in range(frames):
        history.add(make_moment(10.0 + number % 40, number, surprise=1.0 if number == 13 else 0.1))
    return history


def test_curves_have_a_row_per_frame_and_nothing_for_empty_slots(make_moment: Callable[..., FrameResult]) -> None:
    history = fill(make_moment, 20)
    curve = history.curve("surprise")
    assert curve.shape == (20, 3) and history.slots_used == [0, 1]
    assert np.isnan(curve[:, 2]).all()
    assert np.allclose(curve[13, :2], 1.0, atol=1e-4) and np.allclose(curve[12, :2], 0.1, atol=1e-4)


def test_a_long_stream_keeps_few_rows_and_its_peak(make_moment: Callable[..., FrameResult]) -> None:
    history = fill(make_moment, 300, limit=32)
    assert len(history.rows) < 32 and history.stride > 8
    assert np.nanmax(history.curve("surprise")) > 0.99
    assert history.frames[0] == 0 and (np.diff(history.frames) == history.stride).all()


def test_the_figure_shows_slot_colours_and_events(make_moment: Callable[..., FrameResult], tmp_path: Path) -> None:
    history = fill(make_moment, 30)
    plain = rendered(timeline(history), dpi=60)
    marked = rendered(timeline(history, [Event("removed", 13, 1), Event("violation", 13, 1)]), dpi=60)
    assert (plain != marked).any()
    for slot in (0, 1):
        assert (np.abs(plain.astype(int) - slot_colour(slot)).sum(-1) < 30).any()
    assert not (np.abs(plain.astype(int) - slot_colour(2)).sum(-1) < 30).any()
    write_timeline(tmp_path / "curves.png", timeline(history, reference=history))
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_names_of_any_script_and_with_dollars_can_be_drawn(make_moment: Callable[..., FrameResult]) -> None:
    history = fill(make_moment, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")          # matplotlib warns of every letter its font lacks
        titles = ("映画.mp4", r"cost $\frac$ 5.mp4")
        drawn = [rendered(timeline(history, title=title), dpi=60) for title in titles]
    assert (drawn[0] != drawn[1]).any() and legible("映画 é.mp4") == "?? é.mp4"
