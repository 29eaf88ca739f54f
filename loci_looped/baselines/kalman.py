"""What does plain physics do? A constant-velocity Kalman filter on the true visible centroids.

It is no competitor but a yardstick that nobody reports: it is *told* which pixels belong to which object, in every
frame in which any of them can be seen, and it goes straight on while none can. A model that has to find the objects by
itself is good where it comes near this filter, and better than straight lines where it beats it (hidden collisions).
It knows nothing of appearance, so it predicts no frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from loci_looped.baselines.protocol import Slots
from loci_looped.data.clip import Clip
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class KalmanNoise:
    """Standard deviations, as shares of the image's diagonal (per frame, per frame squared)."""

    position: float = 0.002          # of a centroid of which nothing is hidden
    velocity: float = 0.05           # of the speed of a new object
    acceleration: float = 0.0005     # by which objects depart from a straight line


DEFAULT_NOISE = KalmanNoise()


@dataclass(frozen=True)
class KalmanState:
    """Mean and covariance of every object; rows and columns are filtered apart but share their covariance."""

    time: int                        # the next frame to come
    mean: Tensor                     # (B, K, 2, 2) for row and column: pixel, pixels per frame
    covariance: Tensor               # (B, K, 2, 2)
    seen: Tensor                     # (B, K) bool: has been visible at least once
    area: Tensor                     # (B, K) the most pixels ever visible


class KalmanTracker:
    """Speaks the `VideoModel` protocol, but must be given the films' truth beforehand; slot k is object k."""

    def __init__(self, clips: Sequence[Clip], noise: KalmanNoise = DEFAULT_NOISE) -> None:
        if not clips:
            raise LociError("The Kalman filter needs the clips it will watch, but there are none.")
        self.size = clips[0].size
        frames = max(len(clip) for clip in clips)
        slots = max(1, *(0 if clip.truth is None else clip.truth.count for clip in clips))
        masks = np.zeros((len(clips), frames, slots, *self.size), dtype=bool)
        for index, clip in enumerate(clips):
            if clip.truth is None:
                raise LociError(
                    f"The Kalman filter must be told where the objects are, but {clip.source or f'clip {index}'} has "
                    "no ground truth: leave it out, or generate clips with `loci generate`."
                )
            if clip.size != self.size:
                raise LociError(f"All clips must have one size, but there are {self.size} and {clip.size}.")
            masks[index, : len(clip), : clip.truth.count] = clip.truth.visible_masks
        areas = masks.sum(axis=(3, 4)).astype(np.float64)
        some = np.maximum(areas, 1)
        rows, columns = masks.sum(axis=4) @ np.arange(self.size[0]), masks.sum(axis=3) @ np.arange(self.size[1])
        centroids = np.stack([rows / some, columns / some], axis=-1)
        self.noise = noise
        self.centroids = torch.from_numpy(centroids)         # (B, T, K, 2) pixels
        self.areas = torch.from_numpy(areas)                 # (B, T, K)
        self.masks = torch.from_numpy(masks)                 # (B, T, K, H, W)

    def initial(self, background: Tensor) -> KalmanState:
        batch, slots = self.areas.shape[0], self.areas.shape[2]
        if background.shape[0] != batch or tuple(background.shape[-2:]) != self.size:
            raise LociError(
                f"This Kalman filter was made for {batch} clips of {self.size[0]} x {self.size[1]} pixels, but the "
                f"backgrounds are {tuple(background.shape)}: make one filter for each batch."
            )
        zeros = torch.zeros(batch, slots, 2, 2, dtype=torch.float64)
        return KalmanState(0, zeros, zeros, torch.zeros(batch, slots, dtype=torch.bool), zeros[..., 0, 0])

    def step(
        self, frame: Tensor | None, state: KalmanState, *, blackout: Tensor | None = None
    ) -> tuple[KalmanState, Slots]:
        """Go straight on, then believe the centroids as far as they can be trusted. The colours are not used."""
        visible, centroids, areas = self._measurement(state, looking=frame is not None, blackout=blackout)
        most = torch.maximum(state.area, areas)
        unit = math.hypot(*self.size)

        # Predict.
        next_frame = torch.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
        push = torch.tensor([0.5, 1.0], dtype=torch.float64) * self.noise.acceleration * unit
        mean = state.mean @ next_frame.T                                                          # (B, K, 2, 2)
        covariance = next_frame @ state.covariance @ next_frame.T + torch.outer(push, push)

        # Update. What is left of a half-hidden object has its centre elsewhere, by up to its radius. (Shrinking
        # is all the filter can go by, so it is slow to follow a screen that falls.)
        hidden_share = 1 - areas / most.clamp(min=1)
        spread = self.noise.position * unit + hidden_share * (most / math.pi).sqrt()         # (B, K)
        gain = covariance[..., :, 0] / (covariance[..., 0, 0] + spread**2)[..., None]        # (B, K, 2)
        innovation = centroids - mean[..., 0]                                                # (B, K, 2) row, column
        updated_mean = mean + innovation[..., None] * gain[..., None, :]
        updated_covariance = covariance - gain[..., :, None] * covariance[..., None, 0, :]

        # A new object begins where it is first seen, with any speed.
        start = torch.stack([centroids, torch.zeros_like(centroids)], dim=-1)
        any_speed = torch.full_like(spread, self.noise.velocity * unit)
        doubt = torch.diag_embed(torch.stack([spread, any_speed], dim=-1) ** 2)

        known, new = (visible & state.seen)[..., None, None], (visible & ~state.seen)[..., None, None]
        mean = torch.where(new, start, torch.where(known, updated_mean, mean))
        covariance = torch.where(new, doubt, torch.where(known, updated_covariance, covariance))
        following = KalmanState(state.time + 1, mean, covariance, state.seen | visible, most)
        return following, self._slots(following, visible, hidden_share)

    def _measurement(
        self, state: KalmanState, *, looking: bool, blackout: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Which objects (B, K) can be seen now, their centroids (B, K, 2) and areas (B, K)."""
        if not looking or state.time >= self.areas.shape[1]:
            nothing = torch.zeros_like(self.areas[:, 0])
            return nothing > 0, torch.zeros_like(self.centroids[:, 0]), nothing
        areas = self.areas[:, state.time]
        if blackout is not None:
            areas = areas * ~blackout.unsqueeze(1)
        return areas > 0, self.centroids[:, state.time], areas

    def _slots(self, state: KalmanState, visible: Tensor, hidden_share: Tensor) -> Slots:
        last_pixel = torch.tensor(self.size, dtype=torch.float64) - 1
        positions = torch.where(state.seen.unsqueeze(-1), state.mean[..., 0] / last_pixel * 2 - 1, 0.0)
        shown = min(state.time, self.masks.shape[1]) - 1
        return Slots(
            positions=positions.float(),
            presence=state.seen,
            visible_masks=(self.masks[:, shown] & visible[..., None, None]).float(),
            occlusion=torch.where(visible, hidden_share, 1.0).float(),
        )
