"""The occlusion state: how much of each object is hidden, read off the visible and the whole-object masks."""

from __future__ import annotations

import torch
from torch import Tensor

from .losses import foreground
from .state import Decoded


def strongest_visibility(decoded: Decoded) -> Tensor:
    """(B, K) the largest value of each visible mask."""
    return decoded.visible_masks.detach().amax((2, 3))


def pixels_above(masks: Tensor, threshold: float) -> Tensor:
    """(B, K, H, W) -> (B, K): of how many pixels a mask says more than the threshold."""
    # Counted in the type of the masks, where it is exact: sums of truth values take ten times as long.
    return (masks > threshold).to(masks.dtype).sum((2, 3))


@torch.no_grad()
def explained_share(visible_masks: Tensor, frame: Tensor, background: Tensor) -> Tensor:
    """(B, K): how much of what each visible mask (B, K, H, W) shows is there, unlike the empty scene (B, 3, H, W).

    A slot that imagines something where nothing is may paint it all the same, and see its own picture.
    """
    there = foreground(frame, background)                                       # (B, 1, H, W)
    area = visible_masks.sum((2, 3))
    return (visible_masks * there).sum((2, 3)) / area.clamp(min=1e-6)


def occlusion_state(decoded: Decoded, bound: Tensor, seen: Tensor, threshold: float) -> Tensor:
    """O (B, K): the hidden share of the object mask; exactly 1 for a bound slot of which nothing is seen."""
    whole = pixels_above(decoded.object_masks.detach(), threshold)
    visible = pixels_above(decoded.visible_masks.detach(), threshold)
    dtype = decoded.object_masks.dtype
    # At a few pixels soft masks may show more than the whole object; nothing is then hidden.
    ratio = ((whole - visible) / (whole + 1)).clamp(min=0)
    hidden = (bound.to(dtype) - seen.to(dtype)).clamp(min=0)
    return ratio * (1 - hidden) + hidden
