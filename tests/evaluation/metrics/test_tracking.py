"""Tracking: a perfect tracker is perfect, a shifted one is off by its shift, hidden frames are told apart."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loci_looped.data.clip import ObjectTruth
from loci_looped.evaluation.metrics.mota import count_events, total
from loci_looped.evaluation.metrics.tracking import Track, associate, successes, summarise, tracking_table
from loci_looped.utils.errors import LociError

SIZE = (32, 48)
DIAGONAL = math.hypot(*SIZE)


def crossing(frames: int = 30, hidden: slice = slice(12, 18)) -> ObjectTruth:
    """A ball that crosses from left to right at row 20 and is unseen for a while, and a screen that stands still."""
    positions = np.zeros((frames, 2, 2), dtype=np.float32)
    positions[:, 0] = np.stack([np.full(frames, 20), np.linspace(4, 44, frames)], axis=-1)
    positions[:, 1] = (10, 24)
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    gaps = np.stack([rows, columns], axis=-1)[None, None] - positions[:, :, None, None]
    whole = (gaps**2).sum(axis=-1) <= 9
    seen = whole.copy()
    seen[hidden, 0] = False
    return ObjectTruth(("ball", "screen"), ("mover", "screen"), positions, seen, whole,
                       np.ones((frames, 2), dtype=np.float32))


def perfect(truth: ObjectTruth) -> Track:
    shape = truth.positions.shape[:2]
    return Track(truth.positions.astype(np.float64), np.ones(shape, bool), np.zeros(shape, bool),
                 truth.object_masks.sum(axis=(2, 3)).astype(np.float64))


def test_a_perfect_tracker_scores_zero_all_and_one() -> None:
    truth = crossing()
    summary = summarise([tracking_table(perfect(truth), truth)])
    assert summary.visible.mean == summary.occluded.mean == summary.overall.mean == 0
    assert (summary.visible.n, summary.occluded.n, summary.overall.n) == (24, 6, 30)
    assert (summary.tried, summary.succeeded, summary.success_rate) == (1, 1, 1.0)      # the screen is not tried
    assert count_events(perfect(truth), truth).mota == 1.0


@settings(max_examples=30, deadline=None)
@given(down=st.floats(-4, 4), right=st.floats(-4, 4))
def test_a_shift_in_pixels_is_the_error_over_the_diagonal_on_either_axis(down: float, right: float) -> None:
    truth = crossing()
    track = perfect(truth)
    moved = Track(track.positions + np.array([down, right]), track.present, track.hidden)
    table = tracking_table(moved, truth)
    assert np.allclose(table.error[table.scored], math.hypot(down, right) / DIAGONAL, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(4)))
def test_the_order_of_the_slots_does_not_matter(order: list[int]) -> None:
    truth = crossing()
    noise = np.random.default_rng(0).normal(size=(30, 4, 2))
    positions = np.concatenate([truth.positions, truth.positions], axis=1) + noise
    present = np.ones((30, 4), bool)
    present[:, 3] = False
    track = Track(positions, present, ~present)
    shuffled = Track(positions[:, order], present[:, order], ~present[:, order])
    ours, theirs = (summarise([tracking_table(t, truth)]) for t in (track, shuffled))
    assert ours.overall.mean == pytest.approx(theirs.overall.mean)
    assert (ours.tried, ours.succeeded) == (theirs.tried, theirs.succeeded)
    assert count_events(track, truth).mota == count_events(shuffled, truth).mota


def test_a_slot_is_locked_when_first_seen_and_never_changes() -> None:
    positions = np.array([[[0.0, 0.0]], [[9.0, 9.0]], [[0.0, 0.0]]])
    targets = np.tile(np.array([[[0.0, 0.0], [9.0, 9.0]]]), (3, 1, 1))
    assert associate(positions, np.array([[False], [True], [True]]), targets).ravel().tolist() == [-1, 1, 1]
    targets[1, 1] = np.nan                                          # the near one is no candidate at that moment
    assert associate(positions, np.array([[False], [True], [True]]), targets).ravel().tolist() == [-1, 0, 0]
    assert associate(positions, np.zeros((3, 1), bool), targets).ravel().tolist() == [-1, -1, -1]
    assert associate(positions, np.ones((3, 1), bool), targets[:, :0]).ravel().tolist() == [-1, -1, -1]


def test_a_slot_is_never_locked_to_an_object_nobody_can_see() -> None:
    """The screen's slot appears while the ball is hidden right behind it, nearer than the screen's own centre."""
    truth = crossing()
    truth.positions[:, 0] = (12, 24)
    present = np.zeros((30, 1), bool)
    present[13:] = True                                             # hidden from frame 12 to 17
    slot = Track(np.tile(np.array([12.0, 24.0]), (30, 1, 1)), present, ~present)
    assert set(tracking_table(slot, truth).object[13:].ravel().tolist()) == {1}


def test_a_tracker_that_loses_the_ball_behind_the_screen_fails() -> None:
    truth = crossing()
    track = perfect(truth)
    stuck = track.positions.copy()
    stuck[12:, 0] = stuck[12, 0]
    table = tracking_table(Track(stuck, track.present, track.hidden), truth)
    tried, succeeded = successes(table)
    assert tried.tolist() == [True, False] and succeeded.tolist() == [False, False]
    assert summarise([table]).occluded.mean > 0
    late = tracking_table(perfect(truth), truth)
    assert summarise([late], first_seen_before=0).tried == 0


def test_an_object_that_left_the_world_is_not_scored() -> None:
    truth = crossing()
    truth.positions[20:, 0] = np.nan
    table = tracking_table(perfect(crossing()), truth)
    assert not table.scored[20:, 0].any() and np.isnan(table.error[20:, 0]).all()
    assert table.scored[:20, 0].all()


def test_a_tracker_that_never_binds_has_nothing_to_score() -> None:
    truth = crossing()
    nothing = Track(np.zeros((30, 2, 2)), np.zeros((30, 2), bool), np.zeros((30, 2), bool))
    summary = summarise([tracking_table(nothing, truth)])
    assert summary.overall.n == 0 and str(summary.overall) == "nothing to score" and math.isnan(summary.success_rate)
    counts = count_events(nothing, truth)
    assert counts.mota == 0 and counts.misses == counts.objects == 60


def test_specks_are_no_hypotheses_at_any_resolution() -> None:
    truth = crossing()
    track = perfect(truth)
    speck = Track(track.positions, track.present, track.hidden, np.full((30, 2), 0.9))     # 100 at 320 x 480 is 1 here
    assert count_events(speck, truth).recall == 0
    assert count_events(Track(track.positions, track.present, track.hidden, np.full((30, 2), 1.1)), truth).mota == 1


def test_bad_input_is_told_in_a_sentence() -> None:
    truth = crossing()
    track = perfect(truth)
    broken = track.positions.copy()
    broken[7, 1] = np.nan
    with pytest.raises(LociError, match=r"slot 1 at frame 7 is not a number \(1 such place"):
        Track(broken, track.present, track.hidden)
    absent = track.present.copy()
    absent[7, 1] = False
    Track(broken, absent, track.hidden)                             # nobody asks where an empty slot is
    with pytest.raises(LociError, match=r"hidden \(T, K\)"):
        Track(track.positions, track.present, track.hidden[:, :1])
    with pytest.raises(LociError, match="test set is empty"):
        summarise([])
    with pytest.raises(LociError, match="20 frames and the truth 30"):
        tracking_table(Track(track.positions[:20], track.present[:20], track.hidden[:20]), truth)
    empty = ObjectTruth((), (), truth.positions[:, :0], truth.visible_masks[:, :0], truth.object_masks[:, :0],
                        truth.depths[:, :0])
    with pytest.raises(LociError, match="without objects"):
        tracking_table(track, empty)
    with pytest.raises(LociError, match="MOTA is not defined"):
        total([count_events(track, empty)])


def test_who_has_let_go_when_its_object_is_last_seen_has_not_succeeded() -> None:
    truth = crossing()
    track = perfect(truth)
    present = track.present.copy()
    present[25:, 0] = False                                 # the ball can be seen to the end
    left = Track(track.positions, present, track.hidden, track.areas)
    tried, succeeded = successes(tracking_table(left, truth))
    assert tried.tolist() == [True, False] and not succeeded.any()
    summary = summarise([tracking_table(left, truth)])
    assert (summary.tried, summary.succeeded) == (1, 0)
