"""Only slots in use cost anything: fold (B, K, ...) to the active ones, work, unfold."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Active:
    """Which of the B x K slots take part. `index` is None where all are computed and the rest is masked afterwards."""

    mask: Tensor                # (B, K) bool
    index: Tensor | None        # (N,) flat indices of the slots that take part

    @staticmethod
    def everything(like: Tensor) -> Active:
        """All slots of a (B, K, ...) tensor, used or not: the released code's way."""
        return Active(torch.ones(like.shape[:2], dtype=torch.bool, device=like.device), None)

    @staticmethod
    def of(assigned: Tensor) -> Active:
        """The assigned slots. While a graph is captured shapes must not depend on values, so all are computed there."""
        if torch.compiler.is_compiling():
            return Active(assigned, None)
        return Active(assigned, assigned.flatten().nonzero().squeeze(1))

    def fold(self, x: Tensor) -> Tensor:
        """(B, K, ...) -> (N, ...)"""
        flat = x.flatten(0, 1)
        return flat if self.index is None else flat.index_select(0, self.index)

    def unfold(self, y: Tensor, fill: float = 0.0) -> Tensor:
        """(N, ...) -> (B, K, ...), `fill` in the slots that took no part."""
        batch, slots = self.mask.shape
        if self.index is None:
            wide = y.unflatten(0, (batch, slots))
            mask = self.mask.view(batch, slots, *[1] * (wide.ndim - 2))
            return torch.where(mask, wide, torch.full_like(wide, fill))
        whole = y.new_full((batch * slots, *y.shape[1:]), fill)
        return whole.index_copy(0, self.index, y).unflatten(0, (batch, slots))
