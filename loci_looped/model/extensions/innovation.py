"""What makes motion learnable in minutes: the transition hears its own mistakes, and begins by changing nothing.

A transition that is told places must subtract two of them, a few hundredths of a half image apart, before it knows a
speed. Told how far its last expectation was off instead, in units that weights notice, it only has to add these up.
Neither is a rule about motion: what the transition makes of it is learnt.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..blocks import ResidualBlock
from ..regime import Regime
from ..state import Memory, Sight, SlotCodes
from ..transition import Transition


class InnovationTransition(Transition):
    """Hears innovations, may begin by keeping looks, and may forget what a slot no longer holds."""

    def begin(self) -> None:
        if self.config.extensions.identity_start:
            keep_bits(self.bottleneck)

    def forward(
        self, percept: SlotCodes, alpha: Tensor, sight: Sight | None, memory: Memory, attention_mask: Tensor | None,
        regime: Regime, noise: torch.Generator | None,
    ) -> tuple[SlotCodes, Memory]:
        if self.config.extensions.forgets and sight is not None:
            memory = memory.kept(sight.bound)
        return super().forward(percept, alpha, sight, memory, attention_mask, regime, noise)

    def inputs(self, percept: SlotCodes, alpha: Tensor, sight: Sight | None, memory: Memory) -> list[Tensor]:
        told, gain = super().inputs(percept, alpha, sight, memory), self.config.extensions.innovation
        if not gain:
            return told
        heard = torch.zeros_like(percept.position) if sight is None else innovation(sight, alpha, gain)
        return [*told, heard]


def innovation(sight: Sight, alpha: Tensor, gain: float) -> Tensor:
    """(B, K, 2): how far the expected place was off, as far as the gate `alpha` (B, K, 2) let it in, times `gain`.

    A slot that holds nothing has expected nothing: where not bound it is zero.
    """
    off = sight.sensed.position - sight.expected.position
    return gain * alpha[..., 1:] * off * sight.bound.unsqueeze(-1)


def keep_bits(bottleneck: ResidualBlock, strength: float = 4.0) -> None:
    """Let a 1x1 bottleneck begin with logits of -strength for bits of 0 and +strength for bits of 1."""
    bits = torch.eye(bottleneck.conv1.in_channels)[..., None, None]
    with torch.no_grad():
        bottleneck.conv1.weight.copy_(bits)
        bottleneck.conv2.weight.copy_((2 * strength - 1) * bits)        # the block adds the bits themselves once more
        for conv, bias in ((bottleneck.conv1, 0.0), (bottleneck.conv2, -strength)):
            assert conv.bias is not None
            conv.bias.fill_(bias)
