"""The pinhole camera: where a point of the world lands in the image, and which ray leaves a pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.bodies import Vector

REFERENCE_WIDTH = 480       # the width at which a camera's focal length is given, that of ADEPT and CLEVRER


@dataclass(frozen=True)
class Camera:
    """A pinhole with square pixels and the principal point in the middle of the image."""

    position: Vector = (5.265787, 0.0, 2.462545)    # ADEPT: rho 7.2, elevation 20 degrees
    look_at: Vector = (-1.5, 0.0, 0.0)
    focal: float = 525.0                            # pixels when the image is 480 wide

    def axes(self) -> NDArray[np.float64]:
        """(3, 3) rows: image right, image up, viewing direction."""
        forward = np.asarray(self.look_at) - np.asarray(self.position)
        forward = forward / np.sqrt((forward * forward).sum())
        right = np.array([forward[1], -forward[0], 0.0])               # forward x up of the world
        right = right / np.sqrt((right * right).sum())
        return np.stack([right, np.cross(right, forward), forward])

    def project(self, points: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.float64]:
        """(..., 3) world -> (..., 3): row, column (0 = centre of the first pixel), depth along the viewing axis."""
        height, width = size
        seen = (points - np.asarray(self.position)) @ self.axes().T
        focal = self.focal * width / REFERENCE_WIDTH
        with np.errstate(divide="ignore", invalid="ignore"):
            column = width / 2 - 0.5 + focal * seen[..., 0] / seen[..., 2]
            row = height / 2 - 0.5 - focal * seen[..., 1] / seen[..., 2]
        return np.stack([row, column, seen[..., 2]], axis=-1)

    def rays(self, size: tuple[int, int], samples: int) -> NDArray[np.float32]:
        """(3, H * samples, W * samples) directions in the world; their length is one unit of depth.

        With an odd number of samples the middle one of each pixel is the pixel's centre.
        """
        height, width = size
        focal = self.focal * width / REFERENCE_WIDTH
        across = ((np.arange(width * samples) + 0.5) / samples - width / 2) / focal
        upward = (height / 2 - (np.arange(height * samples) + 0.5) / samples) / focal
        right, up, forward = self.axes()
        rays = (right[:, None, None] * across[None, None, :] + up[:, None, None] * upward[None, :, None]
                + forward[:, None, None])
        return rays.astype(np.float32)
