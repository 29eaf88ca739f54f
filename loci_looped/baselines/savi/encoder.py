"""The encoder: a frame becomes a set of tokens, one per cell of a feature map, that know their place."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.savi import EncoderConfig

from .blocks import Perceptron, PositionEmbedding


class FrameEncoder(nn.Module):
    """Convolutions, position embedding, and a perceptron on each cell."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        widths = (3, *config.channels)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(
                widths[i], widths[i + 1], config.kernel_size, stride=config.stride if i == 0 else 1,
                padding=config.kernel_size // 2,
            )
            for i in range(len(config.channels))
        )
        self.position = PositionEmbedding(widths[-1])
        self.norm = nn.LayerNorm(widths[-1])
        self.perceptron = Perceptron(widths[-1], config.token_width, config.token_width)

    def forward(self, frame: Tensor) -> Tensor:
        """(B, 3, H, W) in [-1, 1] -> (B, N, token width), cells row by row"""
        features = frame
        for index, convolution in enumerate(self.convolutions):
            features = convolution(features if index == 0 else torch.relu(features))
        cells = self.position(features).flatten(2).transpose(1, 2)
        tokens: Tensor = self.perceptron(self.norm(cells))
        return tokens
