"""Masks from geometry: where a release says what stands where but does not show it, the scene is drawn again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.formats.images import Size, resize_masks
from loci_looped.data.render.draw import draw
from loci_looped.data.scenes.backdrop import Backdrop
from loci_looped.data.scenes.bodies import EXTENTS, SHAPES, Body, Part
from loci_looped.data.scenes.camera import Camera

NATIVE: Size = (320, 480)           # the size at which ADEPT and CLEVRER were rendered

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


def camera_facts(camera: Camera) -> dict[str, float | list[float]]:
    """What a clip stores about its camera."""
    return {"position": list(camera.position), "look_at": list(camera.look_at), "focal_at_480": camera.focal}


def camera_from(facts: Mapping[str, float | list[float]], default: Camera) -> Camera:
    """The camera a clip tells of, or the default one."""
    position, look_at, focal = facts.get("position"), facts.get("look_at"), facts.get("focal_at_480")
    if not isinstance(position, list) or not isinstance(look_at, list) or not isinstance(focal, float | int):
        return default
    (x, y, z), (u, v, w) = position, look_at
    return Camera((x, y, z), (u, v, w), float(focal))


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
    # The renderer has square pixels: draw at the native shape and squash afterwards if another one is asked for.
    square = size if size[0] * NATIVE[1] == size[1] * NATIVE[0] else (NATIVE[0] // 2, NATIVE[1] // 2)
    there = [index for index, pose in enumerate(poses) if pose is not None]
    visible, whole = np.zeros((2, len(poses), *square), dtype=bool)
    if there:
        backdrop = Backdrop(camera=camera, wall=None, shadows=False)
        picture = draw(backdrop, [pose.body() for pose in poses if pose is not None], square, samples=1)
        visible[there], whole[there] = picture.visible_masks, picture.object_masks
    return resize_masks(visible, size), resize_masks(whole, size)


def project(
    camera: Camera, locations: NDArray[np.float64], size: Size
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(..., 3) world -> pixels (..., 2) in an image of any shape, and depths (...). NaN behind the camera."""
    seen = camera.project(locations, NATIVE)
    scale = np.array([size[0] / NATIVE[0], size[1] / NATIVE[1]])
    pixels = (seen[..., :2] + 0.5) * scale - 0.5
    behind = ~(seen[..., 2] > 0)
    pixels[behind], seen[behind] = np.nan, np.nan
    return pixels.astype(np.float32), seen[..., 2].astype(np.float32)


def unproject(
    camera: Camera, pixels: NDArray[np.floating], depths: NDArray[np.floating], size: Size
) -> NDArray[np.float64]:
    """The inverse of `project`: (..., 2) pixels and (...) depths -> (..., 3) world."""
    height, width = NATIVE
    rows = (np.asarray(pixels[..., 0], dtype=np.float64) + 0.5) * height / size[0] - height / 2
    columns = (np.asarray(pixels[..., 1], dtype=np.float64) + 0.5) * width / size[1] - width / 2
    right, up, forward = camera.axes()
    direction = columns[..., None] / camera.focal * right - rows[..., None] / camera.focal * up + forward
    return np.asarray(camera.position) + np.asarray(depths, dtype=np.float64)[..., None] * direction
