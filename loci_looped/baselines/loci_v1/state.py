"""What crosses a time step of Loci-v1, and what a step tells. Axes as in the state of Loci-Looped."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from loci_looped.model.state import Memory, SlotCodes, TensorTree


@dataclass(frozen=True)
class Painted(TensorTree):
    """A painted frame and what each slot contributes to it."""

    frame: Tensor                           # (B, 3, H, W)
    visible_masks_with_background: Tensor   # (B, K + 1, H, W) sums to 1 over slots; the background is last
    mask_logits: Tensor                     # (B, K, H, W)
    object_logits: Tensor                   # (B, K, 3, H, W) dimmed where another slot stands before it

    @property
    def visible_masks(self) -> Tensor:
        """(B, K, H, W) without the background."""
        return self.visible_masks_with_background[:, :-1]


@dataclass(frozen=True)
class LociV1State(TensorTree):
    """Everything that crosses a time step."""

    background: Tensor          # (B, 3, H, W) the scene without objects
    predicted: SlotCodes        # for the frame to come; `priority` is the finished key of who stands in front
    next_frame: Painted
    memory: Memory              # of the predictor
    visibility: Tensor          # (B, K) strongest visible mask so far, by which slots are bound
    weight: Tensor              # (B, K) M: how much a slot counts in the regularising losses
    remembered: SlotCodes       # what each slot last showed; its place is the present one
    age: int = 0                # steps taken


@dataclass(frozen=True)
class LociV1Output(TensorTree):
    """What one time step tells."""

    placed: SlotCodes           # the prediction this step started from, free slots placed anew
    bound: Tensor               # (B, K) bool
    visibility: Tensor          # (B, K) by which they are bound
    error: Tensor               # (B, 1, H, W) the error map the encoder saw
    masks_before: Tensor        # (B, K + 1, H, W) the masks the encoder saw
    objects_before: Tensor      # (B, K, 3, H, W) the own-object logits the encoder saw
    sensed: SlotCodes           # from the encoder; the gestalt is any real number
    predicted: SlotCodes        # for the next frame
    next_frame: Painted
    shown: Tensor               # (B, K) m: the strongest visible mask in the next frame
    weight: Tensor              # (B, K) M
    remembered: SlotCodes
    age: int                    # steps taken before this one


def no_codes(like: Tensor, slots: int, gestalt: int) -> SlotCodes:
    """Codes of slots that have never looked."""
    batch = like.shape[0]
    nothing = like.new_zeros(batch, slots)
    return SlotCodes(
        gestalt=like.new_zeros(batch, slots, gestalt), position=like.new_zeros(batch, slots, 2), size=nothing,
        priority=nothing,
    )


def nothing_painted(background: Tensor, slots: int) -> Painted:
    """The picture before the first step."""
    batch, _, height, width = background.shape
    empty = background.new_zeros(batch, slots, height, width)
    return Painted(
        torch.zeros_like(background), background.new_zeros(batch, slots + 1, height, width), empty,
        background.new_zeros(batch, slots, 3, height, width),
    )
