"""The pinhole camera: where a point of the world lands in the image, and which ray leaves a pixel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.scenes.bodies import Vector

REFERENCE_WIDTH = 480       # the width at which a camera's focal length is given, that of ADEPT and CLEVRER


@dataclass(frozen=True)
class Camera:
    """A pinhole with square pixels and the principal point in the middle of the image."""

    position: Vector = (5.265787, 0.0, 2.462545)    # ADEPT: rho 7.2, elevation 20 degrees
    look_at: Vector = (-1.5, 0.0, 0.0)
    focal: float = 525.0                            # pixels when the image is 480 wide

    def axes(self) -> NDArray[np.float64]:
        """(3, 3) rows: image right, image up, viewing direction."""
        return self._axes

    @cached_property
    def _axes(self) -> NDArray[np.float64]:
        forward = np.asarray(self.look_at) - np.asarray(self.position)
        forward = forward / np.sqrt((forward * forward).sum())
        right = np.array([forward[1], -forward[0], 0.0])               # forward x up of the world
        right = right / np.sqrt((right * right).sum())
        return np.stack([right, np.cross(right, forward), forward])

    def project(self, points: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.float64]:
        """(..., 3) world -> (..., 3): row, column (0 = centre of the first pixel), depth along the viewing axis."""
        height, width = size
        seen = (points - np.asarray(self.position)) @ self._axes.T
        focal = self.focal * width / REFERENCE_WIDTH
        projected = np.empty_like(seen)
        with np.errstate(divide="ignore", invalid="ignore"):
            projected[..., 0] = height / 2 - 0.5 - focal * seen[..., 1] / seen[..., 2]
            projected[..., 1] = width / 2 - 0.5 + focal * seen[..., 0] / seen[..., 2]
        projected[..., 2] = seen[..., 2]
        return projected

    def rays(self, size: tuple[int, int], samples: int) -> NDArray[np.float32]:
        """(3, H * samples, W * samples) directions in the world; their length is one unit of depth.

        With an odd number of samples the middle one of each pixel is the pixel's centre.
        """
        height, width = size
        focal = self.focal * width / REFERENCE_WIDTH
        across = ((np.arange(width * samples) + 0.5) / samples - width / 2) / focal
        upward = (height / 2 - (np.arange(height * samples) + 0.5) / samples) / focal
        right, up, forward = self._axes
        rays = (right[:, None, None] * across[None, None, :] + up[:, None, None] * upward[None, :, None]
                + forward[:, None, None])
        return rays.astype(np.float32)
