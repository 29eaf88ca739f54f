"""What one look at a frame yields on its way through a time step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .active import Active
from .decoder import Decoder
from .state import Decoded, LociState, Registry, Sight, SlotCodes, StepOutput


@dataclass(frozen=True)
class Look:
    sight: Sight                # what is sensed, what was expected, what is hidden
    percept: SlotCodes          # (G, P) after the gate
    gate: Tensor                # (B, K, 2) α: gestalt, position
    present: Decoded            # the present as sensed
    registry: Registry          # after this look
    active: Active
    error: Tensor               # (B, 1, H, W) E
    slot_error: Tensor          # (B, K)
    own_objects: Tensor         # (B, K, 3, H, W) colour logits of the own objects the encoder saw
    dreams: bool = False        # the eyes were shut

    def output(
        self, predicted: SlotCodes, next_frame: Decoded, occlusion_next: Tensor, objects_after: Tensor | None
    ) -> StepOutput:
        """What the step tells, once the next frame is imagined."""
        return StepOutput(
            sensed=self.sight.sensed, percept=self.percept, predicted=predicted, previous=self.sight.expected,
            gate=self.gate, present=self.present, next_frame=next_frame, occlusion=self.sight.occlusion,
            occlusion_next=occlusion_next, assigned=self.registry.assigned, bound=self.registry.bound,
            visibility=self.registry.visibility, error=self.error, slot_error=self.slot_error,
            objects_before=self.own_objects, objects_after=objects_after,
        )


@torch.no_grad()
def prediction_error(frame: Tensor, state: LociState, blackout: Tensor | None) -> tuple[Tensor, Tensor]:
    """E (B, 1, H, W), where the prediction failed and something is there; and each slot's share of it (B, K)."""
    from_background = _distance(frame, state.background)
    missed = frame - state.next_frame.frame
    first = (state.age == 0).view(-1, 1, 1, 1)
    error = torch.where(first, from_background, _distance(frame, state.next_frame.frame).sqrt() * from_background)
    masks = state.next_frame.visible_masks                                                      # (B, K, H, W)
    squared = (masks.square() * missed.square().mean(1, keepdim=True)).mean((2, 3))
    slot_error = squared / masks.sum((2, 3)).clamp(min=1e-8) * ~first.view(-1, 1)
    if blackout is not None:
        error = torch.where(blackout.view(-1, 1, 1, 1), torch.zeros_like(error), error)
        slot_error = torch.where(blackout.view(-1, 1), torch.zeros_like(slot_error), slot_error)
    return error, slot_error


def _distance(a: Tensor, b: Tensor) -> Tensor:
    """(B, 1, H, W): root mean square difference over the colours."""
    return (a - b).square().mean(1, keepdim=True).sqrt()


class Masks(NamedTuple):
    visible: Tensor     # (B, K+1, H, W) the background is last
    whole: Tensor       # (B, K, H, W)


def expected_masks(
    decoder: Decoder, state: LociState, expected: SlotCodes, canvas: Tensor, active: Active,
    noise: torch.Generator | None,
) -> Masks:
    """The masks predicted for this frame; at the very first step those of the fresh slots."""
    next_frame = state.next_frame
    if not state.fresh:
        return Masks(next_frame.visible_masks_with_background, next_frame.object_masks)
    first = (state.age == 0).view(-1, 1, 1, 1)
    fresh = decoder(expected, canvas, active, noise)
    return Masks(
        torch.where(first, fresh.visible_masks_with_background, next_frame.visible_masks_with_background),
        torch.where(first, fresh.object_masks, next_frame.object_masks),
    )
