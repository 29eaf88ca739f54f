"""Looking into boxes of a frame, and painting boxes into it: the spatial transformer, both ways."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.gswm import GLIMPSE, GswmConfig

from .blocks import downsampling, upsampling

EPSILON = 1e-9
"""Added to the sides of a box that is divided by."""


def extract(picture: Tensor, where: Tensor) -> Tensor:
    """(B, C, H, H) and boxes (B, N, 4) -> (B, N, C, 16, 16) what the boxes show, black outside the picture."""
    batch, objects = where.shape[:2]
    channels = picture.shape[1]
    # All boxes of a clip in one tall grid: the picture need not be copied for each of them.
    grid = _grid(where[..., :2], where[..., 2:], GLIMPSE).reshape(batch, objects * GLIMPSE, GLIMPSE, 2)
    seen = F.grid_sample(picture, grid, align_corners=False)
    return seen.view(batch, channels, objects, GLIMPSE, GLIMPSE).transpose(1, 2)


def place(glimpses: Tensor, where: Tensor, size: int) -> Tensor:
    """(B, N, C, 16, 16) and their boxes (B, N, 4) -> (B, N, C, size, size) each in an empty frame of its own."""
    batch, objects, channels = glimpses.shape[:3]
    sides = where[..., :2] + EPSILON
    grid = _grid(1 / sides, -where[..., 2:] / sides, size).flatten(0, 1)
    placed = F.grid_sample(glimpses.flatten(0, 1), grid, align_corners=False)
    return placed.view(batch, objects, channels, size, size)


def _grid(scale: Tensor, shift: Tensor, size: int) -> Tensor:
    """(B, N, size, size, 2) the points scale * p + shift for p on a regular grid over [-1, 1] x [-1, 1]."""
    line = (2 * torch.arange(size, dtype=scale.dtype, device=scale.device) + 1) / size - 1
    x = scale[..., :1] * line + shift[..., :1]
    y = scale[..., 1:] * line + shift[..., 1:]
    wide = (*scale.shape[:2], size, size)
    return torch.stack([x[:, :, None, :].expand(wide), y[:, :, :, None].expand(wide)], dim=-1)


class GlimpseEncoder(nn.Module):
    """A glimpse as features."""

    def __init__(self, config: GswmConfig):
        super().__init__()
        channels = config.glimpse_channels
        self.net = downsampling((3, channels // 8, channels // 4, channels // 2, channels))
        self.output = nn.Linear(channels, config.hidden)

    def forward(self, glimpses: Tensor) -> Tensor:
        """(B, N, 3, 16, 16) -> (B, N, hidden)"""
        features: Tensor = self.output(self.net(glimpses.flatten(0, 1)).flatten(1))
        return features.view(*glimpses.shape[:2], -1)


class GlimpseDecoder(nn.Module):
    """What an object looks like, in its own box."""

    def __init__(self, config: GswmConfig):
        super().__init__()
        channels = config.glimpse_channels
        self.input = nn.Linear(config.what, channels)
        self.net = upsampling((channels, channels // 2, channels // 4, channels // 8, 4))

    def forward(self, what: Tensor) -> tuple[Tensor, Tensor]:
        """(B, N, what) -> colours (B, N, 3, 16, 16) and opacity (B, N, 1, 16, 16), both in (0, 1)."""
        batch, objects = what.shape[:2]
        seed = F.celu(self.input(what.flatten(0, 1)))[:, :, None, None]
        glimpse: Tensor = self.net(seed).view(batch, objects, 4, GLIMPSE, GLIMPSE)
        return glimpse[:, :, :3], glimpse[:, :, 3:]
