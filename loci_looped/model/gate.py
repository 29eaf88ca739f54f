"""The percept gate (inner loop): per slot, how much of what is sensed enters the percept."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from loci_looped.configs.network import LociConfig

from .blocks import normal_like
from .regime import Regime
from .state import LociState, Sight, SlotCodes


class _RectifiedTanh(torch.autograd.Function):
    """α = max(0, tanh z) with the L0 pressure as a gradient: dL/dz = (dL/dα + λH)(1 - α²)H, H = 1[α > 0]."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, l0_weight: float) -> Tensor:
        alpha = torch.tanh(z).clamp(min=0)
        ctx.save_for_backward(alpha)
        ctx.l0_weight = l0_weight
        return alpha

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (alpha,) = ctx.saved_tensors
        is_open = (alpha > 0).to(alpha.dtype)
        return (gradients[0] + ctx.l0_weight * is_open) * (1 - alpha.square()) * is_open, None


def rectified_tanh(z: Tensor, l0_weight: float) -> Tensor:
    """max(0, tanh z); its gradient also presses every open gate towards zero with weight λ."""
    if torch.is_grad_enabled() and z.requires_grad:
        result: Tensor = _RectifiedTanh.apply(z, l0_weight)  # type: ignore[no-untyped-call]
        return result
    return torch.tanh(z).clamp(min=0)


class PerceptGate(nn.Module):
    """A small network that compares the sensed with the predicted. Gate 0 is the gestalt's, gate 1 the position's."""

    def __init__(self, config: LociConfig):
        super().__init__()
        self.config = config
        gate = config.gate
        self.layers = nn.ModuleList([nn.Linear(2 * (config.gestalt + 5) + 3, 32), nn.Linear(32, 16), nn.Linear(16, 2)])
        for layer, bias in zip(self.layers, (gate.hidden_bias, gate.hidden_bias, gate.output_bias), strict=True):
            assert isinstance(layer, nn.Linear)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.constant_(layer.bias, bias)

    def forward(self, sight: Sight, state: LociState, regime: Regime) -> Tensor:
        """α (B, K, 2) of this step: learnt, or by one of the rules it is compared with; held gates are shut."""
        if regime.gate == "open":
            alpha = torch.ones_like(sight.sensed.position)
        elif regime.gate == "visibility":
            alpha = (1 - sight.occlusion).unsqueeze(-1).expand(-1, -1, 2)
        else:
            first = (state.age == 0).unsqueeze(1).expand_as(sight.bound)
            earlier = sight.expected.where(first, state.previous)
            alpha = self.learned(sight, state.occlusion, earlier, regime)
        alpha = self.protecting(alpha, sight, state)
        return alpha if regime.hold is None else alpha * ~(regime.hold & sight.bound).unsqueeze(-1)

    def learned(self, sight: Sight, occlusion_predicted: Tensor, earlier: SlotCodes, regime: Regime) -> Tensor:
        """α as the network has it. `earlier` is the prediction one step before the last; only its place is used."""
        sensed, expected = sight.sensed, sight.expected
        z = torch.cat([
            sensed.position, sensed.size.unsqueeze(-1), sensed.gestalt, sensed.priority.unsqueeze(-1),
            sight.occlusion.detach().unsqueeze(-1),
            expected.position, expected.size.unsqueeze(-1), expected.gestalt, expected.priority.unsqueeze(-1),
            occlusion_predicted.detach().unsqueeze(-1),
            earlier.position.detach(), earlier.size.detach().unsqueeze(-1),
        ], dim=-1)
        z = torch.tanh(self.layers[0](z))
        z = torch.tanh(self.layers[1](z))
        z = self.layers[2](z)
        prior = self.prior(sight.occlusion, regime)
        if prior is not None:
            z = z + prior
        if self.training and regime.generator is not None:
            z = z + self.config.gate.noise * normal_like(z, regime.generator)
        return rectified_tanh(z, self.config.gate.l0_weight)

    def prior(self, occlusion: Tensor, regime: Regime) -> Tensor | None:
        """What the gate believes before it has learnt anything; the paper's believes nothing."""
        del occlusion, regime
        return None

    def protecting(self, alpha: Tensor, sight: Sight, state: LociState) -> Tensor:
        """Which slots have something to protect; in the paper all of them."""
        del sight, state
        return alpha


def blend(gate: Tensor, sensed: SlotCodes, previous: SlotCodes) -> SlotCodes:
    """The percept: α · sensed + (1 - α) · predicted. The priority goes with the position."""
    of_gestalt, of_position = gate[..., :1], gate[..., 1:]
    alone = of_position.squeeze(-1)
    return SlotCodes(
        gestalt=of_gestalt * sensed.gestalt + (1 - of_gestalt) * previous.gestalt,
        position=of_position * sensed.position + (1 - of_position) * previous.position,
        size=alone * sensed.size + (1 - alone) * previous.size,
        priority=alone * sensed.priority + (1 - alone) * previous.priority,
    )
