"""SlotFormer's evaluation clips: 48 frames at stride 2 in which nobody enters after the burn-in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.coordinates import Size
from loci_looped.data.scenes import collide
from loci_looped.data.scenes.camera import in_view
from loci_looped.data.store.clip_spec import ClipSpec

BURN_IN, ROLLOUT, STRIDE = 6, 42, 2
FIRST_STORY = 100_000
"""Test scenes are stories from here on: recipes train on those from 0 on."""


def first_start(seen: NDArray[np.bool_]) -> int | None:
    """The first frame from which such a clip can begin, or None; `seen` (T, O) says who is in view when.

    New is an object that is in view after the fourth kept frame (burn-in - 3) but in none of the clip's frames before.
    """
    span = (BURN_IN + ROLLOUT - 1) * STRIDE
    for start in range(len(seen) - span):
        settled = start + (BURN_IN - 3) * STRIDE
        before = np.asarray(seen[start : settled + 1].any(axis=0))
        after = np.asarray(seen[settled + 1 : start + span + 1].any(axis=0))
        if not (after & ~before).any():
            return start
    return None


def collide_specs(count: int, first_seed: int, size: Size) -> list[ClipSpec]:
    """The first `count` stories, counted from `first_seed`, with a clip in which nobody enters late (about every second
    one has). No network was trained on any of them."""
    specs: list[ClipSpec] = []
    seed = FIRST_STORY + first_seed
    while len(specs) < count:
        start = first_start(in_view(collide.CAMERA, collide.story(seed).motion().locations))
        if start is not None:
            frames = range(start, start + (BURN_IN + ROLLOUT) * STRIDE, STRIDE)
            specs.append(ClipSpec("collide", seed, size, frames))
        seed += 1
    return specs
