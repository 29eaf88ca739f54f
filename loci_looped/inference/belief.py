"""What the network believes is there now, whether it can be seen or not.

A time step tells what is sensed and what is predicted; what the network holds to be true of the present frame are the
percept's codes. Here each slot is painted alone, so that nothing stands before it, and the whole objects are then laid
over each other, the nearer ones last. Leave one out, and you see what the network believes behind it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from loci_looped.model.active import Active
from loci_looped.model.bookkeeping import without_unassigned
from loci_looped.model.loci import LociLooped
from loci_looped.model.state import LociState, SlotCodes, StepOutput, TensorTree

SCREEN_SHARE = 0.05
"""A slot whose whole object has covered this share of the image, and more than any other, is taken for the screen."""


@dataclass(frozen=True)
class Belief(TensorTree):
    """The painted percept. B batch, K slots."""

    whole_masks: Tensor         # (B, K, H, W) each object by itself, as if nothing stood before it
    whole_colours: Tensor       # (B, K, 3, H, W) its colours, likewise
    nearness: Tensor            # (B, K) the larger is in front

    def visible_masks(self, shown: Tensor | None = None) -> Tensor:
        """(B, K, H, W): what is left of each object behind the nearer ones; only slots `shown` (B, K) take part."""
        masks = self.whole_masks if shown is None else self.whole_masks * shown[..., None, None]
        order = self.nearness.argsort(dim=1, descending=True)[..., None, None].expand_as(masks)
        sorted_masks = masks.gather(1, order)
        free = torch.cumprod(1 - sorted_masks, dim=1)
        through = torch.cat([torch.ones_like(free[:, :1]), free[:, :-1]], dim=1)
        return torch.zeros_like(masks).scatter(1, order, sorted_masks * through)

    def picture(self, background: Tensor, shown: Tensor | None = None) -> Tensor:
        """(B, 3, H, W): the slots `shown` (B, K) over the background (B, 3, H, W)."""
        masks = self.visible_masks(shown)
        painted = (masks.unsqueeze(2) * self.whole_colours).sum(1)
        return painted + (1 - masks.sum(1, keepdim=True)) * background


@torch.no_grad()
def believe(model: LociLooped, codes: SlotCodes, assigned: Tensor, background: Tensor) -> Belief:
    """Paint the codes of the assigned slots (B, K); `background` (B, 3, H, W) only lends its size and type."""
    batch, slots = assigned.shape
    codes = without_unassigned(codes, assigned)
    # Each slot becomes a stream of its own: nothing can stand before it.
    lonely = codes.map(lambda leaf: leaf.flatten(0, 1).unsqueeze(1))
    alone = model.decoder(
        lonely, background.repeat_interleave(slots, dim=0), Active.of(assigned.reshape(-1, 1)), None
    )
    order = model.decoder.order
    index = torch.arange(slots, dtype=codes.priority.dtype, device=codes.priority.device)
    return Belief(
        whole_masks=alone.object_masks.unflatten(0, (batch, slots)).squeeze(2),
        whole_colours=alone.colours.unflatten(0, (batch, slots)).squeeze(2),
        nearness=slots * codes.priority * order.priority_factor + index * order.index_factor,
    )


def believe_now(model: LociLooped, output: StepOutput, background: Tensor) -> Belief:
    """The belief about the frame that a time step has just consumed: only slots that hold an object have one."""
    return believe(model, output.percept, output.assigned & output.bound, background)


def screen_slot(largest_areas: Tensor, bound: Tensor, pixels: int) -> int | None:
    """Which slot of one stream holds the occluder, as far as one can tell without the truth.

    `largest_areas` (K,) is the largest whole-object area each slot has had so far, so that a falling screen stays one.
    """
    areas = torch.where(bound, largest_areas, torch.zeros_like(largest_areas))
    best = int(areas.argmax())
    return best if float(areas[best]) >= SCREEN_SHARE * pixels else None


def slot_on(mask: Tensor, whole_masks: Tensor, bound: Tensor) -> int | None:
    """The bound slot of one stream whose whole object (K, H, W) overlaps best with a true mask (H, W), if any does."""
    if not bool(bound.any()) or not bool(mask.any()):
        return None
    objects = whole_masks > 0.5
    both = (objects & mask).sum((1, 2)).float()
    either = (objects | mask).sum((1, 2)).clamp(min=1).float()
    overlap = torch.where(bound, both / either, torch.zeros_like(both))
    best = int(overlap.argmax())
    return best if float(overlap[best]) > 0.2 else None


@torch.no_grad()
def implant(model: LociLooped, state: LociState, predicted: SlotCodes) -> LociState:
    """The state of a network that has been talked into another belief: it goes on from these codes."""
    assigned = state.registry.assigned
    active = model.bookkeeping.active(assigned)
    predicted = without_unassigned(predicted, assigned)
    moved = predicted.position - state.predicted.position
    return dataclasses.replace(
        state, predicted=predicted, next_frame=model.decoder(predicted, state.background, active, None),
        # The whole past is moved along, so that the shift is not taken for speed.
        previous=dataclasses.replace(state.previous, position=state.previous.position + moved),
    )
