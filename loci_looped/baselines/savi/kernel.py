"""The kernel head: from what is predicted to where slot attention begins, and how sure that is (StoSAVi)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.savi import KernelHeadKind

from .state import Kernel


class KernelHead(nn.Module):
    """One linear layer ("linear"), or linear, layer norm, ReLU, linear ("mlp")."""

    def __init__(self, width: int, kind: KernelHeadKind):
        super().__init__()
        self.kind = kind
        if kind == "mlp":
            self.hidden = nn.Linear(width, 2 * width)
            self.norm = nn.LayerNorm(2 * width)
        self.out = nn.Linear(2 * width if kind == "mlp" else width, 2 * width)

    def forward(self, latents: Tensor) -> Kernel:
        """(B, K, D)"""
        x = torch.relu(self.norm(self.hidden(latents))) if self.kind == "mlp" else latents
        mean, log_variance = self.out(x).chunk(2, dim=-1)
        return Kernel(mean, log_variance)
