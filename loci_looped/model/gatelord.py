"""GateL0RD: a recurrent cell whose memory stays exactly as it is unless its gate opens.

Credit for the past comes either by unrolling (`bptt`) or by e-prop. The eligibility trace of weight (j, i) is

    e_ji(t) = Σ_τ [Π_{s=τ+1..t} (1 - g_j(s))] a_j(τ) z_i(τ),      z = [x, h]

an N x N matrix per sample. We never form it: the steps a(τ), z(τ), 1 - g(τ) are kept as a history, and the gradient
Σ_samples δ_j e_ji is one matrix product over (samples x history). The same number for O(T N) instead of O(N²) memory.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.network import Credit

from .gate import rectified_tanh
from .state import TraceStep


class _EpropCell(torch.autograd.Function):
    """h⁺ = g r + (1 - g) h, whose weight gradients come from the history. Also returns this step's trace factors."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, hidden: Tensor, w_gate: Tensor, b_gate: Tensor, w_candidate: Tensor,
        b_candidate: Tensor, l0_weight: float, *history: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        z = torch.cat([inputs, hidden], dim=1)
        g = torch.tanh(F.linear(z, w_gate, b_gate)).clamp(min=0)
        r = torch.tanh(F.linear(z, w_candidate, b_candidate))
        is_open = (g > 0).to(g.dtype)
        slope = (1 - g.square()) * is_open                # Γ
        gate_factor, candidate_factor, keep = slope * (r - hidden), (1 - r.square()) * g, 1 - g
        ctx.l0_weight, ctx.past = l0_weight, len(history) // 4
        ctx.save_for_backward(z, slope, gate_factor, candidate_factor, keep, w_gate, w_candidate, *history)
        ctx.mark_non_differentiable(gate_factor, candidate_factor, keep)
        return g * r + keep * hidden, gate_factor, candidate_factor, keep

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        delta = gradients[0]
        z, slope, gate_factor, candidate_factor, keep, w_gate, w_candidate, *history = ctx.saved_tensors
        pressure = ctx.l0_weight * slope        # λ H Γ; H is already in Γ
        into_gate = delta * gate_factor + pressure
        into_candidate = delta * candidate_factor

        gate_rows, candidate_rows, inputs = [into_gate], [into_candidate], [z]
        decay = keep
        for step in range(ctx.past - 1, -1, -1):
            past_gate, past_candidate, past_keep, past_z = history[4 * step : 4 * step + 4]
            weighted = delta * decay
            gate_rows.append(weighted * past_gate)
            candidate_rows.append(weighted * past_candidate)
            inputs.append(past_z)
            decay = decay * past_keep
        gate_all, candidate_all, z_all = torch.cat(gate_rows), torch.cat(candidate_rows), torch.cat(inputs)

        d_z = into_gate @ w_gate + into_candidate @ w_candidate
        d_inputs, d_hidden = d_z.chunk(2, dim=1)
        return (
            d_inputs, d_hidden + delta * keep,
            gate_all.T @ z_all, gate_all.sum(0), candidate_all.T @ z_all, candidate_all.sum(0),
            None, *[None] * len(history),
        )


class GateL0RD(nn.Module):
    """One recurrent layer over n independent slots: (n, N) in, (n, N) out, (n, N) memory."""

    def __init__(self, width: int, l0_weight: float, credit: Credit):
        super().__init__()
        self.l0_weight, self.credit = l0_weight, credit
        self.width = width
        # Columns: what comes in, then what is remembered.
        self.gate = nn.Linear(2 * width, width)
        self.candidate = nn.Linear(2 * width, width)
        self.output = nn.Linear(2 * width, width)
        self.output_gate = nn.Linear(2 * width, width)
        for layer in (self.gate, self.candidate, self.output, self.output_gate):
            nn.init.uniform_(layer.weight, -math.sqrt(3 / width), math.sqrt(3 / width))
            nn.init.zeros_(layer.bias)

    def forward(
        self, x: Tensor, hidden: Tensor, history: tuple[TraceStep, ...]
    ) -> tuple[Tensor, Tensor, tuple[TraceStep, ...]]:
        """(output, new memory, new history)."""
        traced = self.credit == "eprop" and torch.is_grad_enabled()
        if traced:
            remembered = self.remembered(hidden)
            past = [leaf for s in history for leaf in (s.gate_factor, s.candidate_factor, s.keep, s.inputs)]
            new, gate_factor, candidate_factor, keep = _EpropCell.apply(  # type: ignore[no-untyped-call]
                x, remembered, self.gate.weight, self.gate.bias, self.candidate.weight, self.candidate.bias,
                self.l0_weight, *past,
            )
            inputs = torch.cat([x, hidden], dim=1).detach()
            history = (*history, TraceStep(gate_factor, candidate_factor, keep, inputs))
        else:
            z = torch.cat([x, hidden], dim=1)
            g = rectified_tanh(self.gate(z), self.l0_weight)
            new = g * torch.tanh(self.candidate(z)) + (1 - g) * hidden
        z = torch.cat([x, new], dim=1)
        return torch.sigmoid(self.output_gate(z)) * torch.tanh(self.output(z)), new, history

    def remembered(self, hidden: Tensor) -> Tensor:
        """The memory as e-prop sees it: its traces already hold the past's share, so no gradient flows back twice."""
        return hidden.detach()
