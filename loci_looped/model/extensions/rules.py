"""Rules instead of learning: constant velocity, looks that stay, a gate that shuts when something stands before.

This is permanence by construction. It is kept as a yardstick for networks that learn it, and so that stored networks
that were trained with it still work.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from loci_looped.configs.network import LociConfig

from ..blocks import gaussian_map
from ..gate import PerceptGate
from ..regime import Regime
from ..state import Decoded, LociState, Memory, Sight, SlotCodes
from ..transition import Transition
from .displacement import IN_TRAINING, IN_USE, corrected, trust


@dataclass(frozen=True)
class RuleMemory(Memory):
    """The recurrent memory, and how things have been moving."""

    displacement: Tensor    # (B, K, 2) how far percepts have been moving per step
    evidence: Tensor        # (B, K) over how many well seen steps the displacement was estimated


class RuleTransition(Transition):
    """Things go on as they went and look as they looked; what is learnt is a limited deviation from that."""

    def initial_memory(self, like: Tensor, batch: int) -> Memory:
        plain, slots = super().initial_memory(like, batch), self.config.slots
        return RuleMemory(plain.hidden, plain.history, like.new_zeros(batch, slots, 2), like.new_zeros(batch, slots))

    def forward(
        self, percept: SlotCodes, alpha: Tensor, sight: Sight | None, memory: Memory, attention_mask: Tensor | None,
        regime: Regime, noise: torch.Generator | None,
    ) -> tuple[SlotCodes, Memory]:
        assert isinstance(memory, RuleMemory)
        if sight is not None:
            memory = self._moved(percept, alpha, sight, memory, regime)
        codes, after = super().forward(percept, alpha, sight, memory, attention_mask, regime, noise)
        rules = self.config.extensions.rules
        return dataclasses.replace(
            codes,
            position=_near(codes.position, percept.position, rules.deviation) + rules.inertia * memory.displacement,
            size=_near(codes.size, percept.size, rules.deviation / 10),
            priority=_near(codes.priority, percept.priority, rules.deviation / 10),
        ), after

    def inputs(self, percept: SlotCodes, alpha: Tensor, sight: Sight | None, memory: Memory) -> list[Tensor]:
        assert isinstance(memory, RuleMemory)
        told = [memory.displacement] if self.config.extensions.rules.displacement else []
        return super().inputs(percept, alpha, sight, memory) + told

    def gestalt_logits(self, logits: Tensor, percept: SlotCodes) -> Tensor:
        gain = self.config.extensions.rules.persistence
        if not gain:
            return logits
        return _near(logits, torch.zeros_like(logits), gain / 4) + gain * (2 * percept.gestalt - 1)

    def _moved(
        self, percept: SlotCodes, alpha: Tensor, sight: Sight, memory: RuleMemory, regime: Regime
    ) -> RuleMemory:
        """The displacement after what was unexpected about the sensed place."""
        trusted = alpha[..., 1].detach()
        if self.config.extensions.rules.speed_from == "well_seen":
            assert sight.present is not None
            sharpness = IN_TRAINING if regime.learning else IN_USE
            trusted = trusted * trust(
                percept.position, percept.size, sight.occlusion, sight.present.visible_masks, sharpness
            )
        unexpected = sight.sensed.position - sight.expected.position
        displacement = corrected(memory.displacement, unexpected, trusted, memory.evidence)
        return dataclasses.replace(
            memory,
            displacement=displacement * sight.bound.unsqueeze(-1),      # who has just been placed has no past
            evidence=(memory.evidence + trusted) * sight.bound,
        )


def _near(predicted: Tensor, now: Tensor, limit: float) -> Tensor:
    """What is predicted, but not farther than the limit from what is; without a limit as it is."""
    return now + limit * torch.tanh((predicted - now) / limit) if limit else predicted


class RuleGate(PerceptGate):
    """The gate begins with a belief about hiding, and slots that hold nothing listen to the eyes."""

    def __init__(self, config: LociConfig):
        super().__init__(config)
        if config.extensions.rules.visibility_prior:
            last = self.layers[-1]
            assert isinstance(last, nn.Linear)
            nn.init.normal_(last.weight, std=0.05)      # at first the prior speaks, not chance

    def prior(self, occlusion: Tensor, regime: Regime) -> Tensor | None:
        rules = self.config.extensions.rules
        if not rules.visibility_prior:
            return None
        in_use = 0.0 if regime.learning else rules.shuts_at_in_use
        return rules.visibility_prior * (1 - occlusion.detach().unsqueeze(-1) / (in_use or rules.shuts_at))

    def protecting(self, alpha: Tensor, sight: Sight, state: LociState) -> Tensor:
        if not self.config.extensions.rules.open_when_lost:
            return alpha
        holds = sight.bound & ~self._lost(state.next_frame, sight.expected)
        return torch.where(holds.unsqueeze(-1), alpha, torch.ones_like(alpha))

    @torch.no_grad()
    def _lost(self, next_frame: Decoded, expected: SlotCodes) -> Tensor:
        """(B, K) bool: slots that are expected to show nothing although no other slot stands before them."""
        shows = next_frame.visible_masks.amax((2, 3)) > 0.5
        own = gaussian_map(expected.position, expected.size, self.config.frame)                 # (B, K, H, W)
        others = next_frame.visible_masks.sum(1, keepdim=True) - next_frame.visible_masks
        covered = (own * others).sum((2, 3)) / own.sum((2, 3)).clamp(min=1e-6)
        return ~shows & (covered < 0.5)
