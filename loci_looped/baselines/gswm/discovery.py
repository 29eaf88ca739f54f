"""Discovery: each cell of a grid over the frame may find one new object, told what is known already."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from loci_looped.configs.gswm import GswmConfig

from .blocks import MLP, head
from .distributions import Gaussian, draw_presence
from .state import DiscoveryBelief, Objects
from .trunk import Trunk

PRESENT = 0.5
"""An object known with a higher presence does not want to be found again."""
EPSILON = 1e-5


class Discovery(nn.Module):
    def __init__(self, config: GswmConfig):
        super().__init__()
        hidden = config.hidden
        self.config = config
        self.trunk = Trunk(config)
        self.known_features = MLP(config.vector, hidden, hidden, hidden)
        self.widths = (1, 4, config.what)       # depth, where, what
        self.attributes = head(2 * hidden, hidden, 1 + 2 * sum(self.widths))
        self.dynamics = head(2 * hidden, hidden, 2 * config.dynamics)

    def forward(
        self, frame: Tensor, background: Tensor, known: Objects, generator: torch.Generator | None
    ) -> DiscoveryBelief:
        """What the cells find beside the objects that are known in this frame."""
        features = self.trunk(torch.cat([frame, frame - background], dim=1))
        features = torch.cat([features, self.map_of(known)], dim=1)
        of_depth, of_where, of_what = self.widths
        sizes = [1, of_depth, of_depth, of_where, of_where, of_what, of_what]
        logits, *raw = torch.split(_cells(self.attributes(features)), sizes, dim=-1)
        depth, where, what = (Gaussian.of(raw[2 * i], raw[2 * i + 1]) for i in range(len(self.widths)))
        dynamics = Gaussian.halves(_cells(self.dynamics(features)))

        presence = draw_presence(logits, self.config.temperature, generator)
        boxes = self.boxes(where.draw(generator))
        rejected = self.rejected(boxes, known)
        objects = Objects(
            presence=presence.masked_fill(rejected.unsqueeze(-1), 0.0),
            depth=depth.draw(generator),
            where=boxes,
            what=what.draw(generator),
            dynamics=dynamics.draw(generator),
            ids=known.ids.amax(1, keepdim=True) + 1 + torch.arange(boxes.shape[1], device=boxes.device),
        )
        return DiscoveryBelief(
            objects, presence, torch.sigmoid(logits), rejected, depth=depth, scale=where.part(slice(0, 2)),
            shift=where.part(slice(2, 4)), what=what, dynamics=dynamics,
        )

    def map_of(self, known: Objects) -> Tensor:
        """(B, hidden, G, G) the known objects, spread around their places."""
        cells, std = self.config.cells, self.config.map_std
        features = self.known_features(known.vector) * known.presence
        away = known.where[:, :, None, 2:] - self._centres(features)                       # (B, N, GG, 2)
        weights = torch.exp(-away.square().sum(-1) / (2 * std**2)) / (2 * math.pi * std**2)
        return torch.einsum("bng,bnc->bcg", weights, features).view(*features.shape[::2], cells, cells)

    def boxes(self, raw: Tensor) -> Tensor:
        """(B, GG, 4) each within reach of its cell."""
        shift = self._centres(raw) + 2 / self.config.cells * torch.tanh(raw[..., 2:])
        return torch.cat([torch.sigmoid(raw[..., :2]), shift], dim=-1)

    def rejected(self, boxes: Tensor, known: Objects) -> Tensor:
        """(B, GG) bool: the cell found what is known already."""
        overlap = overlaps(boxes.detach(), known.where.detach())
        present = known.presence.transpose(1, 2) > PRESENT
        return ((overlap > self.config.rejection_overlap) & present).any(2)

    def _centres(self, like: Tensor) -> Tensor:
        """(GG, 2) x, y of the cells, row by row."""
        cells = self.config.cells
        line = (2 * torch.arange(cells, dtype=like.dtype, device=like.device) + 1) / cells - 1
        return torch.stack([line.repeat(cells), line.repeat_interleave(cells)], dim=-1)


def overlaps(first: Tensor, second: Tensor) -> Tensor:
    """(B, N, 4) and (B, M, 4) -> (B, N, M) intersection over union."""
    (low, high), (other_low, other_high) = _corners(first.unsqueeze(2)), _corners(second.unsqueeze(1))
    shared = (torch.minimum(high, other_high) - torch.maximum(low, other_low)).clamp(min=0).prod(-1)
    areas = first[..., :2].prod(-1).unsqueeze(2) + second[..., :2].prod(-1).unsqueeze(1)
    return shared / (areas - shared + EPSILON)


def _corners(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """In shares of the frame."""
    middle, half = (boxes[..., 2:] + 1) / 2, boxes[..., :2] / 2
    return middle - half, middle + half


def _cells(maps: Tensor) -> Tensor:
    """(B, C, G, G) -> (B, GG, C)"""
    return maps.flatten(2).transpose(1, 2)
