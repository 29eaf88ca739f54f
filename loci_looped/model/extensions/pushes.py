"""Pushes: what changes a drift, learnt as functions of few numbers that mean the same everywhere and in all directions.

Two things that meet push each other by what they are to one another: how far apart they are, how fast they approach and
how fast they pass. Told in the pair's own frame, along the line between them and across it, a push is a function of
these three numbers, whatever the direction of the line. And what stands around the scene pushes along rows and columns,
by place and speed along them. That there are pushes at all, how strong they are and how far they reach is learnt from
nothing: they begin at zero.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PLACE_GAIN, SPEED_GAIN = 10.0, 20.0
"""Places and speeds, in half images, enter times these, so that a pixel is a matter of tenths."""
FARTHEST, FASTEST = 1.5, 0.2
"""Where bends of the functions lie at first: up to this distance, and up to this speed."""
NEAREST = 1e-3
"""Closer together than this, two places have no direction."""


class Bends(nn.Module):
    """A function of few numbers: two layers of ramps whose bends are spread over a box at first; zero everywhere."""

    def __init__(self, low: Tensor, high: Tensor, width: int, outputs: int):
        super().__init__()
        self.ramps = nn.Linear(len(low), width)
        self.between = nn.Linear(width, width)
        self.height = nn.Linear(width, outputs, bias=False)
        at = low + (high - low) * torch.rand(width, len(low))
        with torch.no_grad():
            nn.init.normal_(self.ramps.weight, std=1 / math.sqrt(len(low)))
            self.ramps.bias.copy_(-(self.ramps.weight * at).sum(1))
            nn.init.zeros_(self.height.weight)

    def forward(self, numbers: Tensor) -> Tensor:
        result: Tensor = self.height(F.relu(self.between(F.relu(self.ramps(numbers)))))
        return result


class Pushes(nn.Module):
    """(place, drift) of every slot -> what is added to drift and place, (B, K, 2) each."""

    def __init__(self, width: int):
        super().__init__()
        far, fast = PLACE_GAIN * FARTHEST, SPEED_GAIN * FASTEST
        self.of_pair = Bends(torch.tensor([0.0, -fast, -fast]), torch.tensor([far, fast, fast]), width, 4)
        self.of_surroundings = Bends(torch.tensor([-far, -fast]), torch.tensor([far, fast]), width, 2)

    def forward(self, places: Tensor, drift: Tensor, heard: Tensor | None) -> tuple[Tensor, Tensor]:
        """`heard` (B, K) says who can push; None is everybody."""
        apart = places.unsqueeze(2) - places.unsqueeze(1)                               # (B, K, K, 2): i from j
        distance = (apart.square().sum(-1, keepdim=True) + NEAREST**2).sqrt()
        along = apart / distance
        across = torch.stack([-along[..., 1], along[..., 0]], dim=-1)
        passing = drift.unsqueeze(2) - drift.unsqueeze(1)
        told = torch.cat([
            PLACE_GAIN * distance, SPEED_GAIN * (passing * along).sum(-1, keepdim=True),
            SPEED_GAIN * (passing * across).sum(-1, keepdim=True),
        ], dim=-1)
        pushed = self.of_pair(told) / SPEED_GAIN                                        # (B, K, K, 4)
        others = ~torch.eye(places.shape[1], dtype=torch.bool, device=places.device)
        counts = others if heard is None else others & heard.unsqueeze(1)
        pushed = pushed * counts.unsqueeze(-1)
        to_drift = (pushed[..., :1] * along + pushed[..., 1:2] * across).sum(2)
        to_place = (pushed[..., 2:3] * along + pushed[..., 3:] * across).sum(2)
        around = self.of_surroundings(torch.stack([PLACE_GAIN * places, SPEED_GAIN * drift], dim=-1)) / SPEED_GAIN
        return to_drift + around[..., 0], to_place + around[..., 1]
