"""Where chance comes in: the candidate places of free slots, and the noise on codes.

Loci-v1 draws all of it in use as well as in training.
"""

from __future__ import annotations

from typing import Literal, Protocol

import torch
from torch import Tensor

from loci_looped.model.blocks import normal_like

Purpose = Literal["new gestalt", "bottleneck", "priority"]


class Draws(Protocol):
    """The random numbers of one time step."""

    def places(self, like: Tensor, candidates: int) -> Tensor:
        """(B, K, candidates, 2) uniform in [-1, 1], for `like` (B, K)."""
        ...

    def pixel(self, error: Tensor) -> Tensor:
        """(B,) a pixel of each map (B, H, W), likelier where the error is large."""
        ...

    def normal(self, like: Tensor, purpose: Purpose) -> Tensor:
        """Standard normal, of the shape of `like`."""
        ...


class RandomDraws:
    """From a generator: training, and use as the authors do it."""

    def __init__(self, generator: torch.Generator):
        self.generator = generator

    def places(self, like: Tensor, candidates: int) -> Tensor:
        drawn = torch.rand(
            (*like.shape, candidates, 2), generator=self.generator, dtype=like.dtype, device=like.device
        )
        return 2 * drawn - 1

    def pixel(self, error: Tensor) -> Tensor:
        return torch.multinomial(error.flatten(1).square() + 1e-9, 1, generator=self.generator).squeeze(1)

    def normal(self, like: Tensor, purpose: Purpose) -> Tensor:
        del purpose
        return normal_like(like, self.generator)


class QuietDraws:
    """No noise, and the same candidate places for all streams at the same age: use that can be repeated."""

    def __init__(self, seed: int, age: int):
        self.generator = torch.Generator().manual_seed(seed * 1_000_003 + age)

    def places(self, like: Tensor, candidates: int) -> Tensor:
        drawn = 2 * torch.rand((like.shape[1], candidates, 2), generator=self.generator) - 1
        return drawn.to(like).expand(like.shape[0], -1, -1, -1)

    def pixel(self, error: Tensor) -> Tensor:
        """The worst one."""
        return error.flatten(1).argmax(1)

    def normal(self, like: Tensor, purpose: Purpose) -> Tensor:
        del purpose
        return torch.zeros_like(like)
