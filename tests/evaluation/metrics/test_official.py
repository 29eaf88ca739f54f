"""The released faults, reproduced: the numbers are those measured with the released code (spec, bugs 1 to 6)."""

import math

import numpy as np
import pytest

from loci_looped.evaluation.metrics.balls import ball_distances, distance_error
from loci_looped.evaluation.metrics.official import (
    LARGEST_SQUARED_DISTANCE,
    official_ball_distance,
    official_ball_positions,
    official_baseline_positions,
    official_coordinates,
    official_mota,
    official_peaks,
    official_slot_error,
    official_success,
    official_tracking_rows,
    official_vanishing,
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


def crossing_masks() -> tuple[np.ndarray, np.ndarray]:
    """Perfect 64 x 64 masks of a disc that crosses the image at row -0.07 in 80 frames, and its true positions."""
    columns = np.linspace(-1, 1, 80)
    truth = np.stack([np.full(80, -0.07), columns], axis=-1)
    centres = (truth + 1) / 2 * 64 - 0.5
    y, x = np.mgrid[:64, :64]
    masks = (y - centres[:, 0, None, None]) ** 2 + (x - centres[:, 1, None, None]) ** 2 <= 36
    return masks[:, None], truth[:, None]


def test_swapped_axes_make_perfect_masks_score_24_6_percent() -> None:
    masks, truth = crossing_masks()
    swapped = official_baseline_positions(masks)
    rows = official_tracking_rows(swapped, yes(80), yes(80), truth)
    errors = 100 * rows.error[rows.inside]
    assert (round(errors.mean(), 1), round(errors.std(), 1)) == (24.6, 14.2)
    # With the axes put right and the rows scaled once, what remains is the half pixel of the box centre.
    gaps = (swapped[..., ::-1] - truth) * np.array([1.5, 1.0])
    assert 100 * np.linalg.norm(gaps[rows.inside], axis=-1).mean() / math.sqrt(13) == pytest.approx(0.7, abs=0.1)
    assert official_baseline_positions(np.zeros((1, 1, 64, 64), bool)).tolist() == [[[-1, -1]]]


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
    assert counts.motp == pytest.approx(0.15**2)                                # a squared distance, rows times 1.5
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


def test_small_things_of_the_release() -> None:
    assert official_coordinates(np.array([-0.5, 63.5]), (64, 64)).tolist() == [-1, 1]
    assert official_vanishing(np.array([[0.0, 0.0], [0.1, 0.3]])).tolist() == [False, True]
    assert official_slot_error(np.array([460_800.0]), (320, 480)).tolist() == [1]
    groups = [("control", 0, 2), ("control", 0, 2), ("control", 1, 2)]
    assert official_peaks(np.array([1.0, 3.0, 2.0]), groups) == {("control", 0, 2): 3.0, ("control", 1, 2): 2.0}
