"""Only slots in use cost anything: fold (B, K, ...) to the active ones, work, unfold."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SIZES = 16
"""Slots are folded in at most so many different numbers: convolution libraries prepare a kernel for each."""


@dataclass(frozen=True)
class Active:
    """Which of the B x K slots take part. `index` is None where all are computed and the rest is masked afterwards."""

    mask: Tensor                # (B, K) bool
    index: Tensor | None        # (N,) flat indices: the active slots, then a few idle ones that fill the last bucket
    count: int = 0              # how many of them are active, where that is known

    @staticmethod
    def everything(like: Tensor) -> Active:
        """All slots of a (B, K, ...) tensor, used or not: the released code's way."""
        everyone = torch.ones(like.shape[:2], dtype=torch.bool, device=like.device)
        return Active(everyone, None, everyone.numel())

    @staticmethod
    def of(assigned: Tensor) -> Active:
        """The assigned slots. While a graph is captured shapes must not depend on values, so all are computed there."""
        if torch.compiler.is_compiling():
            return Active(assigned, None)
        flat = assigned.flatten()
        count = int(torch.count_nonzero(flat))
        bucket = -(-flat.numel() // SIZES)      # one for a single stream, so that there every idle slot is saved
        rounded = min(flat.numel(), -(-max(1, count) // bucket) * bucket)
        if rounded == flat.numel():
            return Active(assigned, None, count)
        return Active(assigned, torch.argsort(flat, descending=True, stable=True)[:rounded], count)

    def fold(self, x: Tensor) -> Tensor:
        """(B, K, ...) -> (N, ...)"""
        flat = x.flatten(0, 1)
        return flat if self.index is None else flat.index_select(0, self.index)

    def of_scenes(self, x: Tensor) -> Tensor:
        """(B, ...) -> (N, ...): what the slots of a scene share, once for each of them."""
        slots = self.mask.shape[1]
        if self.index is None:
            return x.unsqueeze(1).expand(-1, slots, *x.shape[1:]).flatten(0, 1)
        return x.index_select(0, torch.div(self.index, slots, rounding_mode="floor"))

    def unfold(self, y: Tensor, fill: float = 0.0) -> Tensor:
        """(N, ...) -> (B, K, ...), `fill` in the slots that took no part."""
        batch, slots = self.mask.shape
        if self.index is None:
            wide: Tensor = y.unflatten(0, (batch, slots))
            if self.count == batch * slots:
                return wide
            return torch.where(self.mask.view(batch, slots, *[1] * (wide.ndim - 2)), wide, fill)
        whole = y.new_full((batch * slots, *y.shape[1:]), fill)
        result: Tensor = whole.index_copy(0, self.index[: self.count], y[: self.count]).unflatten(0, (batch, slots))
        return result

    def sum_slots(self, y: Tensor) -> Tensor:
        """(N, ...) -> (B, ...): what the active slots of each scene add up to."""
        batch, slots = self.mask.shape
        if self.index is None:
            return self.unfold(y).sum(1)
        scene = torch.div(self.index[: self.count], slots, rounding_mode="floor")
        return y.new_zeros((batch, *y.shape[1:])).index_add(0, scene, y[: self.count])
