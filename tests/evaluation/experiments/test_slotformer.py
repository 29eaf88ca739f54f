"""SlotFormer's evaluation clips: who is in view at the end has been there from the beginning."""

from __future__ import annotations

import numpy as np

from loci_looped.configs.recipes import recipe
from loci_looped.evaluation.experiments.slotformer import collide_specs, first_start


def test_the_first_start_without_newcomers_is_taken() -> None:
    seen = np.zeros((128, 3), bool)
    seen[:, 0] = True
    assert first_start(seen) == 0
    seen[20:, 1] = True                     # enters at 20: must be in view by start + 6
    assert first_start(seen) == 14
    seen[50:60, 2] = True                   # enters in the middle of every clip
    assert first_start(seen) is None


def test_nobody_comes_into_view_after_the_burn_in() -> None:
    chosen = collide_specs(2, 0, (16, 24))
    assert len({spec.seed for spec in chosen}) == 2
    trained = recipe("clevrer-small").data
    assert min(spec.seed for spec in chosen) > trained.first_seed + trained.clips
    clip = chosen[0].make()
    assert len(clip) == 48 and clip.size == (16, 24)
    assert clip.truth is not None
    inside = clip.truth.in_image()
    assert not (inside[6:].any(axis=0) & ~inside[:6].any(axis=0)).any()
