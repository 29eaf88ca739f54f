"""Which slots take part, which hold an object, and how much of it is hidden."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from .active import Active
from .occlusion import occlusion_state, strongest_visibility
from .state import Decoded, LociState, Registry, SlotCodes


class Bookkeeping:
    """Only slots in use are computed, heard by others, and kept; the rest is nothing, nowhere."""

    def __init__(self, bound_threshold: float):
        self.bound_threshold = bound_threshold

    def initial(self, batch: int, slots: int, like: Tensor) -> Registry:
        """Before anything has been seen no slot is in use."""
        never = torch.zeros(batch, slots, dtype=torch.bool, device=like.device)
        zero, empty = torch.zeros(batch, dtype=torch.long, device=like.device), like.new_zeros(batch, slots)
        return Registry(never, never, never, empty, empty, zero, zero.bool())

    def freed(self, state: LociState) -> LociState:
        """Before a look: slots that let go of their object. In the paper none does."""
        return state

    def reviewed(
        self, registry: Registry, state: LociState, expected: SlotCodes, seen: Tensor, present: Decoded, frame: Tensor
    ) -> Registry:
        """After a look: what a slot learns about its own object. In the paper nothing."""
        del state, expected, seen, present, frame
        return registry

    def active(self, assigned: Tensor) -> Active:
        """The slots that are worth computing."""
        return Active.of(assigned)

    def attention_mask(self, assigned: Tensor) -> Tensor | None:
        """(B, K) bool: the slots that others may attend to; None is all of them."""
        return assigned

    def kept(self, predicted: SlotCodes, assigned: Tensor) -> SlotCodes:
        """Predictions of slots that are not in use are dropped."""
        return without_unassigned(predicted, assigned)

    def noise(self, generator: torch.Generator | None, training: bool) -> torch.Generator | None:
        """Only training is noisy."""
        return generator if training else None

    def repaints(self, noise: torch.Generator | None) -> bool:
        """While settling, the next frame is the present one: need it be painted a second time?"""
        del noise
        return False

    def bind(
        self, registry: Registry, assigned: Tensor, present: Decoded, *, learning: bool = False
    ) -> tuple[Registry, Tensor]:
        """An object is bound when it was expected and is seen; until the sequence settles, seeing is enough.

        Also (B, K) bool: which slots show their object. `learning`: the network learns to see, see `Regime`.
        """
        del learning
        strongest = strongest_visibility(present)
        seen = strongest > self.bound_threshold
        settled = registry.settled.unsqueeze(1)
        seen = seen & (~settled | registry.bound_next | registry.bound)
        bound = seen | (settled & registry.bound)
        visibility = torch.where(settled, torch.maximum(registry.visibility, strongest), strongest)
        return dataclasses.replace(registry, assigned=assigned, bound=bound, visibility=visibility), seen

    def seen_next(self, next_frame: Decoded) -> Tensor:
        """(B, K) bool: which slots will show their object."""
        return strongest_visibility(next_frame) > self.bound_threshold

    def occlusion(self, decoded: Decoded, bound: Tensor, seen: Tensor) -> Tensor:
        """O (B, K) in [0, 1]."""
        return occlusion_state(decoded, bound, seen, self.bound_threshold)


def without_unassigned(codes: SlotCodes, assigned: Tensor) -> SlotCodes:
    """Slots that are not in use: nothing, nowhere."""
    used = assigned.to(codes.gestalt.dtype)
    wide = used.unsqueeze(-1)
    return SlotCodes(
        gestalt=codes.gestalt * wide,
        position=codes.position * wide - (1 - wide),
        size=codes.size * used - (1 - used),
        priority=codes.priority * used,
    )
