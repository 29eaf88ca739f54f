"""The one loop over time: a model takes step after step, and what it says comes out.

    for t, slots in run(model, clips):
        ...

`run` is for clips of equal length, watched together by any `VideoModel`; `scan` is the loop itself, also for streams.
Only training has a loop of its own (`unroll`), because it goes back through time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from loci_looped.baselines.protocol import Slots, VideoModel
from loci_looped.data.clip import Clip
from loci_looped.inference.pixels import backgrounds_of, frames_at
from loci_looped.utils.errors import LociError

Input = TypeVar("Input")
State = TypeVar("State")
Output = TypeVar("Output")

Shown = tuple[Tensor | None, Tensor | None]
"""The frame (None: imagine) and the blackout (None: no clip goes dark) of one step, as `VideoModel.step` takes them."""
Show = Callable[[int, Tensor, Slots | None], Shown]
"""(t, the true frame, what the model said at t - 1) -> what the model is shown at t."""


def scan(
    step: Callable[[Input, State], tuple[State, Output]], state: State, inputs: Iterable[Input]
) -> Iterator[tuple[int, Output]]:
    """Yields (t, output); only the state crosses from one step to the next."""
    for t, given in enumerate(inputs):
        state, output = step(given, state)
        yield t, output


def as_filmed(t: int, frame: Tensor, before: Slots | None) -> Shown:
    """The model is shown every frame as it is."""
    return frame, None


@torch.no_grad()
def run(
    model: VideoModel[Any], clips: Sequence[Clip], *, show: Show = as_filmed, steps: int | None = None
) -> Iterator[tuple[int, Slots]]:
    """Yields (t, slots) for t = 0, 1, ... over clips that are watched together.

    `show` decides what the model gets to see. `steps` is the length of the clips unless told otherwise; beyond the end
    the last frame is offered again and again.
    """
    lengths = {len(clip) for clip in clips}
    if len(lengths) != 1:
        raise LociError(f"Clips that are watched together must be equally long, these have {sorted(lengths)} frames.")
    (length,) = lengths

    def step(t: int, before: tuple[Any, Slots | None]) -> tuple[tuple[Any, Slots], Slots]:
        state, said = before
        frame, blackout = show(t, frames_at(clips, min(t, length - 1)), said)
        state, slots = model.step(frame, state, blackout=blackout)
        return (state, slots), slots

    beginning: tuple[Any, Slots | None] = (model.initial(backgrounds_of(clips)), None)
    yield from scan(step, beginning, range(length if steps is None else steps))


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """The network is evaluated, then left in the mode it was in."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
