"""Masks from geometry: where a release says what stands where but does not show it, the scene is drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.coordinates import Size, resize_masks
from loci_looped.data.render.draw import draw
from loci_looped.data.scenes.backdrop import Backdrop
from loci_looped.data.scenes.bodies import EXTENTS, SHAPES, Body, Part
from loci_looped.data.scenes.camera import RENDERED, Camera

# The releases' words for shapes that we know by another one.
_SYNONYMS = {"bowling_pin": "pin", "occluder": "cube", "screen": "cube"}


@dataclass(frozen=True)
class Pose:
    """A solid of known shape in the world: centre, Euler angles (radians, x then y then z) and half extents."""

    shape: str
    location: NDArray[np.float64]       # (3,)
    rotation: NDArray[np.float64]       # (3,)
    half_extents: NDArray[np.float64]   # (3,)

    def body(self) -> Body:
        """Shapes that nobody described (ADEPT's ShapeNet meshes) stand in as their boxes."""
        shape = _SYNONYMS.get(self.shape.lower(), self.shape.lower())
        turn, origin = euler(self.rotation), (float(self.location[0]), float(self.location[1]), float(self.location[2]))
        known = SHAPES.get(shape, SHAPES["cube"])
        if len(known) > 1:
            return Body(known, (128, 128, 128), origin, turn, float(self.half_extents[2]) / EXTENTS[shape][2])
        half = float(self.half_extents[0]), float(self.half_extents[1]), float(self.half_extents[2])
        return Body((Part(known[0].kind, half),), (128, 128, 128), origin, turn)


def is_known_shape(shape: str) -> bool:
    return _SYNONYMS.get(shape.lower(), shape.lower()) in SHAPES


def euler(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3, 3) rotation about x, then y, then z."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(angles).tolist(), np.sin(angles).tolist()
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return np.asarray(about_z @ about_y @ about_x)


def drawn_masks(
    camera: Camera, poses: Sequence[Pose | None], size: Size
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(O, H, W) visible and whole masks of one frame; None is not in the world and has empty ones."""
    # The renderer has square pixels: draw at the releases' shape and squash afterwards if another one is asked for.
    square = size if size[0] * RENDERED[1] == size[1] * RENDERED[0] else (RENDERED[0] // 2, RENDERED[1] // 2)
    there = [index for index, pose in enumerate(poses) if pose is not None]
    visible, whole = np.zeros((2, len(poses), *square), dtype=bool)
    if there:
        backdrop = Backdrop(camera=camera, wall=None, shadows=False)
        picture = draw(backdrop, [pose.body() for pose in poses if pose is not None], square, samples=1)
        visible[there], whole[there] = picture.visible_masks, picture.object_masks
    return resize_masks(visible, size), resize_masks(whole, size)
