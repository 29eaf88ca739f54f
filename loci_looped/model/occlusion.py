"""The occlusion state: how much of each object is hidden, read off the visible and the whole-object masks."""

from __future__ import annotations

import torch
from torch import Tensor

from .state import Decoded


def strongest_visibility(decoded: Decoded) -> Tensor:
    """(B, K) the largest value of each visible mask."""
    return decoded.visible_masks.detach().amax((2, 3))


def occlusion_state(decoded: Decoded, bound: Tensor, seen: Tensor, threshold: float, official: bool) -> Tensor:
    """O (B, K): the hidden share of the object mask; exactly 1 for a bound slot of which nothing is seen.

    The released code counts in single precision and lets a slot that is seen but not bound yet reach down to -1.
    """
    whole = (decoded.object_masks.detach() > threshold).sum((2, 3))
    visible = (decoded.visible_masks.detach() > threshold).sum((2, 3))
    precision = torch.float32 if official else decoded.object_masks.dtype
    ratio = ((whole - visible).to(precision) / (whole + 1).to(precision)).to(decoded.object_masks.dtype)
    hidden = bound.to(ratio.dtype) - seen.to(ratio.dtype)
    if not official:
        # At a few pixels soft masks may show more than the whole object; nothing is then hidden.
        ratio, hidden = ratio.clamp(min=0), hidden.clamp(min=0)
    return ratio * (1 - hidden) + hidden
