"""Situation awareness: what an object remembers depends on itself, on the others, and on the background around it.

Two copies of everything but the look at the background: for inference, and for the prior that can go on alone.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.gswm import GswmConfig

from .blocks import MLP
from .glimpses import GlimpseEncoder, extract
from .state import SHIFT, Memory, Objects, Recurrent

EPSILON = 1e-4
"""Added to the attention's sum where nobody else is present."""


class PairMLP(MLP):
    """A perceptron on all ordered pairs of objects, where the other's place is told relative to one's own.

    Its first layer is linear in the pair, so it is computed per object and added: N instead of N² large products.
    """

    def __init__(self, features: int, hidden: int, outputs: int):
        super().__init__(2 * features, hidden, hidden, outputs)
        self.features = features

    def forward(self, features: Tensor) -> Tensor:
        """(B, N, F) -> (B, N, N, outputs) for (me, other)"""
        first = self.first
        mine, others = torch.split(first.weight, self.features, dim=1)
        # others * [.., my place - its place, ..] = others * my place - others * its place
        turned = torch.cat([features[..., : SHIFT.start], -features[..., SHIFT], features[..., SHIFT.stop :]], dim=-1)
        for_me = features @ mine.T + features[..., SHIFT] @ others[:, SHIFT].T + first.bias
        return self.after_first(for_me[:, :, None] + (turned @ others.T)[:, None])


class Interaction(nn.Module):
    """What the others mean for each object: itself, plus an attention-weighted sum of its relations."""

    def __init__(self, config: GswmConfig):
        super().__init__()
        features, hidden = config.vector + config.hidden, config.hidden
        self.self_effect = MLP(features, hidden, hidden, hidden)
        self.relation = PairMLP(features, hidden, hidden)
        self.attention = PairMLP(features, hidden, 1)

    def forward(self, objects: Objects, hidden: Tensor) -> Tensor:
        """(B, N, hidden)"""
        features = torch.cat([objects.vector, hidden], dim=-1)
        weights = torch.softmax(self.attention(features).squeeze(-1), dim=2) * objects.presence.transpose(1, 2)
        # Nobody interacts with itself; taken out after the soft-max, as the authors do.
        weights = weights * (1 - torch.eye(weights.shape[1], dtype=weights.dtype, device=weights.device))
        weights = weights / (weights.sum(2, keepdim=True) + EPSILON)
        effects: Tensor = self.self_effect(features) + (weights.unsqueeze(-1) * self.relation(features)).sum(2)
        return effects


class ObjectMemory(nn.Module):
    """One recurrent memory per object, all of the same weights."""

    def __init__(self, config: GswmConfig):
        super().__init__()
        self.interaction = Interaction(config)
        self.input = nn.Linear(config.vector + 2 * config.hidden, config.hidden)
        self.cell = nn.LSTMCell(config.hidden, config.hidden)
        self.initial = InitialMemory(config.hidden)

    def forward(self, objects: Objects, memory: Recurrent, surroundings: Tensor) -> Recurrent:
        effects = self.interaction(objects, memory.hidden)
        inputs = self.input(torch.cat([objects.vector, effects, surroundings], dim=-1))
        return advance(self.cell, inputs, memory)


class InitialMemory(nn.Module):
    """What a memory is before anything has been seen."""

    def __init__(self, width: int):
        super().__init__()
        self.hidden = nn.Parameter(torch.randn(width))
        self.cell = nn.Parameter(torch.randn(width))

    def forward(self, *axes: int) -> Recurrent:
        return Recurrent(self.hidden.expand(*axes, -1), self.cell.expand(*axes, -1))


def advance(cell: nn.LSTMCell, inputs: Tensor, memory: Recurrent) -> Recurrent:
    """One step of an LSTM cell over any leading axes."""
    width = memory.hidden.shape[-1]
    past = memory.hidden.reshape(-1, width), memory.cell.reshape(-1, width)
    hidden, inner = cell(inputs.reshape(-1, inputs.shape[-1]), past)
    return Recurrent(hidden.view(memory.hidden.shape), inner.view(memory.cell.shape))


class Situation(nn.Module):
    """Takes an object's new attributes into its memories."""

    def __init__(self, config: GswmConfig):
        super().__init__()
        self.margin = config.background_margin
        self.surroundings = GlimpseEncoder(config)
        self.posterior = ObjectMemory(config)
        self.prior = ObjectMemory(config)

    def start(self, batch: int, objects: int) -> Memory:
        """The memories of objects that are new."""
        return Memory(self.posterior.initial(batch, objects), self.prior.initial(batch, objects))

    def forward(self, objects: Objects, memory: Memory, background: Tensor) -> Memory:
        wider = torch.cat([objects.where[..., :2] + self.margin, objects.where[..., 2:]], dim=-1)
        surroundings = self.surroundings(extract(background, wider))
        return Memory(
            posterior=self.posterior(objects, memory.posterior, surroundings),
            prior=self.prior(objects, memory.prior, surroundings),
        )
