"""Do the slots cut the image where the objects are? ARI, mean IoU, average precision and recall.

Labels are integer maps (..., H, W) in which 0 is the background, in the truth and in the prediction; a model without a
background slot simply never says 0. A frame without any object has no foreground score: it is NaN, and `defined_mean`
leaves it out.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from loci_looped.evaluation.metrics.boxes import box_overlaps, boxes
from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]
Labels = NDArray[np.integer]

PROTOCOL = "segmentation/true-union-hungarian"


def labels_from_masks(masks_with_background: Floats) -> Labels:
    """(..., K + 1, H, W), background last -> (..., H, W): 0 where the background wins, k + 1 where slot k does."""
    slots = masks_with_background.shape[-3] - 1
    winner = masks_with_background.argmax(axis=-3)
    return np.where(winner == slots, 0, winner + 1)


def contingency(truth: Labels, prediction: Labels) -> Floats:
    """(..., H, W) twice -> (..., R, C) pixels that have true label r and predicted label c."""
    if truth.shape != prediction.shape or truth.ndim < 2:
        raise LociError(f"Label maps must have one shape (..., H, W); they are {truth.shape} and {prediction.shape}.")
    if truth.size == 0:
        raise LociError("There is no frame to segment: the label maps are empty.")
    if truth.min() < 0 or prediction.min() < 0:
        raise LociError("Labels must be 0 (background) or larger, but a map has negative ones.")
    leading, pixels = truth.shape[:-2], truth.shape[-2] * truth.shape[-1]
    rows, columns = int(truth.max()) + 1, int(prediction.max()) + 1
    frame = np.arange(truth.size // pixels)[:, None]
    cell = (frame * rows + truth.reshape(-1, pixels)) * columns + prediction.reshape(-1, pixels)
    counts = np.bincount(cell.ravel(), minlength=len(frame) * rows * columns)
    return counts.reshape(*leading, rows, columns).astype(np.float64)


def adjusted_rand_index(truth: Labels, prediction: Labels, foreground: bool = False) -> Floats:
    """(...) agreement of the two partitions, 1 if they are the same, about 0 by chance (Hubert and Arabie, 1985).

    `foreground=True` (FG-ARI) looks only at the pixels of true objects.
    """
    table = contingency(truth, prediction)
    if foreground:
        table = table[..., 1:, :]
    pixels = table.sum(axis=(-2, -1))

    def pairs(counts: Floats) -> Floats:
        return counts * (counts - 1) / 2

    together = pairs(table).sum(axis=(-2, -1))
    by_truth = pairs(table.sum(axis=-1)).sum(axis=-1)
    by_prediction = pairs(table.sum(axis=-2)).sum(axis=-1)
    all_pairs = pairs(pixels)
    expected = by_truth * by_prediction / np.maximum(all_pairs, 1)
    largest = (by_truth + by_prediction) / 2
    # Both partitions trivial (one cluster each, or only single pixels): they agree.
    trivial = np.isclose(largest, expected)
    score = np.where(trivial, 1.0, (together - expected) / np.where(trivial, 1.0, largest - expected))
    return np.where(pixels > 0, score, np.nan)


def mask_overlaps(truth: Labels, prediction: Labels) -> Floats:
    """(..., H, W) twice -> (..., R, C) intersection over union of objects 1..R with slots 1..C."""
    table = contingency(truth, prediction)
    union = table.sum(axis=-1, keepdims=True) + table.sum(axis=-2, keepdims=True) - table
    return np.asarray((table / np.maximum(union, 1))[..., 1:, 1:])


def label_boxes(labels: Labels) -> Floats:
    """(..., H, W) -> (..., N, 4) bounding boxes of labels 1..N; NaN where a label does not occur."""
    names = np.arange(1, int(labels.max()) + 1)
    return boxes(labels[..., None, :, :] == names[:, None, None])


def matched(scores: Floats) -> Floats:
    """(..., R, C) -> (..., min(R, C)) the scores of the one-to-one pairs whose sum is largest, frame by frame."""
    best = np.empty((*scores.shape[:-2], min(scores.shape[-2:])))
    for frame in np.ndindex(scores.shape[:-2]):
        best[frame] = scores[frame][linear_sum_assignment(scores[frame], maximize=True)]
    return best


def _occurring(labels: Labels) -> NDArray[np.integer]:
    """(..., H, W) -> (...) how many labels other than the background occur."""
    names = np.arange(1, int(labels.max()) + 1)
    return np.asarray((labels[..., None, :, :] == names[:, None, None]).any(axis=(-2, -1)).sum(axis=-1))


def _share(part: Floats, whole: NDArray[np.integer]) -> Floats:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def mean_iou(truth: Labels, prediction: Labels) -> Floats:
    """(...) mean over the true objects of their overlap with their slot; 0 for an object without a slot."""
    return _share(matched(mask_overlaps(truth, prediction)).sum(axis=-1), _occurring(truth))


def precision_recall(
    truth: Labels, prediction: Labels, threshold: float = 0.5, of: Literal["boxes", "masks"] = "boxes"
) -> tuple[Floats, Floats]:
    """(...) shares of slots and of true objects that form one-to-one pairs overlapping by the threshold or more.

    Boxes are what the published AP and AR compare, masks are the sharper test. Precision is NaN if no slot has a pixel.
    """
    if of == "boxes":
        contingency(truth, prediction)                      # for its checks
        overlaps = box_overlaps(label_boxes(truth), label_boxes(prediction))
    else:
        overlaps = mask_overlaps(truth, prediction)
    hits = matched((overlaps >= threshold).astype(np.float64)).sum(axis=-1)
    return _share(hits, _occurring(prediction)), _share(hits, _occurring(truth))


def defined_mean(scores: Floats) -> float:
    """Mean over the frames in which the score is defined."""
    defined = scores[~np.isnan(scores)]
    if defined.size == 0:
        raise LociError("The score is defined in none of the frames: no clip shows an object. Check the clips' truth.")
    return float(defined.mean())
