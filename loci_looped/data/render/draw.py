"""A small ray-caster: one frame of bodies in a scene, with shadows, anti-aliasing and exact masks in the same pass.

A pixel belongs to the mask of a body when the ray through the pixel's centre meets it, so visible masks never overlap
and do not depend on the anti-aliasing. Only the rays near a body or its shadow are cast; the rest is the empty scene.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.render.lighting import LitBackdrop, light_up, linear, normalised, skylight
from loci_looped.data.render.raycast import Array, Solid, Triple, interval, normal, rotate, solids, to_unit_frame
from loci_looped.data.scenes.backdrop import Backdrop, Light, lamp_corners
from loci_looped.data.scenes.bodies import Body, corners
from loci_looped.utils.errors import LociError

Window = tuple[slice, slice]
SAMPLES = 3                 # per pixel side; odd, so that one of them is the pixel's centre


@dataclass(frozen=True)
class Picture:
    """One rendered frame and the truth about its O bodies."""

    image: NDArray[np.float32]          # (H, W, 3) in [0, 1], without noise
    visible_masks: NDArray[np.bool_]    # (O, H, W)
    object_masks: NDArray[np.bool_]     # (O, H, W) whole bodies, as if nothing else stood there
    visible_samples: NDArray[np.int64]  # (O,) how many of all samples see the body; 0 is not even a sliver
    positions: NDArray[np.float32]      # (O, 2) pixel (row, column) of the projected centre
    depths: NDArray[np.float32]         # (O,) depth of the centre


@dataclass(frozen=True)
class _Sight:
    """A body as the camera's rays meet it inside a window of the sample grid."""

    body: Body
    parts: list[Solid]
    corners: NDArray[np.float64]        # (8 * parts, 3) of the boxes around the parts, in the world
    window: Window
    depth: Array                        # (h, w) inf where it is missed
    part: NDArray[np.int8]              # (h, w) which part is met


def draw(backdrop: Backdrop, bodies: Sequence[Body], size: tuple[int, int], samples: int = SAMPLES) -> Picture:
    """The picture of the bodies at size (H, W)."""
    if samples % 2 == 0 or samples < 1:
        raise LociError(f"The renderer takes an odd number of samples per pixel side (1, 3, 5), not {samples}.")
    lit = light_up(backdrop, size, samples)
    with np.errstate(divide="ignore", invalid="ignore"):        # rays that miss: infinities and NaN are meant
        sights = [_look(backdrop, lit, body, size, samples) for body in bodies]
        owner = np.full(lit.depth.shape, -1, dtype=np.int8)
        nearest = lit.depth.copy()
        for index, sight in enumerate(sights):
            closer = sight.depth < nearest[sight.window]
            np.copyto(nearest[sight.window], sight.depth, where=closer)
            owner[sight.window][closer] = index
        light = lit.light.copy()
        if backdrop.shadows:
            _darken_ground(backdrop, lit, sights, owner, light, size, samples)
        colour = lit.albedo * light
        for index, sight in enumerate(sights):
            _paint(backdrop, lit, sight, owner[sight.window] == index, sights, colour)
    return _gather(backdrop, sights, owner, colour, size, samples)


def empty(backdrop: Backdrop, size: tuple[int, int], samples: int = SAMPLES) -> NDArray[np.float32]:
    """(H, W, 3) the scene with nothing in it."""
    return draw(backdrop, (), size, samples).image


def quantised(image: NDArray[np.float32], noise: NDArray[np.float32] | None = None) -> NDArray[np.uint8]:
    """[0, 1] -> bytes, with noise (same shape, in units of the image) if asked for."""
    values = image if noise is None else image + noise
    return (np.clip(values, 0, 1) * np.float32(255) + np.float32(0.5)).astype(np.uint8)


