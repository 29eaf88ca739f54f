"""What Loci-v1 is trained for: paint the next frame, move little, change little, and keep what nobody sees."""

from __future__ import annotations

import torch
from torch import Tensor

from loci_looped.model.losses import balanced_picture_loss, centred, foreground, object_picture_loss, picture_loss
from loci_looped.model.state import COLOUR_SHIFT

from .loci_v1 import LociV1
from .state import LociV1Output

POSITION, GESTALT = 0.01, 0.1
"""Inner factors of the released code; the weights in its configurations are 1."""


def step_losses(
    model: LociV1, output: LociV1Output, target: Tensor, *, warm: bool, front: Tensor | None = None,
    outlines: bool = False,
) -> dict[str, Tensor]:
    """name -> scalar; `target` (B, 3, H, W) is the faded picture to paint. While it warms up, only that counts.

    With `front` (B, 1, H, W), where the foreground is, that counts as much as all the rest; with `outlines` small
    objects count as much as large ones.
    """
    painted, target = output.next_frame.frame, target.clamp(0, 1)
    if front is None:
        parts = {"prediction": picture_loss(painted, target)}
    else:
        loss = object_picture_loss if outlines else balanced_picture_loss
        parts = {"prediction": loss(painted, target, front)}
    if warm:
        nothing = torch.zeros_like(parts["prediction"])
        return parts | {"position_change": nothing, "object_permanence": nothing, "gestalt_change": nothing}
    after = model.decoder.objects(output.predicted)
    return parts | {
        "position_change": POSITION * position_change(output),
        "object_permanence": object_permanence(model, output, after),
        "gestalt_change": GESTALT * gestalt_change(output, after),
    }


def position_change(output: LociV1Output) -> Tensor:
    """How far predicted places and sizes are from those the step started with, for slots that have been seen."""
    moved = torch.cat([
        output.predicted.position - output.placed.position.detach(),
        (output.predicted.size - output.placed.size.detach()).unsqueeze(-1),
    ], dim=-1)
    return (output.weight.unsqueeze(-1) * moved.square()).mean()


def object_permanence(model: LociV1, output: LociV1Output, after: Tensor) -> Tensor:
    """A slot that was seen and shows nothing must still decode to what it last showed; `after` (B, K, 3, H, W)."""
    with torch.no_grad():
        kept = torch.sigmoid(model.decoder.objects(output.remembered) - COLOUR_SHIFT)
    hidden = (1 - output.shown) * output.weight
    return (hidden[..., None, None, None] * (torch.sigmoid(after - COLOUR_SHIFT) - kept).square()).mean()


def gestalt_change(output: LociV1Output, after: Tensor) -> Tensor:
    """How much each object's look changes, both pictures moved to the image's centre."""
    before = centred(torch.sigmoid(output.objects_before.detach() - COLOUR_SHIFT), output.placed.position.detach())
    now = centred(torch.sigmoid(after - COLOUR_SHIFT), output.predicted.position.detach())
    return (output.weight.flatten()[:, None, None, None] * (before - now).square()).mean()


@torch.no_grad()
def faded_target(frame: Tensor, background: Tensor, strength: Tensor) -> Tensor:
    """The frame, its background as dark as it is in the network's own picture."""
    front = foreground(frame, background)
    return (frame * (front + (1 - front) * strength)).clamp(0, 1)
