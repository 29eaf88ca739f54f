"""SlotFormer's segmentation scores as the release inherited them, faults and all. Never a default.

Predicted labels here are plain channel numbers: the background channel is one of them and counts as a prediction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loci_looped.evaluation.metrics.boxes import box_overlaps, boxes
from loci_looped.evaluation.metrics.segmentation import contingency, label_boxes, matched

Floats = NDArray[np.floating]
Labels = NDArray[np.integer]

PROTOCOL = "official/slotformer-segmentation"
FOREGROUND_THRESHOLD = 0.3       # in the released file; a remark there asks for 0.5 except for the balls


def official_labels(masks: Floats, threshold: float = FOREGROUND_THRESHOLD) -> Labels:
    """(..., N, H, W) -> (..., H, W) winning channel; pixels nobody claims go to the channel of the weakest maximum."""
    weakest = masks.max(axis=(-2, -1)).argmin(axis=-1)[..., None, None]
    unclaimed = masks.max(axis=-3) < threshold
    return np.asarray(np.where(unclaimed, weakest, masks.argmax(axis=-3)))


def official_mean_iou(truth: Labels, channels: Labels) -> Floats:
    """(...) mean IoU whose union counts the intersection twice: 0.5 is the best one can get.

    The mean runs over all true labels up to the largest in the frame, those that do not occur included.
    """
    table = contingency(truth, channels)[..., 1:, :]
    sizes = contingency(truth, channels).sum(axis=-2, keepdims=True)
    overlaps = table / np.maximum(table.sum(axis=-1, keepdims=True) + sizes, 1e-8)
    largest = truth.max(axis=(-2, -1))
    return np.where(largest > 0, matched(overlaps).sum(axis=-1) / np.maximum(largest, 1), np.nan)


def official_precision_recall(truth: Labels, channels: Labels, threshold: float = 0.5) -> tuple[Floats, Floats]:
    """(...) AP and AR of boxes: objects choose in order, one whose best box is taken gets none; background included.

    Boxes are measured from pixel centre to pixel centre, so they are one pixel too small.
    """
    predicted = boxes(channels[..., None, :, :] == np.arange(int(channels.max()) + 1)[:, None, None])
    actual = label_boxes(truth)
    overlaps = box_overlaps(actual, predicted, edge=0.0)                                     # (..., R, C)
    leading = overlaps.shape[:-2]
    hits = np.zeros(leading)
    for frame in np.ndindex(leading):
        taken: set[int] = set()
        for row in overlaps[frame]:
            best = int(row.argmax())
            if row[best] >= threshold and best not in taken:
                taken.add(best)
        hits[frame] = len(taken)
    objects = (~np.isnan(actual[..., 0])).sum(axis=-1)
    slots = (~np.isnan(predicted[..., 0])).sum(axis=-1)
    return hits / np.maximum(slots, 1), np.where(objects > 0, hits / np.maximum(objects, 1), np.nan)
