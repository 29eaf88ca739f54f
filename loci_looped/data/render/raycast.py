"""Where rays enter and leave the four convex solids. Everything happens in the frame of the unit solid.

Only + - * / and square roots are used, element by element, so that the same scene gives the same bytes on every
machine (fused matrix products and vectorised sines differ in the last bit between processors).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.scenes.bodies import Body, PartKind, place

Array = NDArray[np.float32]
Triple = tuple[Array, Array, Array]         # x, y, z of many points or directions


class Solid(NamedTuple):
    """A part ready for casting: the map from the world into the frame of the unit solid."""

    kind: PartKind
    to_unit: NDArray[np.float32]            # (3, 3)
    offset: NDArray[np.float32]             # (3,) the part's place in the world
    tint: float


def solids(body: Body) -> list[Solid]:
    places = [(part, place(body, part)) for part in body.parts]
    return [Solid(part.kind, placed.to_unit.astype(np.float32), placed.offset.astype(np.float32), part.tint)
            for part, placed in places]


def rotate(matrix: NDArray[np.float32], vectors: Triple) -> Triple:
    """matrix (3, 3) times many vectors, skipping the zeros that upright bodies are full of."""
    rows = []
    for row in matrix:
        total: Array | None = None
        for weight, component in zip(row, vectors, strict=True):
            if weight != 0:
                total = weight * component if total is None else total + weight * component
        rows.append(np.zeros_like(vectors[0]) if total is None else total)
    return rows[0], rows[1], rows[2]


def to_unit_frame(solid: Solid, points: Triple) -> Triple:
    x, y, z = solid.offset
    return rotate(solid.to_unit, (points[0] - x, points[1] - y, points[2] - z))


def _slab(origin: Array, direction: Array) -> tuple[Array, Array]:
    """Between the planes -1 and +1."""
    first, second = (-1 - origin) / direction, (1 - origin) / direction
    return np.minimum(first, second), np.maximum(first, second)


def _roots(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Of a t^2 + 2 b t + c = 0, in the order (-b - root) / a, (-b + root) / a; NaN where there are none."""
    root = np.sqrt(b * b - a * c)
    inverse = np.float32(1) / a
    return (-b - root) * inverse, (-b + root) * inverse


def interval(kind: PartKind, origin: Triple, direction: Triple) -> tuple[Array, Array]:
    """Ray parameters (enter, leave) of the unit solid; the ray misses it unless enter < leave."""
    (ox, oy, oz), (dx, dy, dz) = origin, direction
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):   # rays along a plane give infinities: meant
        if kind == "sphere":
            return _roots(dx * dx + dy * dy + dz * dz, ox * dx + oy * dy + oz * dz, ox * ox + oy * oy + oz * oz - 1)
        near, far = _slab(oz, dz)
        if kind == "box":
            for o, d in ((ox, dx), (oy, dy)):
                enter, leave = _slab(o, d)
                near, far = np.maximum(near, enter), np.minimum(far, leave)
            return near, far
        if kind == "cylinder":
            enter, leave = _roots(dx * dx + dy * dy, ox * dx + oy * dy, ox * ox + oy * oy - 1)
            return np.maximum(near, enter), np.minimum(far, leave)
        # Cone with its tip at z = 1 and the unit disc at z = -1: x^2 + y^2 <= ((1 - z) / 2)^2.
        oh, dh = (1 - oz) * np.float32(0.5), dz * np.float32(-0.5)
        a = dx * dx + dy * dy - dh * dh
        enter, leave = _roots(a, ox * dx + oy * dy - oh * dh, ox * ox + oy * oy - oh * oh)
        # A ray steeper than the flank is inside the double cone before one root and after the other;
        # the part below the tip is the one it comes from when it rises, the one it goes to when it sinks.
        steep, rising = a < 0, dz > 0
        smaller, larger = np.minimum(enter, leave), np.maximum(enter, leave)
        no_flank = steep & np.isnan(enter)          # only rounding: such a ray runs through the tip
        enter = np.where(steep, np.where(rising, -np.inf, larger), enter)
        leave = np.where(steep, np.where(rising, smaller, np.inf), leave)
        enter = np.where(no_flank, np.inf, enter)
        return np.maximum(near, enter), np.minimum(far, leave)


def normal(kind: PartKind, points: Triple) -> Triple:
    """Outward direction (any length) at surface points of the unit solid, in its own frame."""
    x, y, z = points
    if kind == "sphere":
        return points
    zero = np.zeros_like(x)
    if kind == "box":
        ax, ay, az = np.abs(x), np.abs(y), np.abs(z)
        along_x = (ax >= ay) & (ax >= az)
        along_y = ~along_x & (ay >= az)
        return (np.where(along_x, np.sign(x), zero), np.where(along_y, np.sign(y), zero),
                np.where(along_x | along_y, zero, np.sign(z)))
    if kind == "cylinder":
        on_cap = z * z >= x * x + y * y
        return np.where(on_cap, zero, x), np.where(on_cap, zero, y), np.where(on_cap, np.sign(z), zero)
    on_base = z < -0.999
    return np.where(on_base, zero, x), np.where(on_base, zero, y), np.where(on_base, -1, (1 - z) / 4)
