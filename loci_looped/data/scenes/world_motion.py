"""Where the objects of a clip are in the world, which ADEPT's and CLEVRER's files tell and a clip does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip
from loci_looped.data.scenes.camera import Camera, unproject


@dataclass(frozen=True)
class WorldMotion:
    """Poses of O objects over T frames. Angles are radians about x, y, z; NaN locations are not in the world."""

    locations: NDArray[np.float64]              # (T, O, 3)
    rotations: NDArray[np.float64]              # (T, O, 3)
    velocities: NDArray[np.float64]             # (T, O, 3) per second
    angular_velocities: NDArray[np.float64]     # (T, O, 3) per second
    half_extents: NDArray[np.float64]           # (O, 3)


def seen_motion(clip: Clip, camera: Camera, fps: float) -> WorldMotion:
    """What the clip itself tells: pixel and depth give the place exactly; the extents are those of the silhouettes."""
    truth = clip.known_truth()
    locations = unproject(camera, truth.positions, truth.depths, clip.size)         # (T, O, 3)
    nowhere = np.zeros_like(locations)
    steps = np.gradient(locations, axis=0) * fps if len(clip) > 1 else nowhere
    extents = np.full((truth.count, 3), 0.1)
    for index in range(truth.count):
        half = _half_extents(truth.object_masks[:, index], truth.depths[:, index], camera, clip.size)
        extents[index] = (0.04, *half) if truth.kinds[index] == "screen" else (half[0], *half)
    return WorldMotion(locations, nowhere, np.nan_to_num(steps), nowhere, extents)


def _half_extents(
    masks: NDArray[np.bool_], depths: NDArray[np.float32], camera: Camera, size: tuple[int, int]
) -> tuple[float, float]:
    """Half width and half height in world units, from the largest silhouette that does not touch the image's edge."""
    best = (0.1, 0.1)
    area = 0
    for mask, depth in zip(masks, depths, strict=True):
        inner = mask[1:-1, 1:-1].sum()
        if inner <= area or inner != mask.sum():
            continue
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        unit = float(depth) / camera.focal * 480 / size[1]
        area, best = int(inner), (unit * (np.ptp(columns) + 1) / 2, unit * (np.ptp(rows) + 1) / 2)
    return best
