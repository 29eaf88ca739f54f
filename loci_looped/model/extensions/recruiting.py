"""Recruiting beyond the paper: how much error calls for a slot, who comes first, and places drawn by the error."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from ..recruiter import Recruiter, pixel_position
from ..regime import Regime
from ..state import Decoded


class EagerRecruiter(Recruiter):
    """A slot is sent only where enough is unexplained; "error_sampled" placement sends all free slots at once."""

    def enough(self, unexplained: Tensor, regime: Regime) -> Tensor:
        beyond = self.config.extensions
        in_use = beyond.minimum_error_in_use or beyond.minimum_error
        return unexplained > (beyond.minimum_error if regime.learning else in_use)

    def explained(self, expected: Decoded, held: Tensor, regime: Regime) -> Tensor:
        seen, pixels = super().explained(expected, held, regime), self.config.extensions.keeps_clear
        if regime.learning or not pixels:
            return seen
        # What is imagined counts as well, and its surroundings: expectations are off by a few pixels.
        own = expected.object_masks.detach() * held[..., None, None]
        wide = F.max_pool2d(own.amax(1, keepdim=True), 2 * pixels + 1, stride=1, padding=pixels).squeeze(1)
        return torch.maximum(seen, wide).clamp(max=1)

    def next_slot(self, assigned: Tensor, bound: Tensor) -> Tensor:
        if not self.config.extensions.newcomers_behind:
            return super().next_slot(assigned, bound)
        # Of equal priority the later slot paints in front: newcomers from the last on pass behind those before them.
        slots = assigned.shape[1]
        candidates = self.candidates(assigned, bound)
        last = slots - 1 - candidates.flip(1).int().argmax(1)
        return torch.where(candidates.any(1), last, slots)

    def drawn_by_error(self, unexplained: Tensor, bound: Tensor, regime: Regime) -> tuple[Tensor, Tensor]:
        """Places (B, K, 2) drawn with probability ~ error², and whether there was error left (B, K) for each slot.

        Without a generator each slot takes the place of the largest error that is left.
        """
        shape, generator = self.config.frame, regime.generator
        rows = torch.arange(shape[0], dtype=unexplained.dtype, device=unexplained.device).view(1, -1, 1)
        columns = torch.arange(shape[1], dtype=unexplained.dtype, device=unexplained.device).view(1, 1, -1)
        places, found = [], []
        for k in range(bound.shape[1]):
            flat = unexplained.flatten(1)
            if generator is None:
                index = flat.argmax(1)
            else:
                index = torch.multinomial(flat.square() + 1e-9, 1, generator=generator).squeeze(1)
            places.append(pixel_position(index, shape, unexplained.dtype))
            found.append(self.enough(flat.amax(1), regime))
            row, column = (index // shape[1]).view(-1, 1, 1), (index % shape[1]).view(-1, 1, 1)
            distance = (rows - row).square() + (columns - column).square()
            suppressed = unexplained * (1 - torch.exp(-distance / (2 * self.config.extensions.suppression**2)))
            unexplained = torch.where(bound[:, k].view(-1, 1, 1), unexplained, suppressed)
        return torch.stack(places, 1), torch.stack(found, 1)
