"""How far a slot moves per step, learnt from what was unexpected about its place. Beyond the paper."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..blocks import gaussian_map

LEAST_SHARE = 0.1
"""Of what is unexpected about a well seen place at least so much is put down to motion, however long it is followed."""

MOST_HIDDEN = 0.2
"""From this occlusion on the visible part says nothing about motion: it is cut off and moves otherwise."""

NEIGHBOURHOOD = 0.03
"""How much farther than the object, as a size code, its neighbourhood reaches."""


@dataclass(frozen=True)
class Sight:
    """What counts as badly seen."""

    margin: float
    """Within about this share of the image's longer side from the border, objects are cut off by it."""
    at_border: float
    """Trust in what the border cuts off: it says roughly where things are heading, until something better is known."""
    most_crowded: float
    """If other objects fill this share of the neighbourhood, places are drawn to them and away from them."""


IN_TRAINING = Sight(margin=1 / 15, at_border=0.1, most_crowded=0.1)
IN_USE = Sight(margin=0.1, at_border=0.02, most_crowded=0.05)
"""Who uses a network can be choosier than who trains it: what comes in over the border looks a third slower than it is,
and every such step counts when there are only ten of them before the screen."""


@torch.no_grad()
def trust(position: Tensor, size: Tensor, occlusion: Tensor, visible_masks: Tensor, sight: Sight) -> Tensor:
    """(B, K) in [0, 1]: how well each place (B, K, 2) can be seen, among the visible masks (B, K, H, W)."""
    frame = visible_masks.shape[-2], visible_masks.shape[-1]
    from_border = (1 - position.abs()) * position.new_tensor(frame) / 2 / (sight.margin * max(frame)) - 0.5
    inside = from_border.clamp(sight.at_border, 1.0).prod(-1)
    near = gaussian_map(position, size + NEIGHBOURHOOD, frame)
    others = visible_masks.sum(1, keepdim=True) - visible_masks
    crowded = (near * others).sum((2, 3)) / near.sum((2, 3)).clamp(min=1e-6)
    in_sight = (1 - occlusion / MOST_HIDDEN).clamp(min=0) * (1 - crowded / sight.most_crowded).clamp(min=0)
    return inside * in_sight


def corrected(displacement: Tensor, unexpected: Tensor, trusted: Tensor, so_far: Tensor) -> Tensor:
    """The displacement (B, K, 2) after a step whose place was off by `unexpected`.

    With `so_far`, the trust of all earlier steps together, this is the trusted mean of the speeds seen; a floor keeps
    it from going blind to changes. Where nothing is trusted, as with the gate shut, it stays as it was.
    """
    share = torch.maximum(trusted / (so_far + trusted).clamp(min=1e-6), LEAST_SHARE * trusted)
    return displacement + share.unsqueeze(-1) * unexpected
