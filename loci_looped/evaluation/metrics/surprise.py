"""Violation of expectation: how wrong was the network about each slot, and when?

The slot error S is the paper's: the squared error of the predicted frame inside the slot's predicted visible mask, per
pixel of that mask. A removed object that the network still expects to reappear leaves its slot with a large S.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from loci_looped.evaluation.metrics.statistics import Correlation, TTest, pearson, t_test
from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]

PROTOCOL = "surprise/slot-error"


@dataclass(frozen=True)
class Window:
    """Frames first..last, both included; to the end of the clip if last is None."""

    name: str
    first: int
    last: int | None

    @property
    def frames(self) -> slice:
        return slice(self.first, None if self.last is None else self.last + 1)


# In frames after taking every third one: the object should reappear beside the screen; the screen falls.
REAPPEARANCE = Window("reappearance", 31, 49)
SCREEN_FALLS = Window("screen falls", 51, None)
CORRELATION = Window("correlation", 25, 39)


def slot_error(visible_masks: Tensor, prediction: Tensor, target: Tensor) -> Tensor:
    """S_k = || m_k (prediction - target) ||^2 / sum m_k.

    visible_masks (B, K, H, W) and prediction (B, 3, H, W) are the network's for the frame `target` (B, 3, H, W).
    Returns (B, K). A slot that expects to see nothing cannot be surprised: its S is 0.
    """
    if prediction.shape != target.shape or visible_masks.shape[-2:] != target.shape[-2:]:
        raise LociError(
            f"The slot error needs masks (B, K, H, W) and two images (B, 3, H, W) of one size, but they are "
            f"{tuple(visible_masks.shape)}, {tuple(prediction.shape)} and {tuple(target.shape)}."
        )
    if not (torch.isfinite(visible_masks).all() and torch.isfinite(prediction).all()):
        raise LociError("The predicted frame or its masks have values that are not numbers: the network has diverged.")
    squared = (prediction - target).square().sum(dim=1, keepdim=True)                     # (B, 1, H, W)
    wrong = (visible_masks.square() * squared).sum(dim=(2, 3))                             # (B, K)
    area = visible_masks.sum(dim=(2, 3))
    return torch.where(area > 0, wrong / area.clamp_min(torch.finfo(area.dtype).tiny), 0.0)


def peak(errors: Floats, window: Window) -> Floats:
    """(T, ...) -> (...) largest slot error in the window."""
    chosen = errors[window.frames]
    if len(chosen) == 0:
        raise LociError(
            f"The window {window.name!r} begins at frame {window.first}, but the clip has {len(errors)} frames: "
            "generate longer clips or take a smaller stride."
        )
    return np.asarray(chosen.max(axis=0))


def mean_over_networks(peaks: Floats, objects: Sequence[Hashable]) -> Floats:
    """Average the peaks (N,) that different networks have for the same object of the same scene.

    Three networks that watch one film are not three films. `objects` names (set, scene, object) of each peak.
    """
    groups: dict[Hashable, list[float]] = {}
    for value, name in zip(peaks, objects, strict=True):
        groups.setdefault(name, []).append(float(value))
    return np.array([np.mean(values) for values in groups.values()])


def compare(vanished: Floats, reappeared: Floats) -> TTest:
    """Are the slots of vanished objects more surprised? One row per object; Student's test as in the paper."""
    return t_test(vanished, reappeared)


def follow(vanished: Floats, seen_again: Floats, window: Window = CORRELATION) -> Correlation:
    """Does surprise about vanished objects rise when others come into sight again?

    vanished (T, N) slot errors (or mask sizes) in violation clips, seen_again (T, M) visibility in control clips.
    """
    series = []
    for name, values in (("violation", vanished), ("control", seen_again)):
        chosen = np.asarray(values, dtype=np.float64)[window.frames]
        if chosen.size == 0:
            raise LociError(f"There is no {name} row in frames {window.first} to {window.last}: nothing to correlate.")
        series.append(np.nanmean(chosen, axis=1))
    return pearson(*series)
