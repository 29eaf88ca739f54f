"""The released code's quirks, each where it differs from the paper; the rest is the paper's.

Needed to use the authors' checkpoints as they were trained, and to compare with their code number by number.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from ..active import Active
from ..bookkeeping import Bookkeeping
from ..gatelord import GateL0RD
from ..losses import moved
from ..occlusion import pixels_above
from ..recruiter import Recruiter
from ..state import Decoded, SlotCodes, StepOutput
from ..transition import SlotAttention, Transition


class ReleasedRecruiter(Recruiter):
    def start_priority(self, index: Tensor) -> Tensor:
        """Slot k starts at 25 k, a left-over that puts late slots in front of everything."""
        return 25 * index

    def blurs_at_random(self) -> bool:
        return True

    def next_slot(self, assigned: Tensor, bound: Tensor) -> Tensor:
        """By counting, which presumes that slots are used from the front without gaps."""
        num_assigned, num_bound = assigned.sum(1), bound.sum(1)
        return torch.where(num_assigned > num_bound, num_bound, num_assigned)


class ReleasedGateL0RD(GateL0RD):
    def remembered(self, hidden: Tensor) -> Tensor:
        """Gradients also flow through the memory, although the traces hold the past already: it counts twice."""
        return hidden


class ReleasedTransition(Transition):
    cell = ReleasedGateL0RD

    def attention_layers(self, layer: int) -> list[SlotAttention]:
        """The shared transition runs the whole stack of attention layers in every round."""
        del layer
        return [cast(SlotAttention, attend) for attend in self.attention]


class ReleasedBookkeeping(Bookkeeping):
    """All slots are computed and heard, used or not; noise stays on when the network is used."""

    def active(self, assigned: Tensor) -> Active:
        return Active.everything(assigned)

    def attention_mask(self, assigned: Tensor) -> Tensor | None:
        del assigned
        return None

    def kept(self, predicted: SlotCodes, assigned: Tensor) -> SlotCodes:
        del assigned
        return predicted

    def noise(self, generator: torch.Generator | None, training: bool) -> torch.Generator | None:
        del training
        return generator

    def repaints(self, noise: torch.Generator | None) -> bool:
        return noise is not None

    def occlusion(self, decoded: Decoded, bound: Tensor, seen: Tensor) -> Tensor:
        """Counted in single precision; a slot that is seen but not bound yet reaches down to -1."""
        whole, visible = (
            pixels_above(masks.detach(), self.bound_threshold).float()
            for masks in (decoded.object_masks, decoded.visible_masks)
        )
        ratio = ((whole - visible) / (whole + 1)).to(decoded.object_masks.dtype)
        hidden = bound.to(ratio.dtype) - seen.to(ratio.dtype)
        return ratio * (1 - hidden) + hidden


def released_position_change(output: StepOutput) -> Tensor:
    """Weights and changes are averaged separately."""
    return output.visibility.mean() * moved(output).mean()
