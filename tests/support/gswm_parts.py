"""A tiny G-SWM and clips for it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch
from torch import Tensor

from loci_looped.baselines.gswm import Gswm, GswmConfig, preset

GOLDEN = Path(__file__).parents[1] / "golden"

TINY = dataclasses.replace(
    preset("gswm-balls"), frame=32, max_objects=4, what=8, dynamics=8, hidden=16, glimpse_channels=16, trunk_channels=8,
    trunk_norm="group", context=8, context_channels=8,
)


def tiny(seed: int = 0, **changes: object) -> Gswm:
    torch.manual_seed(seed)
    config: GswmConfig = dataclasses.replace(TINY, **changes)  # type: ignore[arg-type]
    return Gswm(config).double().eval()


def clip(batch: int = 2, frames: int = 3, size: int = 32, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(batch, frames, 3, size, size, generator=generator, dtype=torch.float64)


def moving_square(frames: int, size: int = 32) -> Tensor:
    """(1, T, 3, size, size) an orange square of 8 pixels on black that goes two pixels to the right per frame."""
    film = torch.zeros(1, frames, 3, size, size)
    for t in range(frames):
        film[0, t, :, 8:16, 6 + 2 * t : 14 + 2 * t] = torch.tensor([1.0, 0.6, 0.1])[:, None, None]
    return film
