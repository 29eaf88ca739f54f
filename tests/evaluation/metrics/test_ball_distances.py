"""All balls are scored, whatever the order of the slots; whoever lacks one is told so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loci_looped.evaluation.metrics.balls import ball_distances, distance_error, match_balls
from loci_looped.utils.errors import LociError


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), clips=st.integers(1, 3), balls=st.integers(1, 4), spare=st.integers(0, 2))
def test_perfect_positions_score_zero_in_any_order_and_batch(seed: int, clips: int, balls: int, spare: int) -> None:
    generator = np.random.default_rng(seed)
    truth = generator.random((clips, 12, balls, 2))
    slots = np.concatenate([truth, generator.random((clips, 12, spare, 2)) + 5], axis=2)
    order = generator.permutation(balls + spare)
    assert np.allclose(ball_distances(slots[:, :, order], truth), 0)


def test_one_ball_off_counts_by_its_share_and_alone_as_in_a_batch() -> None:
    truth = np.random.default_rng(0).random((2, 10, 3, 2))
    moved = truth.copy()
    moved[1, 1:, 2] += (0.03, 0.04)
    batch = ball_distances(moved, truth)
    assert np.allclose(batch[0], 0) and np.allclose(batch[1, 1:], 0.05 / 3) and batch[1, 0] == 0
    assert np.array_equal(ball_distances(moved[1:], truth[1:])[0], batch[1])
    assert distance_error(batch) == pytest.approx(9 * 0.05 / 3 / 2)


def test_pairs_are_made_at_the_first_step_and_kept() -> None:
    truth = np.zeros((1, 2, 2, 2))
    truth[0, :, 1] = 1
    swapped = truth.copy()
    swapped[0, 1] = truth[0, 1, ::-1]                               # the balls change places afterwards
    assert ball_distances(swapped, truth)[0].tolist() == pytest.approx([0, np.sqrt(2)])
    assert match_balls(np.array([[1.0, 1], [0, 0], [9, 9]]), np.array([[0.0, 0], [1, 1]])).tolist() == [1, 0]


def test_empty_slots_are_left_out() -> None:
    truth = np.zeros((1, 1, 1, 2))
    slots = np.array([[[[0.0, 0.0], [0.3, 0.4]]]])
    assert ball_distances(slots, truth, np.array([[False, True]]))[0, 0] == pytest.approx(0.5)


def test_what_cannot_be_scored_is_told_in_a_sentence() -> None:
    truth = np.zeros((2, 5, 3, 2))
    with pytest.raises(LociError, match="Clip 0 has 3 balls but 2 slots"):
        ball_distances(truth[:, :, :2], truth)
    with pytest.raises(LociError, match="test set is empty"):
        ball_distances(truth[:0], truth[:0])
    broken = truth.copy()
    broken[1, 3, 0] = np.nan
    with pytest.raises(LociError, match="Clip 1 has a position that is not a number at step 3"):
        ball_distances(broken, truth)
    with pytest.raises(LociError, match="agree in clips and steps"):
        ball_distances(truth[:, :4], truth)
    with pytest.raises(LociError, match="10 steps are to be summed, but 5 were imagined"):
        distance_error(ball_distances(truth, truth))