def _window(points: NDArray[np.float64], backdrop: Backdrop, size: tuple[int, int], samples: int) -> Window:
    """The part of the sample grid in which the convex hull of the world points can be seen."""
    seen = backdrop.camera.project(points, size)
    (top, left, nearest), (bottom, right, _) = seen.min(axis=0).tolist(), seen.max(axis=0).tolist()
    if nearest < 0.05:                      # partly behind the camera: the hull may be anywhere
        return slice(0, size[0] * samples), slice(0, size[1] * samples)

    def limits(low: float, high: float, count: int) -> slice:
        first = min(max(math.floor((low + 0.5) * samples) - 1, 0), count * samples)
        return slice(first, max(min(math.ceil((high + 0.5) * samples) + 1, count * samples), first))

    return limits(top, bottom, size[0]), limits(left, right, size[1])


def _components(field: Array) -> Triple:
    return field[0], field[1], field[2]


def _spots(lit: LitBackdrop, lamp: int, window: Window, at: tuple[NDArray[np.intp], ...]) -> Triple:
    """The spots of a lamp that the samples `at` in the window look at."""
    spots = lit.lamps[lamp]
    if spots.size == 3:
        return spots[0, 0], spots[1, 0], spots[2, 0]
    return _components(spots[:, window[0], window[1]][:, at[0], at[1]])


def _look(backdrop: Backdrop, lit: LitBackdrop, body: Body, size: tuple[int, int], samples: int) -> _Sight:
    """Cast the camera's rays at one body."""
    hull, parts = corners(body), solids(body)
    window = _window(hull, backdrop, size, samples)
    rays = _components(lit.rays[:, window[0], window[1]])
    depth = np.full(rays[0].shape, np.inf, dtype=np.float32)
    which = np.zeros(rays[0].shape, dtype=np.int8)
    eye = np.asarray(backdrop.camera.position, dtype=np.float32)[:, None]
    if depth.size:
        for index, solid in enumerate(parts):
            origin = to_unit_frame(solid, _components(eye))
            enter, leave = interval(solid.kind, origin, rotate(solid.to_unit, rays))
            met = (enter < leave) & (enter > 0) & (enter < depth)
            np.copyto(depth, enter, where=met)
            which[met] = index
        depth[depth > lit.depth[window]] = np.inf       # what the floor swallows does not exist
    return _Sight(body, parts, hull, window, depth, which)


def _blocked(parts: list[Solid], points: Triple, spots: Triple) -> NDArray[np.bool_]:
    """Does a part stand between the points and their spot of the lamp?"""
    direction = (spots[0] - points[0], spots[1] - points[1], spots[2] - points[2])
    blocked = np.zeros(points[0].shape, dtype=bool)
    for solid in parts:
        enter, leave = interval(solid.kind, to_unit_frame(solid, points), rotate(solid.to_unit, direction))
        blocked |= (enter < leave) & (leave > np.float32(1e-4)) & (enter < 1)
    return blocked


