"""ARI equals scikit-learn; overlaps equal a plain reckoning; the released mean IoU stops at one half."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from loci_looped.evaluation.metrics.official_segmentation import (
    official_labels,
    official_mean_iou,
    official_precision_recall,
)
from loci_looped.evaluation.metrics.segmentation import (
    adjusted_rand_index,
    contingency,
    defined_mean,
    labels_from_masks,
    mask_overlaps,
    mean_iou,
    precision_recall,
)
from loci_looped.utils.errors import LociError


def blobs(seed: int, frames: int = 3, size: int = 14, labels: int = 4) -> np.ndarray:
    """Rectangles over a background, one per label, the later ones in front."""
    generator = np.random.default_rng(seed)
    maps = np.zeros((frames, size, size), dtype=np.int64)
    for frame in maps:
        for label in range(1, labels):
            y, x = generator.integers(0, size - 3, size=2)
            height, width = generator.integers(2, 7, size=2)
            frame[y : y + height, x : x + width] = label
    return maps


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), labels=st.integers(1, 6), other=st.integers(1, 6))
def test_ari_equals_scikit_learn_on_every_frame(seed: int, labels: int, other: int) -> None:
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, labels, size=(2, 3, 6, 7))
    prediction = np.where(generator.random(truth.shape) < 0.5, truth, generator.integers(0, other, size=truth.shape))
    whole, front = adjusted_rand_index(truth, prediction), adjusted_rand_index(truth, prediction, foreground=True)
    for index in np.ndindex(2, 3):
        t, p = truth[index].ravel(), prediction[index].ravel()
        assert whole[index] == pytest.approx(adjusted_rand_score(t, p), abs=1e-12)
        if (t > 0).any():
            assert front[index] == pytest.approx(adjusted_rand_score(t[t > 0], p[t > 0]), abs=1e-12)
        else:
            assert np.isnan(front[index])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(1, 5)))
def test_a_perfect_segmentation_is_perfect_under_any_names(seed: int, order: list[int]) -> None:
    truth = blobs(seed)
    renamed = np.array([0, *order])[truth]
    assert np.allclose(adjusted_rand_index(truth, renamed), 1)
    assert np.allclose(adjusted_rand_index(truth, renamed, foreground=True), 1)
    assert np.allclose(mean_iou(truth, renamed), 1)
    for of in ("boxes", "masks"):
        precision, recall = precision_recall(truth, renamed, of=of)
        assert np.allclose(precision, 1) and np.allclose(recall, 1)
    assert np.nanmax(official_mean_iou(truth, renamed)) <= 0.5


def test_overlaps_equal_a_plain_reckoning() -> None:
    truth, prediction = blobs(1), blobs(2)
    overlaps = mask_overlaps(truth, prediction)
    for frame in range(3):
        for r in range(1, 4):
            for c in range(1, 4):
                a, b = truth[frame] == r, prediction[frame] == c
                expected = (a & b).sum() / (a | b).sum() if (a | b).any() else 0
                assert overlaps[frame, r - 1, c - 1] == pytest.approx(expected)
    assert contingency(truth, prediction).sum() == truth.size


def test_a_hand_made_case() -> None:
    truth = np.zeros((4, 8), dtype=np.int64)
    truth[:, 2:4], truth[:, 6:] = 1, 2
    prediction = np.zeros_like(truth)
    prediction[:, 1:4] = 3                                          # covers object 1 and a column beside it: IoU 2/3
    assert mean_iou(truth, prediction) == pytest.approx((2 / 3 + 0) / 2)      # object 2 has no slot
    precision, recall = precision_recall(truth, prediction)
    assert (precision, recall) == (1, 0.5)
    channels = np.where(prediction == 3, 0, 6)                      # as released: slot 0 and the background, channel 6
    assert official_mean_iou(truth, channels) == pytest.approx((8 / 20 + 8 / 28) / 2)     # the background matches too
    # Its box is the whole image, so it counts as a prediction; boxes 1 x 3 and 2 x 3 overlap by one half.
    assert [float(x) for x in official_precision_recall(truth, channels)] == [0.5, 0.5]


def test_the_background_is_no_match_for_an_object() -> None:
    truth = np.ones((6, 6), dtype=np.int64)
    assert mean_iou(truth, np.zeros_like(truth)) == 0
    precision, recall = precision_recall(truth, np.zeros_like(truth))
    assert np.isnan(precision) and recall == 0


def test_one_slot_over_two_objects_hits_one_of_them() -> None:
    truth = np.zeros((10, 30), dtype=np.int64)
    truth[:, :10], truth[:, 10:20] = 1, 2
    merged = np.where(truth > 0, 1, 0)                              # overlaps each by exactly one half
    for of in ("boxes", "masks"):
        assert [float(x) for x in precision_recall(truth, merged, of=of)] == [1, 0.5]
        assert [float(x) for x in precision_recall(truth, merged, of=of, threshold=0.51)] == [0, 0]


def test_labels_from_masks() -> None:
    masks = np.zeros((2, 3, 4, 4))
    masks[:, 2] = 0.5                                               # background, last
    masks[0, 0, 0], masks[1, 1, 1] = 0.9, 0.9
    labels = labels_from_masks(masks)
    assert (labels[0, 0] == 1).all() and (labels[1, 1] == 2).all() and labels.sum() == 12
    weak = np.full((3, 2, 2), 0.2)
    weak[0, 0, 0], weak[1, 0, 1] = 0.9, 0.25
    assert official_labels(weak).tolist() == [[0, 2], [2, 2]]       # nobody's pixels go to the weakest channel
    assert official_labels(weak, threshold=0.1).tolist() == [[0, 1], [0, 0]]


def test_released_recall_lets_objects_choose_in_turn() -> None:
    truth = np.zeros((12, 12), dtype=np.int64)
    truth[:, :5], truth[:, 5:9] = 1, 2
    both = np.where(truth > 0, 1, 0)
    precision, recall = official_precision_recall(truth, both)
    assert recall == 0.5 and precision == 0.5
    nobody = np.zeros((12, 12), dtype=np.int64)
    assert np.isnan(official_precision_recall(nobody, both)[1]) and np.isnan(official_mean_iou(nobody, both))


def test_frames_without_objects_are_left_out_and_bad_maps_told() -> None:
    assert defined_mean(np.array([1.0, np.nan, 0.0])) == 0.5
    with pytest.raises(LociError, match="none of the frames"):
        defined_mean(np.array([np.nan]))
    labels = np.zeros((2, 4, 4), dtype=np.int64)
    with pytest.raises(LociError, match="one shape"):
        adjusted_rand_index(labels, labels[:1])
    with pytest.raises(LociError, match="empty"):
        adjusted_rand_index(labels[:0], labels[:0])
    with pytest.raises(LociError, match="negative"):
        mean_iou(labels, labels - 1)
    with pytest.raises(LociError, match="negative"):
        precision_recall(labels - 1, labels)
