"""Generation: some frames are watched, and the rest of the film is imagined."""

from __future__ import annotations

import torch
from torch import Tensor

from loci_looped.utils.errors import LociError

from .checks import check_clip
from .gswm import Gswm
from .state import GswmOutput


def roll_out(
    model: Gswm, frames: Tensor, steps: int, generator: torch.Generator | None = None,
    *, background: Tensor | None = None,
) -> list[GswmOutput]:
    """Watch `frames` (B, T, 3, H, H), then imagine `steps` more: T + steps outputs.

    As the authors do, objects are looked for in the first frame only and followed in the others. Without a generator
    every draw is its mean; the authors draw while they watch, so their published figures are not deterministic.
    """
    check_clip(frames, background, model.config)
    if steps < 0:
        raise LociError(f"G-SWM cannot imagine {steps} steps; ask for 0 or more.")
    state = model.initial(torch.zeros_like(frames[:, 0]) if background is None else background)
    outputs = []
    for t in range(frames.shape[1] + steps):
        frame = frames[:, t] if t < frames.shape[1] else None
        state, output = model.step(frame, state, discover=t == 0, generator=generator)
        outputs.append(output)
    return outputs
