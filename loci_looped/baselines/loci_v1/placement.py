"""Where free slots begin: each at the place, of some drawn at random, with the largest error."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.loci_v1 import LociV1Config
from loci_looped.model.blocks import gaussian_map
from loci_looped.model.state import SlotCodes

from .draws import Draws
from .predictor import SPREAD


class Placement(nn.Module):
    """The learnt start of a slot. A slot is bound for good once it has shown something."""

    def __init__(self, config: LociV1Config):
        super().__init__()
        self.config = config
        self.gestalt_mean = nn.Parameter(torch.zeros(1, config.gestalt))
        self.gestalt_std = nn.Parameter(torch.ones(1, config.gestalt))
        self.size = nn.Parameter(torch.zeros(1))

    def forward(
        self, predicted: SlotCodes, bound: Tensor, error: Tensor, masks: Tensor, draws: Draws, at_once: bool = True
    ) -> SlotCodes:
        """The prediction where a slot is bound (B, K), a new beginning elsewhere; `masks` (B, K + 1, H, W) are those
        of the last prediction. `at_once`: all free slots are sent, or only the first one?"""
        batch, slots = bound.shape
        noise = draws.normal(predicted.gestalt, "new gestalt")
        index = torch.arange(slots, dtype=error.dtype, device=error.device)
        new = SlotCodes(
            gestalt=torch.sigmoid(noise * self.gestalt_std + self.gestalt_mean),
            position=self.places(error, bound, masks, draws, at_once),
            size=self.size.expand(batch, slots), priority=(SPREAD * index).expand(batch, slots),
        )
        return predicted.where(bound, new)

    def places(self, error: Tensor, bound: Tensor, masks: Tensor, draws: Draws, at_once: bool = True) -> Tensor:
        """(B, K, 2) where each slot would begin anew."""
        del masks, at_once
        return self._best(draws.places(bound.to(error.dtype), self.config.candidates), error)

    @torch.no_grad()
    def _best(self, places: Tensor, error: Tensor) -> Tensor:
        """(B, K, candidates, 2) -> (B, K, 2): the first with the most error under its Gaussian."""
        under = gaussian_map(places, torch.zeros_like(places[..., 0]), self.config.frame) * error.unsqueeze(1)
        chosen = under.sum((-2, -1)).argmax(-1)[..., None, None]
        return places.gather(2, chosen.expand(-1, -1, -1, 2)).squeeze(2)
