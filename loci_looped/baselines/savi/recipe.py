"""How SAVi is trained: short clips, a small learning rate that rises, then falls along a cosine. Needs no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class SaviRecipe:
    """One training with Adam, without weight decay. The authors advise at least three seeds, the best one kept."""

    clip_length: int = 6
    """Frames; the whole clip is unrolled."""
    batch: int = 64
    updates: int = 230_000
    learning_rate: float = 1e-4
    """Its peak."""
    warm_up: float = 0.025
    """Share of the updates in which the rate rises from 0."""
    final: float = 0.01
    """What is left of the peak at the end."""
    gradient_norm: float = 0.05
    """Gradients are clipped to this norm."""

    def __post_init__(self) -> None:
        if min(self.clip_length, self.batch, self.updates) < 1:
            raise LociError("clip_length, batch and updates must be at least 1.")
        if not (self.learning_rate > 0 and self.gradient_norm > 0 and 0 <= self.warm_up < 1 and 0 <= self.final <= 1):
            raise LociError(
                "learning_rate and gradient_norm must be above 0, warm_up in [0, 1) and final in [0, 1]; they are "
                f"{self.learning_rate}, {self.gradient_norm}, {self.warm_up} and {self.final}."
            )

    def learning_rate_at(self, update: int) -> float:
        """The rate of an update, counted from 0; after the last one it stays where it ended."""
        rising = self.warm_up * self.updates
        if update < rising:
            return self.learning_rate * (update + 1) / math.ceil(rising)
        progress = min((update - rising) / max(self.updates - rising, 1), 1.0)
        return self.learning_rate * (self.final + (1 - self.final) * (1 + math.cos(math.pi * progress)) / 2)


RECIPES: dict[str, SaviRecipe] = {
    # CLEVRER, 12 epochs. The Loci-Looped paper stops after 4 epochs on ADEPT: longer training drops the objects.
    "savi": SaviRecipe(),
    "savi-transformer": SaviRecipe(),
    # A start, not a result: rate and length are to be chosen on validation scenes. An update takes 0.3 core-seconds.
    "savi-small": SaviRecipe(batch=4, updates=6_000, learning_rate=2e-4),
}
