"""The two kinds of beliefs: Gaussians, and presences that are nearly zero or one.

Without a generator every draw is its mean (of a presence: its probability, at temperature 1): nothing is random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from loci_looped.model.state import TensorTree

SMALLEST_STD = 1e-4
TINY = 1e-15
"""Inside the logarithms of a presence's KL."""


@dataclass(frozen=True)
class Gaussian(TensorTree):
    """Independent normal beliefs."""

    mean: Tensor
    std: Tensor

    @staticmethod
    def of(mean: Tensor, raw_std: Tensor) -> Gaussian:
        """A network's two outputs as a belief."""
        return Gaussian(mean, F.softplus(raw_std) + SMALLEST_STD)

    @staticmethod
    def halves(raw: Tensor) -> Gaussian:
        """The first half of the last axis tells the mean, the second the deviation."""
        return Gaussian.of(*raw.chunk(2, dim=-1))

    def draw(self, generator: torch.Generator | None) -> Tensor:
        if generator is None:
            return self.mean
        noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        return self.mean + self.std * noise

    def part(self, columns: slice) -> Gaussian:
        """The belief about some of the numbers."""
        return Gaussian(self.mean[..., columns], self.std[..., columns])

    def kl(self, other: Gaussian) -> Tensor:
        """KL(self || other), number by number."""
        return self._kl(other.mean, other.std, (other.std / self.std).log())

    def kl_to(self, mean: float, std: float) -> Tensor:
        """KL(self || N(mean, std²)), number by number."""
        return self._kl(mean, std, math.log(std) - self.std.log())

    def _kl(self, mean: Tensor | float, std: Tensor | float, log_ratio: Tensor) -> Tensor:
        return log_ratio + 0.5 * ((self.std / std).square() + ((self.mean - mean) / std).square() - 1)


def draw_presence(logits: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """A relaxed Bernoulli draw in (0, 1)."""
    if generator is not None:
        # Two exponentials give logistic noise without the infinities of a uniform number that is 0 or 1.
        shape = (2, *logits.shape)
        waits = torch.empty(shape, dtype=logits.dtype, device=logits.device).exponential_(generator=generator)
        tiny = torch.finfo(logits.dtype).tiny
        logits = logits + (waits[0].clamp(min=tiny).log() - waits[1].clamp(min=tiny).log())
    return torch.sigmoid(logits / temperature)


def presence_kl(probability: Tensor, prior: float) -> Tensor:
    """KL(Bernoulli(probability) || Bernoulli(prior)), number by number."""
    absence = 1 - probability
    present = (probability + TINY).log() - math.log(prior + TINY)
    absent = (absence + TINY).log() - math.log(1 - prior + TINY)
    return probability * present + absence * absent
