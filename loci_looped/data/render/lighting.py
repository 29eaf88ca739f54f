"""The empty scene with its lights on, at sample resolution: what the rays meet before anything stands in the scene."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.render.raycast import Array, Triple
from loci_looped.data.scenes.backdrop import Backdrop, Colour, Floor
from loci_looped.data.scenes.bodies import turn_about_z


def linear(colour: Colour) -> NDArray[np.float32]:
    """sRGB bytes -> amounts of light. The display curve is taken as a square: exact, and close enough to sRGB."""
    return np.asarray(np.square(np.asarray(colour, dtype=np.float32) / np.float32(255)))


def normalised(vectors: Triple) -> Triple:
    x, y, z = vectors
    inverse = 1 / np.sqrt(np.maximum(x * x + y * y + z * z, np.float32(1e-20)))
    return x * inverse, y * inverse, z * inverse


def skylight(ambient: float, normal_z: Array | float) -> Array:
    """Light from everywhere: most from above, some sent back by the floor."""
    return np.float32(ambient) * (np.float32(0.65) + np.float32(0.35) * np.asarray(normal_z, dtype=np.float32))


def lamp_offsets(samples: int) -> NDArray[np.float32]:
    """(3, samples, samples): each sample of a pixel looks at another spot of the lamp: shadows get soft for free."""
    if samples == 1:
        return np.zeros((3, 1, 1), dtype=np.float32)
    steps = np.linspace(-0.8, 0.8, samples)
    across, along = np.meshgrid(steps, steps, indexing="ij")
    # A fixed shuffle keeps neighbouring samples apart on the lamp, so that the penumbra is not banded along one axis.
    order = (np.arange(samples * samples) * (samples * 2 - 1) + 1) % (samples * samples)
    across, along = across.ravel()[order].reshape(across.shape), along.ravel()[order].reshape(along.shape)
    return np.stack([across, along, -0.5 * (across + along)]).astype(np.float32)


@dataclass(frozen=True)
class LitBackdrop:
    """The empty scene at sample resolution. All maps are (SH, SW) or (3, SH, SW), S = samples per pixel side."""

    rays: Array                             # (3, SH, SW) from the camera, one unit of depth long
    depth: Array                            # (SH, SW) of floor or wall
    points: Array                           # (3, SH, SW) where the ray ends
    albedo: Array                           # (3, SH, SW) colour of the ground as amounts of light
    light: Array                            # (SH, SW) all the light that arrives there when nothing is in the way
    shares: tuple[Array, ...]               # per light: its part of `light`
    lamps: tuple[Array, ...]                # per light: (3, SH, SW) the spot of it that a sample looks at, or (3, 1, 1)
    exposure: float                         # strength factor that gives the middle of the floor its nominal colour


def _ground(backdrop: Backdrop, rays: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Depth of floor or wall along each ray, and whether it is the wall."""
    eye = np.asarray(backdrop.camera.position, dtype=np.float32)
    far = np.float32(1e4)
    with np.errstate(divide="ignore"):
        floor = np.where(rays[2] < 0, -eye[2] / rays[2], far)
        if backdrop.wall is None:
            return np.minimum(floor, far), np.zeros(floor.shape, dtype=bool)
        wall = np.where(rays[0] < 0, (np.float32(backdrop.wall.x) - eye[0]) / rays[0], far)
    return np.minimum(floor, wall), wall < floor


def _floor_pattern(floor: Floor, points: Array) -> NDArray[np.bool_]:
    """True on the light fields."""
    turn = turn_about_z(-floor.yaw).astype(np.float32)
    along = (turn[0, 0] * points[0] + turn[0, 1] * points[1] + np.float32(floor.shift[0])) / np.float32(floor.cell[0])
    across = (turn[1, 0] * points[0] + turn[1, 1] * points[1] + np.float32(floor.shift[1])) / np.float32(floor.cell[1])
    odd: NDArray[np.bool_] = (np.floor(along) + np.floor(across)) % 2 == 0
    return odd


@lru_cache(maxsize=2)      # one at 320x480 takes 90 MB; the two scenes of a matched pair share one
def light_up(backdrop: Backdrop, size: tuple[int, int], samples: int) -> LitBackdrop:
    """Everything about the empty scene that a clip's frames share."""
    rays = backdrop.camera.rays(size, samples)
    depth, is_wall = _ground(backdrop, rays)
    eye = np.asarray(backdrop.camera.position, dtype=np.float32)
    points = eye[:, None, None] + rays * depth
    bright = _floor_pattern(backdrop.floor, points)
    colour = np.where(bright, linear(backdrop.floor.light)[:, None, None], linear(backdrop.floor.dark)[:, None, None])
    if backdrop.wall is not None:
        colour = np.where(is_wall, linear(backdrop.wall.colour)[:, None, None], colour)
    normal_x, normal_z = is_wall.astype(np.float32), (~is_wall).astype(np.float32)
    exposure = 1 / _nominal_light(backdrop)
    light = skylight(backdrop.ambient * exposure, normal_z)
    shares, lamps = [], []
    tiles = (1, rays.shape[1] // samples, rays.shape[2] // samples)
    for lamp in backdrop.lights:
        centre = np.asarray(lamp.position, dtype=np.float32)[:, None, None]
        spots = np.tile(centre + np.float32(lamp.radius) * lamp_offsets(samples), tiles) if lamp.radius else centre
        towards = normalised((spots[0] - points[0], spots[1] - points[1], spots[2] - points[2]))
        share = np.float32(lamp.strength * exposure) * np.maximum(normal_x * towards[0] + normal_z * towards[2], 0)
        light = light + share
        shares.append(share)
        lamps.append(spots)
    return LitBackdrop(rays, depth, points, colour, light, tuple(shares), tuple(lamps), exposure)


def _nominal_light(backdrop: Backdrop) -> float:
    """The light on the floor where the camera looks."""
    spot = np.asarray(backdrop.camera.look_at)
    total = backdrop.ambient
    for lamp in backdrop.lights:
        towards = np.asarray(lamp.position) - spot
        total += lamp.strength * max(0.0, float(towards[2] / np.sqrt((towards * towards).sum())))
    return float(total)
