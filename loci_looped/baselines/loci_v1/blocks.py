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

    def __init__(self, inputs: int, outputs: int, gain: float, *, by_cells: bool = False):
        super().__init__()
        self.by_cells = by_cells
        self.conv = nn.Conv2d(inputs, inputs, 3, padding=1)
        self.spread = nn.ConvTranspose2d(inputs, outputs, 12, stride=4, padding=4)
        self.gain = nn.Parameter(torch.full((1,), gain))

    def forward(self, x: Tensor) -> Tensor:
        skip = F.interpolate(channel_skip(x, self.spread.out_channels), scale_factor=4, mode="nearest")
        result: Tensor = skip + self.gain * self.spread_out(F.relu(self.conv(F.relu(x))))
        return result

    def spread_out(self, x: Tensor) -> Tensor:
        """`self.spread` of x. Each pixel hears three cells in either direction, so that it is a convolution of 3 x 3
        with sixteen outputs per colour, too: the same sums in another order, in a third of the time."""
        if not self.by_cells:
            spread: Tensor = self.spread(x)
            return spread
        weight = self.spread.weight                                             # (C, outputs, 12, 12)
        inputs, outputs = weight.shape[:2]
        blocks = weight.view(inputs, outputs, 3, 4, 3, 4).flip((2, 4))          # cell above first
        kernel = blocks.permute(1, 3, 5, 0, 2, 4).reshape(16 * outputs, inputs, 3, 3)
        bias = None if self.spread.bias is None else self.spread.bias.repeat_interleave(16)
        return F.pixel_shuffle(F.conv2d(x, kernel, bias, padding=1), 4)


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
