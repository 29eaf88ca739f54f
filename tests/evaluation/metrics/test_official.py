"""The released faults, reproduced: the numbers are those measured with the released code (spec, bugs 1 to 6)."""

import math

import numpy as np
import pytest

from loci_looped.evaluation.metrics.balls import ball_distances, distance_error
from loci_looped.evaluation.metrics.official import (
    LARGEST_SQUARED_DISTANCE,
    official_ball_distance,
    official_ball_positions,
    official_coordinates,
    official_mota,
    official_success,
    official_tracking_rows,
)
from loci_looped.utils.errors import LociError


def still(row: float, column: float = 0.0, frames: int = 3) -> np.ndarray:
    return np.tile(np.array([row, column]), (frames, 1, 1))


def yes(frames: int = 3, slots: int = 1) -> np.ndarray:
    return np.ones((frames, slots), bool)


@pytest.mark.parametrize(("row", "percent"), [(0.3, 6.2), (-0.5, 10.4), (0.0, 0.0)])
def test_rows_scaled_twice_punish_a_perfect_tracker(row: float, percent: float) -> None:
    rows = official_tracking_rows(still(row), yes(), yes(), still(row))
    assert rows.inside.all()
    assert np.round(100 * rows.error, 1) == pytest.approx(percent)


def test_an_object_at_row_0_8_counts_as_outside_the_image() -> None:
    assert not official_tracking_rows(still(0.8), yes(), yes(), still(0.8)).inside.any()
    assert official_tracking_rows(still(0.66), yes(), yes(), still(0.66)).inside.all()
    behind = official_tracking_rows(still(0.1), yes(), yes(), still(0.1), in_front=np.zeros((3, 1), bool))
    assert not behind.inside.any() and (behind.error == 0).all()


def test_the_cut_off_is_16_65_percent_of_the_diagonal() -> None:
    assert 100 * math.sqrt(LARGEST_SQUARED_DISTANCE) / math.sqrt(13) == pytest.approx(16.65, abs=0.005)
    reach = math.sqrt(LARGEST_SQUARED_DISTANCE)
    for gap, mota in ((0.99 * reach, 1.0), (1.01 * reach, -1.0)):                # found, or missed and a false alarm
        assert official_mota(still(0.0, gap / 2), yes(), still(0.0, -gap / 2)).mota == mota
    tenth = 0.11 * math.sqrt(13)
    assert official_mota(still(0.0, tenth / 2), yes(), still(0.0, -tenth / 2)).mota == 1.0     # 11 % passes for 10 %


def test_released_mota_tests_sizes_in_pixels_and_stretches_rows() -> None:
    assert official_mota(still(0.1), yes(), still(0.1), np.full((3, 1), 100.0)).recall == 0
    assert official_mota(still(0.1), yes(), still(0.1), np.full((3, 1), 101.0)).mota == 1
    counts = official_mota(still(0.1), yes(), still(0.0))
    assert counts.distance / counts.matches == pytest.approx(0.15**2)           # a squared distance, rows times 1.5
    assert official_mota(still(0.1), yes(), still(1.0)).objects == 0            # strictly inside


def test_a_bound_slot_without_an_object_is_compared_with_the_last_one() -> None:
    truth = np.concatenate([still(0.0, 0.0), still(0.0, 0.5)], axis=1)
    rows = official_tracking_rows(still(0.0, 0.0), yes(), np.zeros((3, 1), bool), truth)
    assert (rows.object == -1).all()
    assert rows.error == pytest.approx(0.5 / math.sqrt(13))


def test_released_success_reads_the_screen_flag_at_frame_one() -> None:
    truth = np.concatenate([still(0.0, -0.5, 30), still(0.0, 0.5, 30)], axis=1)
    may_bind = np.zeros((30, 2), bool)
    may_bind[0, 0] = may_bind[5:, 1] = True
    rows = official_tracking_rows(truth, yes(30, 2), may_bind, truth)
    visible = np.ones((30, 2), bool)
    tried, succeeded = official_success(rows, yes(30, 2), visible, np.array([False, True]))
    assert tried.tolist() == [True, False] and succeeded.tolist() == [True, False]
    # The second slot is unbound at frame 1, so it gets the flag of the last object, whatever it holds later.
    tried, _ = official_success(rows, yes(30, 2), visible, np.array([True, False]))
    assert tried.tolist() == [False, True]


def test_three_balls_two_scored() -> None:
    """Perfect masks of the third ball, or none at all: the released number is the same."""
    generator = np.random.default_rng(0)
    centres = np.stack([np.full((4, 3), 12) + 18 * np.arange(3), generator.integers(10, 54, size=(4, 3))], axis=-1)
    y, x = np.mgrid[:64, :64]
    masks = (abs(y - centres[..., 0, None, None]) <= 4) & (abs(x - centres[..., 1, None, None]) <= 4)
    truth = (centres / 64 * 2 - 1)[:, None].repeat(10, axis=1)
    positions = official_ball_positions(masks)[:, None].repeat(10, axis=1)
    assert (positions[:, :, 2] > 1).all()                                       # still in pixels
    off = positions.copy()
    off[:, 1:, 2] += 1000
    assert official_ball_distance(positions, truth) == pytest.approx(0)
    assert official_ball_distance(off, truth) == pytest.approx(0)
    ours = (centres / 64)[:, None].repeat(10, axis=1)
    lost = ours.copy()
    lost[:, 1:, 2, 0] += 0.3
    assert distance_error(ball_distances(ours, (truth + 1) / 2)) == pytest.approx(0)
    assert distance_error(ball_distances(lost, (truth + 1) / 2)) == pytest.approx(9 * 0.3 / 3)
    with pytest.raises(LociError, match="batch of one"):
        official_ball_positions(masks[:1])
    with pytest.raises(LociError, match="square"):
        official_ball_positions(masks[..., :48])
    far = np.full((1, 2, 1, 2), 99.0)
    assert np.isnan(official_ball_distance(far, np.zeros((1, 2, 1, 2)))).all()


def test_coordinates_run_from_edge_to_edge() -> None:
    assert official_coordinates(np.array([-0.5, 63.5]), (64, 64)).tolist() == [-1, 1]
