"""The vanish world: what a seed gives, and what the truth of its clips must satisfy."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from loci_looped.data.clip import Clip
from loci_looped.data.render.clips import make_clip
from loci_looped.data.render.scene_render import render_frame
from loci_looped.data.scenes.vanish import crossing_scene, training_scene
from loci_looped.utils.errors import LociError

# Renew these when pictures are meant to change (or NumPy changes its normal deviates): trained weights expect them.
TRAINING_HASH = "08d19fe37f9e52d6"
SURPRISE_HASH = "a2d23e4b5b1a9b43"


def digest(clip: Clip) -> str:
    return hashlib.sha256(clip.frames.tobytes() + clip.background.tobytes()).hexdigest()[:16]


def hidden_frames(clip: Clip) -> np.ndarray:
    """(T, O) in the image, in the world, and not seen."""
    assert clip.truth is not None
    return np.asarray(clip.truth.object_masks.any(axis=(2, 3)) & ~clip.truth.visible_masks.any(axis=(2, 3)))


def test_a_seed_is_a_clip() -> None:
    first, again, other = make_clip("vanish", 3), make_clip("vanish", 3), make_clip("vanish", 4)
    assert first.frames.shape == (41, 40, 60, 3) and first.source == "vanish/training"
    assert digest(first) == digest(again) != digest(other)
    assert digest(first) == TRAINING_HASH
    assert digest(make_clip("vanish-surprise", 3)) == SURPRISE_HASH


def test_training_and_test_scenes_come_from_different_streams() -> None:
    assert all(training_scene(seed).backdrop.floor != crossing_scene(seed).backdrop.floor for seed in range(5))
    with pytest.raises(LociError, match="from 0 on"):
        make_clip("vanish", -1)


def test_one_scene_at_any_size() -> None:
    small, large = (make_clip("vanish-control", 2, size, samples=1) for size in ((32, 48), (64, 96)))
    assert small.truth is not None and large.truth is not None
    assert np.allclose((small.truth.positions + 0.5) * 2, large.truth.positions + 0.5, atol=1e-2)
    assert np.array_equal(small.truth.depths, large.truth.depths)


def test_training_scenes_keep_their_rules() -> None:
    for seed in range(40):
        scene = training_scene(seed)
        assert 1 <= len(scene.movers) <= 3
        names = [mover.colour for mover in scene.movers] + ([scene.screen.colour] if scene.screen else [])
        assert len(set(names)) == len(names)
        for time in np.arange(0, 5, 0.25):
            places = np.array([mover.place(float(time)) for mover in scene.movers])
            assert (places[:, 0] >= -2.8).all()
            for one in range(len(places)):
                for two in range(one):
                    apart = float(np.hypot(*(places[one] - places[two])))
                    assert apart >= scene.movers[one].reach() + scene.movers[two].reach() - 0.2


def test_permanence_can_be_learnt_from_training_scenes() -> None:
    """In most scenes something passes wholly behind a screen and comes out, hidden about as long as in the test."""
    passes, lengths = 0, []
    for seed in range(40):
        clip = make_clip("vanish", seed, (32, 48), samples=1)
        assert clip.truth is not None
        hidden, seen = hidden_frames(clip), clip.truth.visible_masks.any(axis=(2, 3))
        found = []
        for index, kind in enumerate(clip.truth.kinds):
            frames = np.flatnonzero(hidden[:, index])
            if kind == "mover" and len(frames) and seen[:frames[0], index].any() and seen[frames[-1]:, index].any():
                found.append(len(frames))
        passes += any(length >= 5 for length in found)
        lengths += found
    assert passes >= 24
    assert 7 <= np.median(lengths) <= 14


def test_masks_positions_and_depths_hang_together() -> None:
    clip = make_clip("vanish-control", 1, samples=1)
    truth = clip.truth
    assert truth is not None and truth.names[2].endswith("screen") and truth.kinds == ("mover", "mover", "screen")
    assert not (truth.visible_masks & ~truth.object_masks).any()
    assert truth.visible_masks.sum(axis=1).max() == 1
    assert (truth.depths[:, 0] < truth.depths[:, 1]).all()              # A walks in front of B
    assert truth.object_masks[:, 2].any(axis=(1, 2)).all()              # the screen is always in the image
    share = truth.occluded_fraction()
    assert share.min() == 0 and share.max() == 1
    assert np.array_equal(share == 1, hidden_frames(clip))


def test_control_timeline() -> None:
    """Both movers are hidden as long as in ADEPT (the paper: 10.3 frames), come out, leave; then the screen falls."""
    lengths = []
    for seed in range(12):
        clip = make_clip("vanish-control", seed, size=(40, 60), samples=1)
        assert clip.truth is not None and len(clip) == 80
        hidden = hidden_frames(clip)
        lengths += list(hidden[:, :2].sum(axis=0))
        events = {(event.kind, event.object): event.frame for event in clip.events}
        for mover in (0, 1):
            assert 15 <= events["hidden_from", mover] < events["hidden_to", mover] <= 45
        assert events["screen_falls", 2] == 59
        upright, lying = clip.truth.object_masks[58, 2].sum(), clip.truth.object_masks[79, 2].sum()
        assert lying < 0.75 * upright
        assert not clip.truth.visible_masks[60:, :2].any()
    assert 9 <= np.mean(lengths) <= 12


def test_surprise_equals_control_until_the_removal() -> None:
    control, surprise = make_clip("vanish-control", 5), make_clip("vanish-surprise", 5)
    assert control.truth is not None and surprise.truth is not None
    (removed,) = [event for event in surprise.events if event.kind == "removed"]
    assert removed.frame == 30 and removed.object == 1
    assert np.array_equal(control.frames[:removed.frame + 1], surprise.frames[:removed.frame + 1])
    assert not np.array_equal(control.frames, surprise.frames)
    assert np.isnan(surprise.truth.positions[removed.frame:, 1]).all()
    assert not np.isnan(control.truth.positions).any()
    assert not any(event.kind == "hidden_to" and event.object == 1 for event in surprise.events)


def test_one_mover_control_is_the_first_of_two() -> None:
    one, two = make_clip("vanish-control-1", 4, samples=1), make_clip("vanish-control", 4, samples=1)
    assert one.truth is not None and two.truth is not None
    assert one.truth.names == (two.truth.names[0], two.truth.names[2])
    assert np.array_equal(one.truth.positions[:, 0], two.truth.positions[:, 0])


def test_a_standing_screen_never_moves_and_hides_both_movers() -> None:
    clip, control = make_clip("vanish-standing", 3, (40, 60)), make_clip("vanish-control", 3, (40, 60))
    assert clip.truth is not None and control.truth is not None and len(clip) == 58
    screen = clip.truth.kinds.index("screen")
    whole = clip.truth.object_masks[:, screen]
    assert whole[0].any() and (whole == whole[0]).all()
    hidden = ~clip.truth.visible_masks.any(axis=(2, 3)) & clip.truth.in_image()
    assert all(hidden[:, index].sum() >= 3 for index, kind in enumerate(clip.truth.kinds) if kind == "mover")
    # Until the control's screen falls the two are the same film.
    assert np.array_equal(clip.frames, control.frames[:58])
    assert "screen_falls" not in {event.kind for event in clip.events}


def test_noise_is_that_of_the_film_and_each_frame_has_its_own() -> None:
    scene = crossing_scene(6)
    still = [render_frame(scene, frame, (80, 120)).image[:20].astype(float) for frame in (0, 3)]
    difference = still[0] - still[1]
    assert 3.6 < difference.std() < 4.9                     # two draws of sd 3: 4.2
    assert np.array_equal(render_frame(scene, 3, (80, 120)).image[:20], still[1])
