"""The vanish world: what a seed gives, and what the truth of its clips must satisfy."""

from __future__ import annotations

import numpy as np

from loci_looped.data.vanish import control_clip, surprise_clip, training_clip


def test_a_seed_is_a_clip() -> None:
    first, again, other = training_clip(3), training_clip(3), training_clip(4)
    assert first.frames.shape == (41, 40, 60, 3)
    assert first.frames.tobytes() == again.frames.tobytes()
    assert first.frames.tobytes() != other.frames.tobytes()


def test_surprise_equals_control_until_the_removal() -> None:
    control, surprise = control_clip(5), surprise_clip(5)
    assert len(control) == len(surprise) == 80
    (removed,) = [event for event in surprise.events if event.kind == "removed"]
    assert np.array_equal(control.frames[:removed.frame + 1], surprise.frames[:removed.frame + 1])
    assert not np.array_equal(control.frames, surprise.frames)
