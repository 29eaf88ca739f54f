"""Where a slot looks before it has learnt to: at its own place, and not at what other slots are expected to show."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from ..active import Active
from ..blocks import gaussian_map
from ..encoder import Encoder
from ..state import SlotCodes

PRIOR_FLOOR = 1e-5
"""How much a slot may look far away from its place. With 1e-3 a large object draws all slots to itself."""

OTHERS_CHANNEL = 5
"""Where the encoder's inputs hold the visible masks of all other slots together."""

EXPLAINED_FLOOR = 0.05
"""How much a slot may look where others are expected: enough to see itself come to the front."""


class OwnPlace(Encoder):
    """The log of the slot's own Gaussian is added to the position logits."""

    def place_logits(self, place_map: Tensor, x: Tensor, previous: SlotCodes, active: Active) -> Tensor:
        place, size = active.fold(previous.position), active.fold(previous.size)
        own = gaussian_map(place, size, self.config.latent, self.config.aligned_frame)
        return super().place_logits(place_map, x, previous, active) + torch.log(own + PRIOR_FLOOR)


class ExplainingAway(Encoder):
    """A slot looks less where other slots are expected to be seen: a mover beside the screen is not the screen."""

    def place_logits(self, place_map: Tensor, x: Tensor, previous: SlotCodes, active: Active) -> Tensor:
        others = x[:, OTHERS_CHANNEL].unsqueeze(1).to(place_map.dtype)
        left_over = 1 - F.avg_pool2d(others, 4**self.config.level).squeeze(1).clamp(0, 1)
        return super().place_logits(place_map, x, previous, active) + torch.log(left_over + EXPLAINED_FLOOR)
