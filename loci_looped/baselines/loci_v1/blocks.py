"""The bricks that Loci-v1 has in place of Loci-Looped's patches: overlapping convolutions, four times down or up."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.model.blocks import channel_skip


class Down(nn.Module):
    """Four times smaller: block mean with repeated channels + gain · two convolutions, the first one 11 x 11."""

    def __init__(self, inputs: int, outputs: int, gain: float):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 11, stride=4, padding=5)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.gain = nn.Parameter(torch.full((1,), gain))

    def forward(self, x: Tensor) -> Tensor:
        skip = channel_skip(F.avg_pool2d(x, 4), self.conv2.out_channels)
        result: Tensor = skip + self.gain * self.conv2(F.relu(self.conv1(x)))
        return result


class Up(nn.Module):
    """Four times larger: averaged channels, each cell repeated, + gain · a transposed convolution of 12 x 12."""

    def __init__(self, inputs: int, outputs: int, gain: float):
        super().__init__()
        self.conv = nn.Conv2d(inputs, inputs, 3, padding=1)
        self.spread = nn.ConvTranspose2d(inputs, outputs, 12, stride=4, padding=4)
        self.gain = nn.Parameter(torch.full((1,), gain))

    def forward(self, x: Tensor) -> Tensor:
        skip = F.interpolate(channel_skip(x, self.spread.out_channels), scale_factor=4, mode="nearest")
        result: Tensor = skip + self.gain * self.spread(F.relu(self.conv(F.relu(x))))
        return result


class ToOneCell(nn.Module):
    """(n, C, h, w) -> (n, C', 1, 1): the spatial mean + gain · two large convolutions."""

    def __init__(self, inputs: int, outputs: int, latent: tuple[int, int], gain: float):
        super().__init__()
        rows, columns = ((cells + 1) // 3 + 1 for cells in latent)
        self.conv1 = nn.Conv2d(inputs, inputs, 5, stride=3, padding=3)
        self.conv2 = nn.Conv2d(inputs, outputs, (rows, columns))
        self.gain = nn.Parameter(torch.full((1,), gain))

    def forward(self, x: Tensor) -> Tensor:
        skip = channel_skip(x.mean((2, 3), keepdim=True), self.conv2.out_channels)
        result: Tensor = skip + self.gain * self.conv2(F.relu(self.conv1(x)))
        return result
