"""The picture as a grid of features: the first three stages of a ResNet-18 without pooling, then one convolution."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.gswm import TRUNK_STRIDE, GswmConfig, TrunkNorm

from .blocks import group_norm


def _norm(kind: TrunkNorm, channels: int) -> nn.Module:
    return nn.BatchNorm2d(channels) if kind == "batch" else group_norm(channels)


class Residual(nn.Module):
    """Two convolutions beside a skip."""

    def __init__(self, inputs: int, outputs: int, stride: int, norm: TrunkNorm):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.first_norm = _norm(norm, outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.second_norm = _norm(norm, outputs)
        self.skip: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), _norm(norm, outputs))

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(inner)) + self.skip(x))


class Trunk(nn.Module):
    """(B, 6, H, H) frame and its difference to the background -> (B, hidden, G, G)"""

    def __init__(self, config: GswmConfig):
        super().__init__()
        width, norm = config.trunk_channels, config.trunk_norm
        self.stem = nn.Conv2d(6, width, 7, stride=2, padding=3, bias=False)
        self.stem_norm = _norm(norm, width)
        self.stages = nn.Sequential(
            nn.Sequential(Residual(width, width, 1, norm), Residual(width, width, 1, norm)),
            nn.Sequential(Residual(width, 2 * width, 2, norm), Residual(2 * width, 2 * width, 1, norm)),
            nn.Sequential(Residual(2 * width, 4 * width, 2, norm), Residual(4 * width, 4 * width, 1, norm)),
        )
        stride = config.frame // (TRUNK_STRIDE * config.cells)
        self.last = nn.Conv2d(4 * width, config.hidden, 3, stride=stride, padding=1)

    def forward(self, pictures: Tensor) -> Tensor:
        features: Tensor = self.last(self.stages(F.relu(self.stem_norm(self.stem(pictures)))))
        return features
