"""Slots hear what each of the others is to them: how it stands to them, how far away it is, what both remember.

Whether two things touch depends on the difference of their places. Attention compares absolute codes, and has to find
out about differences by itself; a message for every pair is told them. What follows from being near is learnt.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.network import LociConfig

from ..state import SlotCodes
from ..transition import Transition

PLACE_GAIN = 4.0
"""Differences of places enter in quarters of a half image, so that weights notice them."""


class Relation(nn.Module):
    """What the others are to a slot, in sum: a two-layer network of every ordered pair, silent at the start."""

    def __init__(self, inputs: int, width: int, outputs: int):
        super().__init__()
        # The first layer of a network of [slot, other, places], taken apart so that each slot goes through it once.
        self.of_slot = nn.Linear(inputs, width)
        self.of_other = nn.Linear(inputs, width, bias=False)
        self.of_places = nn.Linear(3, width, bias=False)
        self.between = nn.Linear(width, width)
        self.told = nn.Linear(width, outputs, bias=False)
        nn.init.zeros_(self.told.weight)

    def forward(self, slots: Tensor, places: Tensor, heard: Tensor | None) -> Tensor:
        """(B, K, inputs), places (B, K, 2), who is heard (B, K) or None for all -> (B, K, outputs)."""
        apart = places.unsqueeze(2) - places.unsqueeze(1)                               # (B, K, K, 2): i from j
        distance = (apart.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        pairs = self.of_slot(slots).unsqueeze(2) + self.of_other(slots).unsqueeze(1)
        pairs = pairs + self.of_places(PLACE_GAIN * torch.cat([apart, distance], dim=-1))
        messages = F.relu(self.between(F.relu(pairs)))                                  # (B, K, K, width)
        others = ~torch.eye(slots.shape[1], dtype=torch.bool, device=slots.device)
        counts = others if heard is None else others & heard.unsqueeze(1)
        told: Tensor = self.told((messages * counts.unsqueeze(-1)).sum(2))
        return told


class RelationTransition(Transition):
    """Before each recurrent layer a slot is told what the others are to it, beside or instead of attention."""

    def __init__(self, config: LociConfig):
        super().__init__(config)
        width = config.memory_width
        with torch.random.fork_rng(devices=()):     # all other weights begin as they do without it
            self.relation = nn.ModuleList(
                Relation(2 * width, config.extensions.relation, width) for _ in range(config.transition.layers)
            )

    def related(
        self, layer: int, x: Tensor, hidden: Tensor, percept: SlotCodes, attention_mask: Tensor | None
    ) -> Tensor:
        told: Tensor = self.relation[layer](torch.cat([x, hidden], dim=-1), percept.position, attention_mask)
        return x + told
