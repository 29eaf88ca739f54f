"""Matched pairs: the same film until something impossible happens where nobody can see it."""

from __future__ import annotations

import numpy as np
import pytest

from loci_looped.configs.scenes import VIOLATIONS, ViolationKind
from loci_looped.data.clip import Clip, Event
from loci_looped.data.render.clips import make_clip
from loci_looped.data.render.scene_render import render_frame
from loci_looped.data.scenes.hiding import hidden_times, is_hidden
from loci_looped.data.scenes.scene import Scene
from loci_looped.data.scenes.vanish import STRIDE
from loci_looped.data.scenes.violations import matched_scenes
from loci_looped.utils.errors import LociError


def event_number(scene: Scene) -> int:
    """The first kept frame, in the scene's own count, at or after the violation."""
    assert scene.violation is not None
    return next(number for number in range(0, scene.num_frames, STRIDE) if number / scene.fps >= scene.violation.time)


def check_event_is_hidden(kind: ViolationKind, control: Scene, violation: Scene, size: tuple[int, int]) -> None:
    """By geometry, by every sample of the picture, and by the bytes: the event frame does not betray the event."""
    assert violation.violation is not None and control.screen is not None
    mover, number = violation.violation.mover, event_number(violation)
    frames = [render_frame(scene, number, size) for scene in (control, violation)]
    for scene, frame in zip((control, violation), frames, strict=True):
        body = scene.bodies(number / scene.fps)[mover]
        assert frame.visible_samples[mover] == 0 and not frame.visible_masks[mover].any()
        if body is not None:
            assert is_hidden(body, control.screen.body(number / scene.fps), scene.backdrop)
            assert frame.object_masks[mover].any()
    assert np.array_equal(frames[0].image, frames[1].image)
    present = [not np.isnan(frame.positions[mover]).any() for frame in frames]
    assert present == {"vanish": [True, False], "appear": [False, True]}.get(kind, [True, True])


def check_equal_before(control: Scene, violation: Scene, size: tuple[int, int], samples: int) -> None:
    for number in range(0, event_number(violation), STRIDE):
        one, two = (render_frame(scene, number, size, samples) for scene in (control, violation))
        assert np.array_equal(one.image, two.image) and np.array_equal(one.visible_masks, two.visible_masks)
        assert np.array_equal(one.positions, two.positions, equal_nan=True)


@pytest.mark.parametrize("kind", VIOLATIONS)
def test_pairs(kind: ViolationKind) -> None:
    for seed in range(3):
        control, violation = matched_scenes(kind, seed)
        check_event_is_hidden(kind, control, violation, (80, 120))
    check_equal_before(control, violation, (32, 48), samples=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", VIOLATIONS)
def test_two_hundred_pairs(kind: ViolationKind) -> None:
    for seed in range(30):
        control, violation = matched_scenes(kind, seed)
        check_event_is_hidden(kind, control, violation, (320, 480) if seed % 5 == 0 else (160, 240))
        check_equal_before(control, violation, (32, 48), samples=1)
        # Sooner or later the difference can be seen: when the mover should come out, or when the screen has fallen.
        later = [[render_frame(scene, number, (32, 48), 1).image for number in (*range(96, 130, 6), 237)]
                 for scene in (control, violation)]
        assert not np.array_equal(*later)


def last_seen(clip: Clip, mover: int) -> int:
    assert clip.truth is not None
    return int(np.flatnonzero(clip.truth.visible_masks[:, mover].any(axis=(1, 2)))[-1])


@pytest.mark.parametrize("kind", VIOLATIONS)
def test_what_the_violation_does(kind: ViolationKind) -> None:
    control, violation = (make_clip(f"violations-{kind}{end}", 1, (40, 60), samples=1) for end in ("-control", ""))
    assert control.truth is not None and violation.truth is not None
    assert control.truth.names == violation.truth.names and len(control) == len(violation) == 80
    assert not [event for event in control.events if event.kind == "violation"]
    (event,) = [event for event in violation.events if event.kind == "violation"]
    mover, frame = event.object, event.frame
    assert mover == 1
    before, after = control.truth.positions[frame:, mover], violation.truth.positions[frame:, mover]
    if kind == "vanish":
        assert Event("removed", frame, mover) in violation.events and last_seen(violation, mover) < frame
    elif kind == "appear":
        assert Event("inserted", frame, mover) in violation.events
        assert not control.truth.object_masks[:, mover].any() and last_seen(violation, mover) > frame
    elif kind == "teleport":
        assert np.abs(after[0] - before[0]).max() > 4                   # pixels of 60
        assert np.allclose(np.diff(after[:5], axis=0), np.diff(before[:5], axis=0), atol=0.05)
    elif kind == "colour":
        seen = control.truth.visible_masks[40, mover]
        assert seen.sum() > 3
        change = control.frames[40][seen].mean(axis=0) - violation.frames[40][seen].mean(axis=0)
        assert np.abs(change).max() > 30 and np.array_equal(before, after)
    elif kind == "shape":
        later = slice(frame, frame + 15)
        assert not np.array_equal(control.truth.object_masks[later, mover], violation.truth.object_masks[later, mover])
    elif kind == "stop":
        assert np.allclose(after, after[0]) and last_seen(control, mover) < 60 <= last_seen(violation, mover)
    else:
        assert Event("collision", frame, mover) in control.events
        next_frame, back = after[8, 1] - after[0, 1], before[8, 1] - before[0, 1]
        assert next_frame * back < 0                                         # through it, instead of back


def test_only_the_wanted_mover_changes() -> None:
    control, violation = matched_scenes("stop", 4)
    assert all(control.mover(0, time) == violation.mover(0, time) for time in (1.0, 3.5, 6.0))
    assert hidden_times(control, 1, np.array([0.0, 3.5])).tolist() == [False, True]


def test_unknown_kind() -> None:
    with pytest.raises(LociError, match=r"no violation 'melt'\. Choose one of: vanish"):
        matched_scenes("melt", 0)       # type: ignore[arg-type]
