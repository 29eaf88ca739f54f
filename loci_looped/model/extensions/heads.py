"""Other read-outs of the encoder: the look where the slot looks, sizes with a limit, places between the cells."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.network import LociConfig

from ..encoder import Encoder


class AttendedGestalt(nn.Module):
    """(n, C, h, w) -> (n, G): features where the slot looks, beside their mean over the image."""

    def __init__(self, config: LociConfig):
        super().__init__()
        width = 2 * config.encoder.channels
        self.norm = nn.LayerNorm(width)
        self.linear1 = nn.Linear(width, 64)
        self.linear2 = nn.Linear(64, config.gestalt)
        # Larger than usual, so that codes leave one half early and slots tell objects apart from the start.
        nn.init.orthogonal_(self.linear1.weight, 1.4)
        nn.init.orthogonal_(self.linear2.weight, 2.5)

    def forward(self, features: Tensor, attention: Tensor) -> Tensor:
        looked_at = (attention.unsqueeze(1) * features).sum((2, 3))
        both = torch.cat([looked_at, features.mean((2, 3)).to(looked_at.dtype)], dim=1)
        result: Tensor = self.linear2(F.relu(self.linear1(self.norm(both))))
        return result


class AttendedGestaltHead(Encoder):
    """The gestalt is read where the slot looks."""

    def build_gestalt_head(self) -> nn.Module:
        return AttendedGestalt(self.config)


class BoundedSize(Encoder):
    """The size is a sigmoid up to a limit: it has a gradient from the start, and no object fills the picture."""

    def build_size_head(self) -> None:
        return

    def size(self, size_map: Tensor) -> Tensor:
        return self.config.extensions.bounded_size * torch.sigmoid(size_map.mean((1, 2)) - 2)


class Offsets(Encoder):
    """Two more maps say where in its cell the object's middle lies, so that places do not snap to cells."""

    position_maps = 5

    def position(self, attention: Tensor, further_maps: list[Tensor]) -> Tensor:
        cell_middle = super().position(attention, further_maps)
        within = torch.stack([(attention * torch.tanh(m)).sum((1, 2)) for m in further_maps], dim=-1)
        rows, columns = self.cell_centres(attention)
        return cell_middle + within * torch.stack([rows[1] - rows[0], columns[1] - columns[0]])
