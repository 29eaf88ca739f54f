"""Letting go: a slot that has nothing to show for itself becomes free again.

In the paper a slot keeps its object for good, and what has left the picture is painted at the border ever after. Here a
slot doubts, and lets go when it has doubted for a while. It knows three reasons, all of them its own quantities:

    gone        it expects its object outside of the picture, where it will not see it again: it soon lets go; so it
                does of what should be seen at the border and is not
    missing     it expects to see its object, but nothing is there
    double      what it imagines lies where another slot shows an object: there is one object, not two

What is hidden gives no reason to doubt: it is expected not to be seen.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from ..bookkeeping import Bookkeeping
from ..occlusion import explained_share
from ..state import Decoded, LociState, Registry, SlotCodes

GONE = 1.05
"""An object whose middle is expected farther out than this, in half images, has left the picture."""
THERE = 0.5
"""What is painted where less than this share of it differs from the empty scene is not seen, but imagined."""
SAME = 0.5
"""Masks that share this much of their union are of one object."""
GONE_COUNTS = 5.0
"""A step outside of the picture counts like so many other steps of doubt."""
BORDER_COUNTS = 3.0
"""The same of a step unseen at the border. As many as outside, and movers that have hardly come in are given up."""


@dataclass(frozen=True)
class DoubtingRegistry(Registry):
    doubts: Tensor          # (B, K) steps with a reason to doubt, so far


class LettingGo(Bookkeeping):
    patience = 8
    border = 0.0

    def initial(self, batch: int, slots: int, like: Tensor) -> Registry:
        plain = super().initial(batch, slots, like)
        values = {field.name: getattr(plain, field.name) for field in dataclasses.fields(plain)}
        return DoubtingRegistry(**values, doubts=like.new_zeros(batch, slots))

    def freed(self, state: LociState) -> LociState:
        registry = state.registry
        assert isinstance(registry, DoubtingRegistry)
        holds = registry.doubts < self.patience
        return dataclasses.replace(state, registry=dataclasses.replace(
            registry, assigned=registry.assigned & holds, bound=registry.bound & holds
        ))

    def reviewed(
        self, registry: Registry, state: LociState, expected: SlotCodes, seen: Tensor, present: Decoded, frame: Tensor
    ) -> Registry:
        before = state.registry
        assert isinstance(before, DoubtingRegistry)
        bound = before.bound & registry.assigned
        seen = seen & (explained_share(present.visible_masks.detach(), frame, state.background) > THERE)
        return dataclasses.replace(registry, doubts=doubts(  # type: ignore[call-arg]
            before.doubts, expected, state.next_frame, before.bound_next, seen, bound, self.border
        ))


def letting_go(patience: int, border: float) -> type[Bookkeeping]:
    """Bookkeeping with so much patience, and a border so wide, in half images."""
    return type("LettingGo", (LettingGo,), {"patience": patience, "border": border})


@torch.no_grad()
def doubts(
    so_far: Tensor, expected: SlotCodes, expected_picture: Decoded, expected_seen: Tensor, seen: Tensor, bound: Tensor,
    border: float = 0.0,
) -> Tensor:
    """(B, K) for how many steps each slot has had reason to doubt.

    `expected` and its picture are the prediction made for this frame, `expected_seen` (B, K) bool who is visible in it;
    `seen` (B, K) bool is who can be seen in it indeed. Being seen, and no double, ends all doubt; being hidden leaves
    it as it was. Who should be seen less than `border` half images from the border, and is not, has left.
    """
    farthest = expected.position.abs().amax(-1)
    hidden = ~expected_seen & (expected_picture.object_masks.amax((2, 3)) > 0.5)
    outside = farthest > GONE
    gone = outside | ((farthest > 1 - border) & ~seen & ~hidden)
    double = is_double(expected_picture, expected_seen, bound)
    doubtful = gone | double | (expected_seen & ~seen)
    more = so_far + torch.where(outside, GONE_COUNTS, torch.where(gone, BORDER_COUNTS, 1.0))
    count = torch.where(doubtful, more, torch.where(seen, torch.zeros_like(so_far), so_far))
    return count * bound


def is_double(picture: Decoded, visible: Tensor, bound: Tensor) -> Tensor:
    """(B, K) bool: slots that are not visible themselves and whose whole object coincides with a visible one's."""
    masks = (picture.object_masks > 0.5).flatten(2).to(picture.object_masks.dtype)          # (B, K, HW)
    both = masks @ masks.transpose(1, 2)                                                    # (B, K, K)
    area = masks.sum(2)
    union = area.unsqueeze(1) + area.unsqueeze(2) - both
    same = both > SAME * union.clamp(min=1)
    itself = torch.eye(bound.shape[1], dtype=torch.bool, device=bound.device)
    shown = (visible & bound).unsqueeze(1)
    return (same & shown & ~itself).any(2) & ~visible & bound
