"""The pinhole camera: where a point of the world lands in the image, and which ray leaves a pixel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.coordinates import Size, resize_pixels
from loci_looped.data.scenes.bodies import Vector

RENDERED: Size = (320, 480)             # the size at which ADEPT and CLEVRER were rendered
REFERENCE_WIDTH = RENDERED[1]           # the width at which a camera's focal length is given


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
        return np.asarray(projected)

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
        return np.asarray(rays, dtype=np.float32)


def camera_facts(camera: Camera) -> dict[str, float | list[float]]:
    """What a clip stores about its camera."""
    return {"position": list(camera.position), "look_at": list(camera.look_at), "focal_at_480": camera.focal}


def camera_from(facts: Mapping[str, float | list[float]], default: Camera) -> Camera:
    """The camera that a clip describes, or the default one."""
    position, look_at, focal = facts.get("position"), facts.get("look_at"), facts.get("focal_at_480")
    if not isinstance(position, list) or not isinstance(look_at, list) or not isinstance(focal, float | int):
        return default
    (x, y, z), (u, v, w) = position, look_at
    return Camera((x, y, z), (u, v, w), float(focal))


def in_view(camera: Camera, locations: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(..., 3) world -> (...) does the point fall into the image, as far as its pixel tells?"""
    pixels = camera.project(locations, RENDERED)
    return np.asarray((np.abs(pixels[..., 0] - 159.5) <= 160) & (np.abs(pixels[..., 1] - 239.5) <= 240))


def project(camera: Camera, locations: NDArray[np.float64], size: Size) -> tuple[
    NDArray[np.float32], NDArray[np.float32]
]:
    """(..., 3) world -> pixels (..., 2) in an image of any shape, and depths (...). NaN behind the camera."""
    seen = camera.project(locations, RENDERED)
    pixels = resize_pixels(seen[..., :2], RENDERED, size)
    behind = ~(seen[..., 2] > 0)
    pixels[behind], seen[behind] = np.nan, np.nan
    return pixels.astype(np.float32), seen[..., 2].astype(np.float32)


def unproject(
    camera: Camera, pixels: NDArray[np.floating], depths: NDArray[np.floating], size: Size
) -> NDArray[np.float64]:
    """The inverse of `project`: (..., 2) pixels and (...) depths -> (..., 3) world."""
    height, width = RENDERED
    rows = (np.asarray(pixels[..., 0], dtype=np.float64) + 0.5) * height / size[0] - height / 2
    columns = (np.asarray(pixels[..., 1], dtype=np.float64) + 0.5) * width / size[1] - width / 2
    right, up, forward = camera.axes()
    direction = columns[..., None] / camera.focal * right - rows[..., None] / camera.focal * up + forward
    return np.asarray(np.asarray(camera.position) + np.asarray(depths, dtype=np.float64)[..., None] * direction)
