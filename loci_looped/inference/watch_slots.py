"""Watching with any video model: what it says about its slots, frame by frame.

Loci-Looped says more than the protocol asks for, and is watched by watch.py; this is for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from loci_looped.baselines.protocol import Slots, VideoModel
from loci_looped.data.coordinates import resize
from loci_looped.data.formats.video import ALL, Selection
from loci_looped.inference.pixels import to_picture, to_tensor
from loci_looped.inference.run import scan
from loci_looped.inference.stream import Frame, Picture, Watchable, background_of, open_source

Before = tuple[int, Any, Picture | None]
"""What crosses a frame: its number, the model's state, and the picture the model expects."""


@dataclass(frozen=True)
class SlotsResult:
    """One frame and what a video model says about it. `slots` has a batch axis of 1."""

    number: int                 # frames before this one
    time: float                 # seconds since the beginning
    picture: Picture            # the frame as the source gave it
    frame: Picture              # (H, W, 3) as the model saw it
    expected: Picture | None    # (H, W, 3) what it had predicted for this frame; None where it predicts nothing
    slots: Slots


def watch_slots(
    model: VideoModel[Any], source: Watchable, size: tuple[int, int], *, background: Picture | str | Path | None = None,
    selection: Selection = ALL,
) -> Iterator[SlotsResult]:
    """Watch a film, a folder, frames or a clip at the model's `size` (H, W), frame by frame in constant memory."""
    stream = open_source(source, selection, size)
    empty, stream = background_of(stream, size, background)

    @torch.no_grad()
    def see(given: Frame, before: Before) -> tuple[Before, SlotsResult]:
        number, state, expected = before
        frame = resize(given.picture, size)
        state, slots = model.step(to_tensor(frame).unsqueeze(0), state)
        seen = SlotsResult(number, number / stream.fps, given.picture, frame, expected, slots)
        coming = None if slots.expectation is None else to_picture(slots.expectation.frame)
        return (number + 1, state, coming), seen

    beginning: Before = (0, model.initial(to_tensor(empty).unsqueeze(0)), None)
    for _, seen in scan(see, beginning, stream.frames()):
        yield seen
