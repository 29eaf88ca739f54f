"""Propagation: the objects of the last step in this frame, looked for near their last place.

Everything goes through the dynamics: with the frame or without, it is drawn first, and the same network turns it into
changes of presence, depth, place and look. So what is learnt with open eyes holds for imagination.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from loci_looped.configs.gswm import GswmConfig

from .blocks import MLP
from .distributions import Gaussian, draw_presence
from .glimpses import GlimpseEncoder, extract
from .state import Objects, PropagationBelief, Tracks


class Propagation(nn.Module):
    def __init__(self, config: GswmConfig):
        super().__init__()
        hidden = config.hidden
        self.config = config
        self.proposal_growth = MLP(hidden, hidden, hidden, 2)
        self.glimpse_encoder = GlimpseEncoder(config)
        self.dynamics = MLP(2 * hidden, hidden, hidden, 2 * config.dynamics)
        self.dynamics_prior = MLP(hidden, hidden, hidden, 2 * config.dynamics)
        self.update = AttributeUpdate(config)

    def infer(
        self, frame: Tensor, tracks: Tracks, generator: torch.Generator | None
    ) -> tuple[Objects, Tensor, PropagationBelief]:
        """The objects in this frame, the boxes in which they were looked for, and the belief."""
        seen = tracks.memory.posterior.hidden
        proposal = self.proposal(tracks.objects, seen)
        features = self.glimpse_encoder(extract(frame, proposal))
        dynamics = Gaussian.halves(self.dynamics(torch.cat([features, seen], dim=-1)))
        moved, logits = self.update(tracks.objects, dynamics.draw(generator), generator)
        still = draw_presence(logits, self.config.temperature, generator)
        belief = PropagationBelief(
            exist=tracks.objects.exist,
            probability=torch.sigmoid(logits),
            dynamics=dynamics,
            dynamics_prior=self.expectation(tracks),
        )
        return replace(moved, presence=tracks.objects.presence * still), proposal, belief

    def imagine(self, tracks: Tracks, generator: torch.Generator | None) -> Objects:
        """The objects one step on, with shut eyes: who is present stays so."""
        moved: Objects = self.update(tracks.objects, self.expectation(tracks).draw(generator), generator)[0]
        return moved

    def expectation(self, tracks: Tracks) -> Gaussian:
        """The dynamics to expect without looking."""
        return Gaussian.halves(self.dynamics_prior(tracks.memory.prior.hidden))

    def proposal(self, objects: Objects, hidden: Tensor) -> Tensor:
        """(B, N, 4) the last boxes, made larger."""
        low, high = self.config.proposal_min, self.config.proposal_max
        sides = objects.where[..., :2] + low + (high - low) * torch.sigmoid(self.proposal_growth(hidden))
        return torch.cat([sides, objects.where[..., 2:]], dim=-1)


class AttributeUpdate(nn.Module):
    """How dynamics change an object: gated steps of limited size."""

    def __init__(self, config: GswmConfig):
        super().__init__()
        self.config = config
        self.widths = (1, 4, config.what)       # depth, where, what
        self.net = MLP(config.dynamics, config.hidden, config.hidden, 1 + 3 * sum(self.widths))

    def forward(
        self, objects: Objects, dynamics: Tensor, generator: torch.Generator | None
    ) -> tuple[Objects, Tensor]:
        """The changed objects, their presence untouched, and the logits of still being present."""
        of_depth, of_where, of_what = self.widths
        sizes = [1, of_depth, of_depth, of_where, of_where, of_what, of_what, *self.widths]
        logits, *raw = torch.split(self.net(dynamics), sizes, dim=-1)
        depth, where, what = (
            Gaussian.of(raw[2 * i], raw[2 * i + 1]).draw(generator) for i in range(len(self.widths))
        )
        depth_gate, where_gate, what_gate = (torch.sigmoid(gate) for gate in raw[2 * len(self.widths) :])
        config = self.config
        reach = where.new_tensor([config.scale_step, config.scale_step, config.shift_step, config.shift_step])
        changed = replace(
            objects,
            depth=objects.depth + config.depth_step * depth_gate * depth,
            where=objects.where + reach * where_gate * torch.tanh(where),
            what=objects.what + config.what_step * what_gate * torch.tanh(what),
            dynamics=dynamics,
        )
        return changed, logits
