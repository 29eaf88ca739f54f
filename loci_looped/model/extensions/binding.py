"""Binding in plain sight: what a slot has only seen the rim of is not an object yet.

Where a mover touches the screen its own slot does not explain it to the last pixel, and a free slot is sent to the
rest. In the paper it binds whatever it can show, and holds for good a second copy of something that others hide. Here a
slot that comes later binds what nothing stands before; while slots learn to see they may bind everything.
"""

from __future__ import annotations

import dataclasses

from torch import Tensor

from ..bookkeeping import Bookkeeping
from ..occlusion import occlusion_state
from ..state import Decoded, Registry


class BindsInSight(Bookkeeping):
    most_hidden = 0.2

    def bind(
        self, registry: Registry, assigned: Tensor, present: Decoded, *, learning: bool = False
    ) -> tuple[Registry, Tensor]:
        after, seen = super().bind(registry, assigned, present, learning=learning)
        if learning:
            return after, seen
        occlusion = occlusion_state(present, after.bound, seen, self.bound_threshold)
        newcomer = after.bound & ~registry.bound & registry.settled.unsqueeze(1)
        waits = newcomer & (occlusion > self.most_hidden)
        return dataclasses.replace(after, bound=after.bound & ~waits), seen & ~waits


def binds_in_sight(most_hidden: float) -> type[Bookkeeping]:
    """Bookkeeping in which newcomers bind what is hidden to at most this share."""
    return type("BindsInSight", (BindsInSight,), {"most_hidden": most_hidden})
