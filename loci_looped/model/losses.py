"""The losses, one function per row of the paper's table: name -> scalar. Weights live in the training configuration."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .blocks import grid
from .state import COLOUR_SHIFT, StepOutput

FOREGROUND_THRESHOLD = 0.1
"""A pixel belongs to the foreground where it differs from the background by more than this."""

WHOLLY_SEEN = 0.1
"""The largest occlusion of what still counts as seen as a whole."""

SIGMOID_BACKWARD: Any = torch.ops.aten.sigmoid_backward

OUTLINE = 2
DENSITY_REACH = 7
"""In pixels: what counts as an object's outline, and as its neighbourhood."""
OUTLINE_WEIGHT = 0.25
"""A small object has twice as many pixels around it as in it. With 1 its mask fades, with 0.4 it can be seen through,
with 0 it grows to twice the object."""


def foreground(frame: Tensor, background: Tensor) -> Tensor:
    """(B, 1, H, W): 1 where something stands before the background."""
    distance = (frame - background).square().mean(1, keepdim=True).sqrt()
    return (distance > FOREGROUND_THRESHOLD).to(frame.dtype)


class _CrossEntropy(torch.autograd.Function):
    """-t log p - (1 - t) log(1 - p), logarithms not below -100: PyTorch's definition, but in vector instructions, and
    NaN in gives NaN out instead of an exception.
    """

    @staticmethod
    def forward(ctx: Any, p: Tensor, t: Tensor) -> Tensor:
        ctx.save_for_backward(p, t)
        return (t - 1) * torch.log1p(-p).clamp_(min=-100) - t * torch.log(p).clamp_(min=-100)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        p, t = ctx.saved_tensors
        return gradients[0] * (p - t) / ((1 - p) * p).clamp_(min=1e-12), None


def cross_entropy(painted: Tensor, target: Tensor) -> Tensor:
    """Binary cross entropy per pixel and colour.

    Soft-max masks may sum to a hair above 1; the clamp keeps the logarithm's argument in its domain.
    """
    result: Tensor = _CrossEntropy.apply(painted.clamp(0, 1), target)  # type: ignore[no-untyped-call]
    return result


def kept_off(painted: Tensor, margin: float) -> Tensor:
    """Colours squeezed from [0, 1] to [margin, 1 - margin]: the cross entropy of what is wholly wrong keeps a slope."""
    return margin + (1 - 2 * margin) * painted if margin else painted


def picture_loss(painted: Tensor, target: Tensor) -> Tensor:
    """Mean binary cross entropy over pixels and colours."""
    return cross_entropy(painted, target).mean()


def balanced_picture_loss(painted: Tensor, target: Tensor, front: Tensor) -> Tensor:
    """Mean over foreground pixels plus mean over background pixels, so that small objects count.

    `front` is (B, 1, H, W). Each scene is normalised by itself, so that scenes in other processes do not matter.
    """
    loss = cross_entropy(painted, target).mean(1, keepdim=True)
    behind = 1 - front
    of_front = (loss * front).sum((1, 2, 3)) / (front.sum((1, 2, 3)) + 1)
    of_background = (loss * behind).sum((1, 2, 3)) / (behind.sum((1, 2, 3)) + 1)
    return (of_front + of_background).mean()


def object_picture_loss(painted: Tensor, target: Tensor, near: Tensor) -> Tensor:
    """Mean over objects and their outlines plus mean over the rest; small objects weigh about as much as large ones.

    `near` (B, 1, H, W) is what `objects_and_outlines` makes of the foreground.
    A pixel of an object counts in inverse proportion to how much of its neighbourhood is foreground, and the pixels
    around it count a quarter as much: were they mere background, masks would grow beyond their objects for free.
    """
    loss = cross_entropy(painted, target).mean(1, keepdim=True)
    rest = (near == 0).to(loss.dtype)
    of_objects = (loss * near).sum((1, 2, 3)) / (near.sum((1, 2, 3)) + 1)
    of_rest = (loss * rest).sum((1, 2, 3)) / (rest.sum((1, 2, 3)) + 1)
    return (of_objects + of_rest).mean()


def haze(visible_masks: Tensor, front: Tensor) -> Tensor:
    """Beyond the paper: how much slots (B, K, H, W) show where nothing is, on average over those pixels.

    In a world whose empty scene is always the same a slot can paint it as well as the background does, and a haze of
    table over the table costs nothing; but it hides who else is there. `front` is (B, 1, H, W); outlines are let be.
    """
    rest = (objects_and_outlines(front) == 0).to(visible_masks.dtype)
    shown = visible_masks.sum(1, keepdim=True)
    return ((shown * rest).sum((1, 2, 3)) / (rest.sum((1, 2, 3)) + 1)).mean()


def objects_and_outlines(front: Tensor) -> Tensor:
    """(B, 1, H, W) foreground -> weights: 1 / density on objects, less up to two pixels around them, 0 elsewhere."""
    # Squares are pooled side by side, first along columns, then along rows: the same numbers, sooner.
    wide, reach, outline = 2 * DENSITY_REACH + 1, DENSITY_REACH, 2 * OUTLINE + 1
    count = F.avg_pool2d(front, (wide, 1), stride=1, padding=(reach, 0), divisor_override=1)
    density = F.avg_pool2d(count, (1, wide), stride=1, padding=(0, reach), divisor_override=wide**2)
    weight = front / (density + 0.05)
    around = F.max_pool2d(weight, (outline, 1), stride=1, padding=(OUTLINE, 0))
    around = F.max_pool2d(around, (1, outline), stride=1, padding=(0, OUTLINE))
    return torch.where(front > 0, weight, OUTLINE_WEIGHT * around)


