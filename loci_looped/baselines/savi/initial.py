"""Weights before training that let slots differ from the first update on."""

from __future__ import annotations

import math

from torch import nn


def draw_weights(network: nn.Module, gain: float) -> None:
    """Gaussians whose spread is `gain` over the root of the number of inputs to each unit; no offsets.

    PyTorch's own weights are smaller: through a decoder's layers the differences between slots shrink to a thousandth,
    every slot paints the same picture, and the gradient that could tell them apart is as small as that.
    """
    for layer in network.modules():
        if isinstance(layer, nn.ConvTranspose2d):
            # Of a kernel that is moved by its stride only a part meets each pixel of the output.
            reached = layer.kernel_size[0] * layer.kernel_size[1] / (layer.stride[0] * layer.stride[1])
            inputs = layer.in_channels * reached
        elif isinstance(layer, nn.Conv2d | nn.Linear):
            inputs = layer.weight[0].numel()
        else:
            continue
        nn.init.normal_(layer.weight, std=gain / math.sqrt(inputs))
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
