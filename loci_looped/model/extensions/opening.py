"""A slot that holds no object yet has nothing to imagine: its gate stays open until it has."""

from __future__ import annotations

import torch
from torch import Tensor

from ..gate import PerceptGate
from ..state import LociState, Sight


class OpenUntilBound(PerceptGate):
    def protecting(self, alpha: Tensor, sight: Sight, state: LociState) -> Tensor:
        alpha = super().protecting(alpha, sight, state)
        return torch.where(sight.bound.unsqueeze(-1), alpha, torch.ones_like(alpha))