def position_change(output: StepOutput) -> Tensor:
    """How far predicted places and sizes moved, for slots that have been seen."""
    return (output.visibility.unsqueeze(-1) * moved(output)).mean()


def moved(output: StepOutput) -> Tensor:
    """(B, K, 3) squared changes of place and size from one prediction to the next."""
    return torch.cat([
        output.predicted.position - output.previous.position.detach(),
        (output.predicted.size - output.previous.size.detach()).unsqueeze(-1),
    ], dim=-1).square()


def gestalt_change(output: StepOutput) -> Tensor:
    """How much each object's look changed, both pictures moved to the image's centre."""
    if output.objects_after is None:
        raise ValueError(
            "The gestalt-change loss compares whole objects, which only a training step (no warm-up) with "
            "whole own objects decodes: set loss.gestalt_change to 0 or leave out extensions.painted_objects."
        )
    # Slots that have never been seen weigh nothing, and most are among them.
    seen = output.visibility.flatten().nonzero().squeeze(1)

    def chosen(of_slots: Tensor) -> Tensor:
        flat = of_slots.flatten(0, 1)
        return flat if len(seen) == len(flat) else flat.index_select(0, seen)

    total: Tensor = _ChangeOfLook.apply(  # type: ignore[no-untyped-call]
        chosen(output.objects_after), chosen(output.predicted.position.detach()),
        chosen(output.objects_before.detach()), chosen(output.previous.position.detach()), chosen(output.visibility),
    )
    return total / output.objects_after.numel()


class _ChangeOfLook(torch.autograd.Function):
    """Σ weight · (look before - look after)², both centred; its gradient to the colour logits of the look after.

    The gradient is made on the way: one map is kept instead of seven, and it is moved back by the opposite translation.
    """

    @staticmethod
    def forward(ctx: Any, after: Tensor, now: Tensor, before: Tensor, then: Tensor, weight: Tensor) -> Tensor:
        colours = (after - COLOUR_SHIFT).sigmoid_()
        change = centred(colours, now).sub_(centred((before - COLOUR_SHIFT).sigmoid_(), then))
        weighted = weight[:, None, None, None] * change
        total = torch.dot(change.flatten(), weighted.flatten())
        if ctx.needs_input_grad[0]:
            into = centred(weighted.mul_(2), -now)
            ctx.save_for_backward(SIGMOID_BACKWARD(into, colours, grad_input=into))
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (into,) = ctx.saved_tensors
        return gradients[0] * into, None, None, None, None


def centred(pictures: Tensor, position: Tensor) -> Tensor:
    """(..., 3, H, W), places (..., 2) -> (n, 3, H, W), each translated so that its place is in the middle."""
    flat, place = pictures.flatten(0, -4), position.flatten(0, -2)
    rows, columns = flat.shape[2:]
    y = _pixel_centres(rows, flat).view(1, -1, 1) + place[:, 0].view(-1, 1, 1)
    x = _pixel_centres(columns, flat).view(1, 1, -1) + place[:, 1].view(-1, 1, 1)
    where = torch.stack([x.expand(-1, rows, -1), y.expand(-1, -1, columns)], dim=-1)
    return F.grid_sample(flat, where, mode="bilinear", padding_mode="zeros", align_corners=False)


def _pixel_centres(size: int, like: Tensor) -> Tensor:
    return (2 * torch.arange(size, dtype=like.dtype, device=like.device) + 1) / size - 1


def centring(output: StepOutput, above: float = 0.0, cut_off_above: float = 0.5) -> Tensor:
    """Beyond the paper: the place code should be the middle of the whole-object mask, not just near it.

    Only what is wholly in sight says where its middle is: the visible part of what a screen or the image's border cuts
    off lies beside it; cut off is what shows more than `cut_off_above` there. Nor do pixels of the mask up to `above`:
    a faint haze over the whole picture weighs as much as a small object.
    """
    masks = output.present.object_masks
    counted = masks * (masks > above)
    weight = counted.sum((2, 3)) + 1e-3
    rows, columns = (grid(n, masks) for n in masks.shape[2:])
    y = (counted.sum(3) * rows).sum(2) / weight
    x = (counted.sum(2) * columns).sum(2) / weight
    off = (output.sensed.position - torch.stack([y, x], dim=-1)).square().sum(-1)
    whole = (output.occlusion < WHOLLY_SEEN) & (outermost(masks).amax(-1) <= cut_off_above)
    seen = (output.bound & whole).to(off.dtype)
    return ((off * seen).sum(1) / (seen.sum(1) + 1)).mean()


def outermost(masks: Tensor) -> Tensor:
    """(..., H, W) -> (..., 2 H + 2 W): the pixels along the image's border."""
    return torch.cat([masks[..., 0, :], masks[..., -1, :], masks[..., :, 0], masks[..., :, -1]], dim=-1)