def _may_shade(light: Light, hull: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Can the body with corners `other` come between the lamp and the body with corners `hull`? Balls around both."""
    centre, middle = hull.mean(axis=0), other.mean(axis=0)
    reach = math.sqrt(((hull - centre) ** 2).sum(axis=1).max()) + math.sqrt(((other - middle) ** 2).sum(axis=1).max())
    beam = np.asarray(light.position) - centre
    along = min(max(float(((middle - centre) * beam).sum() / (beam * beam).sum()), 0.0), 1.0)
    gap = middle - centre - along * beam
    return math.sqrt((gap * gap).sum()) < reach + light.radius * along * 1.4


def _shadow_window(backdrop: Backdrop, light: Light, tops: NDArray[np.float64], size: tuple[int, int],
                   samples: int) -> Window:
    """Where on floor and wall the shadow of a body with these corners can fall."""
    tops = np.maximum(tops, (-np.inf, -np.inf, 0))
    lamps = lamp_corners(light)                                                                 # (8, 3)
    if lamps[:, 2].min() < tops[:, 2].max() + 0.05:                                             # a lamp below the top
        return slice(0, size[0] * samples), slice(0, size[1] * samples)
    away = tops[:, None] - lamps[None]                                                          # (N, 8, 3)
    ground = (tops[:, None] - away * (tops[:, None, 2:] / away[..., 2:])).reshape(-1, 3)
    hull = [tops, ground]
    if backdrop.wall is not None and ground[:, 0].min() < backdrop.wall.x:
        # The shadow climbs the wall: add the places where the light meets the wall's plane.
        on_wall = (tops[:, None] + away * ((backdrop.wall.x - tops[:, None, :1]) / away[..., :1])).reshape(-1, 3)
        in_front = np.maximum(ground, (backdrop.wall.x, -np.inf, -np.inf))
        hull = [tops, in_front, on_wall[np.isfinite(on_wall).all(axis=1)]]
    return _window(np.concatenate(hull), backdrop, size, samples)


def _darken_ground(backdrop: Backdrop, lit: LitBackdrop, sights: list[_Sight], owner: NDArray[np.int8], light: Array,
                   size: tuple[int, int], samples: int) -> None:
    """Take from `light` (SH, SW) what the bodies keep away from floor and wall."""
    for index, lamp in enumerate(backdrop.lights):
        if not lamp.casts_shadow:
            continue
        dark = np.zeros(light.shape, dtype=bool)
        for sight in sights:
            window = _shadow_window(backdrop, lamp, sight.corners, size, samples)
            at = np.nonzero((owner[window] < 0) & ~dark[window])
            if len(at[0]):
                points = _components(lit.points[:, window[0], window[1]][:, at[0], at[1]])
                dark[window][at] = _blocked(sight.parts, points, _spots(lit, index, window, at))
        np.subtract(light, lit.shares[index], out=light, where=dark)


def _paint(backdrop: Backdrop, lit: LitBackdrop, sight: _Sight, seen: NDArray[np.bool_], sights: list[_Sight],
           colour: Array) -> None:
    """Write the light that the visible samples of one body send to the camera into `colour` (3, SH, SW)."""
    at = np.nonzero(seen)
    if not len(at[0]):
        return
    rays = lit.rays[:, sight.window[0], sight.window[1]][:, at[0], at[1]]           # (3, N)
    eye = np.asarray(backdrop.camera.position, dtype=np.float32)
    points = _components(eye[:, None] + rays * sight.depth[at])
    normals, tint = _surface(sight.parts, sight.part[at], points)
    shaded = skylight(backdrop.ambient * lit.exposure, normals[2])
    highlight = np.zeros_like(shaded)
    for index, lamp in enumerate(backdrop.lights):
        spots = _spots(lit, index, sight.window, at)
        towards = normalised((spots[0] - points[0], spots[1] - points[1], spots[2] - points[2]))
        facing = np.maximum(normals[0] * towards[0] + normals[1] * towards[1] + normals[2] * towards[2], 0)
        if backdrop.shadows and lamp.casts_shadow:
            for other in sights:
                # A convex body does not shade itself beyond what turns away from the lamp.
                if len(sight.parts) > 1 if other is sight else _may_shade(lamp, sight.corners, other.corners):
                    facing[_blocked(other.parts, _lifted(points, normals), spots)] = 0
        shaded = shaded + np.float32(lamp.strength * lit.exposure) * facing
        if sight.body.gloss > 0:
            highlight = highlight + np.float32(lamp.strength) * _glint(normals, towards, _components(rays), facing)
    gloss = np.float32(sight.body.gloss)
    if gloss > 0:                           # metal: part of its own light is exchanged for what it mirrors
        shaded = shaded * (1 - np.float32(0.6) * gloss) + gloss * _surroundings(normals, _components(rays))
    sent = linear(sight.body.colour)[:, None] * (tint * shaded) + gloss * highlight
    colour[:, sight.window[0], sight.window[1]][:, at[0], at[1]] = sent


def _lifted(points: Triple, normals: Triple) -> Triple:
    """Points a little off their surface, or it would shade itself."""
    lift = np.float32(2e-3)
    return points[0] + lift * normals[0], points[1] + lift * normals[1], points[2] + lift * normals[2]


def _surface(parts: list[Solid], which: NDArray[np.int8], points: Triple) -> tuple[Triple, Array]:
    """World normals (unit length) and tint at points of the named parts."""
    if len(parts) == 1:
        solid, tint = parts[0], np.full_like(points[0], parts[0].tint)
        return normalised(rotate(solid.to_unit.T, normal(solid.kind, to_unit_frame(solid, points)))), tint
    tint = np.asarray([solid.tint for solid in parts], dtype=np.float32)[which]
    out = tuple(np.empty_like(points[0]) for _ in range(3))
    for index, solid in enumerate(parts):
        mine = which == index
        local = to_unit_frame(solid, (points[0][mine], points[1][mine], points[2][mine]))
        for target, values in zip(out, rotate(solid.to_unit.T, normal(solid.kind, local)), strict=True):
            target[mine] = values
    return normalised((out[0], out[1], out[2])), tint


def _glint(normals: Triple, towards: Triple, rays: Triple, facing: Array) -> Array:
    """A highlight where the surface mirrors the lamp: (n.h)^32 by repeated squaring."""
    view = normalised((-rays[0], -rays[1], -rays[2]))
    half = normalised((view[0] + towards[0], view[1] + towards[1], view[2] + towards[2]))
    cosine = np.maximum(normals[0] * half[0] + normals[1] * half[1] + normals[2] * half[2], 0)
    for _ in range(5):
        cosine = cosine * cosine
    return np.where(facing > 0, cosine, 0).astype(np.float32)


def _surroundings(normals: Triple, rays: Triple) -> Array:
    """What a shiny surface mirrors: a bright ceiling above, a darker room around, the lit floor below."""
    x, y, z = normalised(rays)
    along = x * normals[0] + y * normals[1] + z * normals[2]
    up = z - 2 * along * normals[2]         # how steeply the mirrored ray rises
    ceiling = np.clip((up - np.float32(0.25)) * np.float32(2.5), 0, 1)
    return np.asarray(np.float32(0.25) + np.float32(1.5) * ceiling + np.float32(0.5) * np.clip(-up, 0, 1))


def _gather(backdrop: Backdrop, sights: list[_Sight], owner: NDArray[np.int8], colour: Array, size: tuple[int, int],
            samples: int) -> Picture:
    """Samples -> pixels."""
    (height, width), middle = size, samples // 2
    mean = np.zeros((3, height, width), dtype=np.float32)
    for i in range(samples):                # a fixed order of addition, the same on every machine
        for j in range(samples):
            mean += colour[:, i::samples, j::samples]
    image = np.sqrt(np.clip(mean * np.float32(1 / samples**2), 0, 1)).transpose(1, 2, 0)
    whole = np.zeros((len(sights), height, width), dtype=bool)
    for index, sight in enumerate(sights):
        full = np.zeros(owner.shape, dtype=bool)
        full[sight.window] = np.isfinite(sight.depth)
        whole[index] = full[middle::samples, middle::samples]
    centre_owner = owner[middle::samples, middle::samples]
    visible = centre_owner[None] == np.arange(len(sights), dtype=np.int8)[:, None, None]
    counts = np.array([(owner[sight.window] == index).sum() for index, sight in enumerate(sights)], dtype=np.int64)
    centres = np.array([sight.body.centre() for sight in sights]).reshape(-1, 3)
    projected = backdrop.camera.project(centres, size).astype(np.float32)
    return Picture(np.ascontiguousarray(image), visible, whole, counts, projected[:, :2], projected[:, 2])
