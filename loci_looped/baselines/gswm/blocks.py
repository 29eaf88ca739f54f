"""The bricks of G-SWM's networks: perceptrons, and stacks of convolution, CELU and group norm."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

GROUP = 16
"""Channels per group of a norm."""


def group_norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(max(1, channels // GROUP), channels)


class MLP(nn.Module):
    """Linear layers with a CELU between them, on the last axis."""

    def __init__(self, *widths: int):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))

    def forward(self, x: Tensor) -> Tensor:
        return self.after_first(self.first(x))

    @property
    def first(self) -> nn.Linear:
        layer = self.layers[0]
        assert isinstance(layer, nn.Linear)
        return layer

    def after_first(self, x: Tensor) -> Tensor:
        """From what the first layer gave to the end."""
        for layer in self.layers[1:]:
            x = layer(F.celu(x))
        return x


def downsampling(widths: Sequence[int], first_kernel: int = 3) -> nn.Sequential:
    """Convolutions, each of which halves the picture."""
    parts: list[nn.Module] = []
    kernel = first_kernel
    for before, after in pairwise(widths):
        parts += [nn.Conv2d(before, after, kernel, stride=2, padding=kernel // 2), nn.CELU(), group_norm(after)]
        kernel = 3
    return nn.Sequential(*parts)


def upsampling(widths: Sequence[int]) -> nn.Sequential:
    """Convolutions and pixel shuffles, each of which doubles the picture; colours between 0 and 1 come out."""
    parts: list[nn.Module] = []
    for before, after in pairwise(widths):
        parts += [nn.Conv2d(before, 4 * after, 3, padding=1), nn.PixelShuffle(2), nn.CELU(), group_norm(after)]
    return nn.Sequential(*parts[:-2], nn.Sigmoid())


def head(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """A perceptron on each cell of a map."""
    return nn.Sequential(
        nn.Conv2d(inputs, hidden, 1), nn.CELU(), group_norm(hidden),
        nn.Conv2d(hidden, hidden, 1), nn.CELU(), group_norm(hidden),
        nn.Conv2d(hidden, outputs, 1),
    )
