"""The percept gate (inner loop): per slot, how much of what is sensed enters the percept."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from loci_looped.configs.network import GateConfig

from .blocks import normal_like
from .state import SlotCodes


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
        return _RectifiedTanh.apply(z, l0_weight)
    return torch.tanh(z).clamp(min=0)


class PerceptGate(nn.Module):
    """A small network that compares the sensed with the predicted. Gate 0 is the gestalt's, gate 1 the position's."""

    def __init__(self, gestalt: int, config: GateConfig):
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList([nn.Linear(2 * (gestalt + 5) + 3, 32), nn.Linear(32, 16), nn.Linear(16, 2)])
        for layer, bias in zip(self.layers, (config.hidden_bias, config.hidden_bias, config.output_bias), strict=True):
            assert isinstance(layer, nn.Linear)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.constant_(layer.bias, bias)
        if config.visibility_prior:
            last = self.layers[-1]
            assert isinstance(last, nn.Linear)
            nn.init.normal_(last.weight, std=0.05)      # at first the prior speaks, not chance

    def forward(
        self,
        sensed: SlotCodes,
        occlusion: Tensor,
        previous: SlotCodes,
        occlusion_predicted: Tensor,
        earlier: SlotCodes,
        generator: torch.Generator | None,
    ) -> Tensor:
        """α (B, K, 2). `earlier` is the prediction one step before `previous`; only its place is used."""
        z = torch.cat([
            sensed.position, sensed.size.unsqueeze(-1), sensed.gestalt, sensed.priority.unsqueeze(-1),
            occlusion.detach().unsqueeze(-1),
            previous.position, previous.size.unsqueeze(-1), previous.gestalt, previous.priority.unsqueeze(-1),
            occlusion_predicted.detach().unsqueeze(-1),
            earlier.position.detach(), earlier.size.detach().unsqueeze(-1),
        ], dim=-1)
        z = torch.tanh(self.layers[0](z))
        z = torch.tanh(self.layers[1](z))
        z = self.layers[2](z)
        if self.config.visibility_prior:
            in_use = self.config.shuts_at_in_use if not self.training else 0.0
            shuts_at = in_use or self.config.shuts_at
            z = z + self.config.visibility_prior * (1 - occlusion.detach().unsqueeze(-1) / shuts_at)
        if generator is not None:
            z = z + self.config.noise * normal_like(z, generator)
        return rectified_tanh(z, self.config.l0_weight)


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
