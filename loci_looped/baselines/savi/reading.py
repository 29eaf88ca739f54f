"""Reading off whole objects and places. SAVi has neither by itself: its soft-max masks only say who is seen where.

A slot's logit against the mean of all slots' logits tells how much of the picture it claims, as if that mean were a
background; what stands out is the object, and the middle of its bounding box is its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from loci_looped.baselines.protocol import Expectation, Slots
from loci_looped.utils.errors import LociError

from .state import Decoded


@dataclass(frozen=True)
class Reading:
    """How masks become objects."""

    threshold: float = 0.95
    """A pixel belongs to the object above this; a slot without any holds no object. Released script; the paper's text
    says 0.9."""
    largest_share: float = 1.0
    """A slot that claims more than this share of the pixels paints the background and holds no object. 1 takes every
    slot for an object, as the released script does; that is where most false positives come from."""

    def __post_init__(self) -> None:
        if not (0 < self.threshold < 1 and 0 < self.largest_share <= 1):
            raise LociError(
                f"threshold must lie in (0, 1) and largest_share in (0, 1], but they are {self.threshold} and "
                f"{self.largest_share}."
            )


RELEASED = Reading()


def object_masks(mask_logits: Tensor) -> Tensor:
    """(..., K, H, W) logits before the soft-max -> the same shape in [0, 1], σ(l_k - mean_j l_j)"""
    return torch.sigmoid(mask_logits - mask_logits.mean(dim=-3, keepdim=True))


def box_centres(masks: Tensor, threshold: float) -> Tensor:
    """(..., H, W) -> (..., 2) row and column, in pixels, of the middle of the box around what exceeds the threshold.

    Where nothing does, the place of the largest value: a slot that fades is still somewhere.
    """
    inside = masks > threshold
    peak = masks.flatten(-2).argmax(dim=-1)
    peaks = (peak // masks.shape[-1], peak % masks.shape[-1])
    centres = []
    for extent, fallback in zip((inside.any(dim=-1), inside.any(dim=-2)), peaks, strict=True):      # rows, columns
        hit = extent.to(masks.dtype)
        first, last = hit.argmax(dim=-1), extent.shape[-1] - 1 - hit.flip(-1).argmax(dim=-1)
        centres.append(torch.where(extent.any(dim=-1), (first + last) / 2, fallback.to(masks.dtype)))
    return torch.stack(centres, dim=-1).to(masks.dtype)


def read_slots(decoded: Decoded, expected: Decoded | None = None, reading: Reading = RELEASED) -> Slots:
    """One decoded frame in the words of the protocol. SAVi does not know what is hidden: `occlusion` stays None."""
    masks = object_masks(decoded.mask_logits)
    inside = masks > reading.threshold
    share = inside.to(masks.dtype).mean(dim=(-2, -1))
    last = masks.new_tensor(masks.shape[-2:]) - 1
    return Slots(
        positions=box_centres(masks, reading.threshold) / last * 2 - 1,
        presence=(share > 0) & (share <= reading.largest_share),
        visible_masks=decoded.visible_masks,
        object_masks=masks,
        expectation=None if expected is None else read_expectation(expected),
    )


def read_expectation(decoded: Decoded) -> Expectation:
    """A decoded frame to come. The background's mask is empty: slots paint it."""
    nobody = torch.zeros_like(decoded.visible_masks[:, :1])
    return Expectation(
        frame=decoded.frame,
        visible_masks_with_background=torch.cat([decoded.visible_masks, nobody], dim=1),
        object_masks=object_masks(decoded.mask_logits),
    )
