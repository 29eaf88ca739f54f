"""How far a slot moves per step, learnt from what was unexpected about its place. Beyond the paper."""

from __future__ import annotations

import torch
from torch import Tensor

LEAST_SHARE = 0.1
"""Of what is unexpected about a well seen place at least so much is put down to motion, however long it is followed."""

MOST_HIDDEN = 0.2
"""From this occlusion on the visible part says nothing about motion: it is cut off and moves otherwise."""

MARGIN = 1 / 15
"""Within about this share of the image's longer side from the border, objects are cut off by it."""

TRUST_AT_BORDER = 0.1
"""What is cut off by the border still says roughly where things are heading, until something better is known."""


def trust(position: Tensor, occlusion: Tensor, frame: tuple[int, int]) -> Tensor:
    """(B, K) in [0, 1]: how well each place (B, K, 2) can be seen, given the occlusion (B, K)."""
    sides = position.new_tensor(frame)
    from_border = (1 - position.detach().abs()) * sides / 2 / (MARGIN * max(frame)) - 0.5
    inside = from_border.clamp(TRUST_AT_BORDER, 1).prod(-1)
    return inside * (1 - occlusion.detach() / MOST_HIDDEN).clamp(min=0)


def corrected(displacement: Tensor, unexpected: Tensor, trusted: Tensor, so_far: Tensor) -> Tensor:
    """The displacement (B, K, 2) after a step whose place was off by `unexpected`.

    With `so_far`, the trust of all earlier steps together, this is the trusted mean of the speeds seen; a floor keeps
    it from going blind to changes. Where nothing is trusted, as with the gate shut, it stays as it was.
    """
    share = torch.maximum(trusted / (so_far + trusted).clamp(min=1e-6), LEAST_SHARE * trusted)
    return displacement + share.unsqueeze(-1) * unexpected
