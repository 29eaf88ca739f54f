"""Discs and square boxes that slide on a plane, rub, and bump into each other: a small rigid-body engine.

Everything here is seen from above: two coordinates, one angle. Bodies have mass 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]


@dataclass(frozen=True)
class Surface:
    """How bodies rub and bounce."""

    restitution: float = 0.7            # share of the approach speed that comes back
    contact_friction: float = 0.1       # between two bodies
    floor_friction: float = 0.29        # deceleration by the floor, units per second squared
    damping: float = 0.06               # share of the velocity lost per second


@dataclass
class Slider:
    """One body. Discs have radius `half`, boxes are squares with sides 2 * `half`."""

    is_box: bool
    half: float
    x: float
    y: float
    angle: float = 0.0
    vx: float = 0.0
    vy: float = 0.0
    spin: float = 0.0

    @property
    def reach(self) -> float:
        return self.half * (math.sqrt(2) if self.is_box else 1.0)

    @property
    def inertia(self) -> float:
        return self.half**2 * (2 / 3 if self.is_box else 1 / 2)

    def corners(self) -> list[Point]:
        c, s = self.half * math.cos(self.angle), self.half * math.sin(self.angle)
        return [(self.x + c * i - s * j, self.y + s * i + c * j) for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1))]

    def inward(self, point: Point) -> Point:
        """A world point in the body's own frame."""
        dx, dy = point[0] - self.x, point[1] - self.y
        c, s = math.cos(self.angle), math.sin(self.angle)
        return c * dx + s * dy, c * dy - s * dx

    def outward(self, vector: Point) -> Point:
        """A direction of the body's own frame in the world."""
        c, s = math.cos(self.angle), math.sin(self.angle)
        return c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]


@dataclass(frozen=True)
class Contact:
    """Two bodies overlap by `depth` at `point`; `normal` points from the first to the second."""

    normal: Point
    depth: float
    point: Point


def touch(a: Slider, b: Slider) -> Contact | None:
    """The contact of two bodies, or None while they are apart."""
    if math.hypot(b.x - a.x, b.y - a.y) >= a.reach + b.reach:
        return None
    if not a.is_box and not b.is_box:
        return _disc_disc(a, b)
    if a.is_box and b.is_box:
        return _box_box(a, b)
    if a.is_box:
        return _box_disc(a, b)
    contact = _box_disc(b, a)
    return contact and Contact((-contact.normal[0], -contact.normal[1]), contact.depth, contact.point)


def _disc_disc(a: Slider, b: Slider) -> Contact | None:
    gap = math.hypot(b.x - a.x, b.y - a.y)
    depth = a.half + b.half - gap
    if depth <= 0:
        return None
    normal = ((b.x - a.x) / gap, (b.y - a.y) / gap) if gap > 0 else (1.0, 0.0)
    return Contact(normal, depth, (a.x + normal[0] * a.half, a.y + normal[1] * a.half))


def _box_disc(box: Slider, disc: Slider) -> Contact | None:
    u, v = box.inward((disc.x, disc.y))
    near = max(-box.half, min(box.half, u)), max(-box.half, min(box.half, v))
    gap = math.hypot(u - near[0], v - near[1])
    if gap >= disc.half:
        return None
    if gap > 0:
        local, depth = ((u - near[0]) / gap, (v - near[1]) / gap), disc.half - gap
    elif abs(u) > abs(v):                                   # the disc's centre is inside the box: out by the near side
        local, depth = (math.copysign(1.0, u), 0.0), disc.half + box.half - abs(u)
    else:
        local, depth = (0.0, math.copysign(1.0, v)), disc.half + box.half - abs(v)
    offset = box.outward(near)
    return Contact(box.outward(local), depth, (box.x + offset[0], box.y + offset[1]))


def _box_box(a: Slider, b: Slider) -> Contact | None:
    """The separating axis of least overlap; the contact lies amid the corners that are inside the other box."""
    best: tuple[float, Point] | None = None
    corners_a, corners_b = a.corners(), b.corners()
    for box in (a, b):
        for local in ((1.0, 0.0), (0.0, 1.0)):
            axis = box.outward(local)
            if (b.x - a.x) * axis[0] + (b.y - a.y) * axis[1] < 0:
                axis = (-axis[0], -axis[1])
            overlap = max(_along(axis, p) for p in corners_a) - min(_along(axis, p) for p in corners_b)
            if overlap <= 0:
                return None
            if best is None or overlap < best[0]:
                best = overlap, axis
    assert best is not None
    depth, normal = best
    inside = [p for p in corners_a if _within(b, p)] + [p for p in corners_b if _within(a, p)]
    if not inside:                                          # edges cross without a corner inside: a's foremost one
        inside = [max(corners_a, key=lambda p: _along(normal, p))]
    point = sum(p[0] for p in inside) / len(inside), sum(p[1] for p in inside) / len(inside)
    return Contact(normal, depth, point)


def _along(axis: Point, point: Point) -> float:
    return axis[0] * point[0] + axis[1] * point[1]


def _within(box: Slider, point: Point) -> bool:
    u, v = box.inward(point)
    return max(abs(u), abs(v)) <= box.half + 1e-9


def bounce(a: Slider, b: Slider, contact: Contact, surface: Surface) -> float:
    """Change the velocities of two touching bodies; the speed at which they approached (0 if they did not).

    First the push along the normal, then the rubbing of what is left along the surface. Both at once could make energy,
    because on a box a push also turns.
    """
    normal, (px, py) = contact.normal, contact.point
    tangent = (-normal[1], normal[0])
    arm_a, arm_b = (px - a.x, py - a.y), (px - b.x, py - b.y)
    approach = -_along(normal, _parting(a, b, arm_a, arm_b))
    if approach <= 0:
        return 0.0
    push = (1 + surface.restitution) * approach / _resistance(a, b, arm_a, arm_b, normal)
    _strike(a, b, arm_a, arm_b, (push * normal[0], push * normal[1]))
    slip = _along(tangent, _parting(a, b, arm_a, arm_b))
    most = surface.contact_friction * push
    rub = max(-most, min(most, -slip / _resistance(a, b, arm_a, arm_b, tangent)))
    _strike(a, b, arm_a, arm_b, (rub * tangent[0], rub * tangent[1]))
    return approach


def _parting(a: Slider, b: Slider, arm_a: Point, arm_b: Point) -> Point:
    """Velocity of b's point of contact as seen from a's."""
    return (
        b.vx - b.spin * arm_b[1] - a.vx + a.spin * arm_a[1],
        b.vy + b.spin * arm_b[0] - a.vy - a.spin * arm_a[0],
    )


def _strike(a: Slider, b: Slider, arm_a: Point, arm_b: Point, impulse: Point) -> None:
    """Give b an impulse at the point of contact, and a its opposite."""
    ix, iy = impulse
    for body, arm, sign in ((a, arm_a, -1.0), (b, arm_b, 1.0)):
        body.vx += sign * ix
        body.vy += sign * iy
        body.spin += sign * (arm[0] * iy - arm[1] * ix) / body.inertia


def _resistance(a: Slider, b: Slider, arm_a: Point, arm_b: Point, way: Point) -> float:
    """How much velocity an impulse of 1 along `way` fails to make: the inverse of the effective mass."""
    turn_a, turn_b = arm_a[0] * way[1] - arm_a[1] * way[0], arm_b[0] * way[1] - arm_b[1] * way[0]
    return 2.0 + turn_a**2 / a.inertia + turn_b**2 / b.inertia


def slide(body: Slider, surface: Surface, seconds: float) -> None:
    """Move one body on; the floor brakes it, and its turning, until it rests."""
    body.x += body.vx * seconds
    body.y += body.vy * seconds
    body.angle += body.spin * seconds
    speed, turning = math.hypot(body.vx, body.vy), abs(body.spin)
    keep = math.exp(-surface.damping * seconds)
    # A body that turns rubs at about two thirds of its reach from the middle.
    brake = surface.floor_friction * seconds
    turn_brake = brake * body.half / body.inertia / 1.5
    factor = keep * max(0.0, 1 - brake / speed) if speed > 0 else 0.0
    body.vx, body.vy = body.vx * factor, body.vy * factor
    body.spin *= keep * max(0.0, 1 - turn_brake / turning) if turning > 0 else 0.0


def step(bodies: list[Slider], surface: Surface, seconds: float) -> list[tuple[int, int, float]]:
    """One small step of all bodies; the pairs that hit each other, and how fast."""
    for body in bodies:
        slide(body, surface, seconds)
    hits = []
    for (i, a), (j, b) in combinations(enumerate(bodies), 2):
        contact = touch(a, b)
        if contact is None:
            continue
        hits.append((i, j, bounce(a, b, contact, surface)))
        shift = contact.depth / 2                           # so that nothing stays inside anything
        a.x, a.y = a.x - shift * contact.normal[0], a.y - shift * contact.normal[1]
        b.x, b.y = b.x + shift * contact.normal[0], b.y + shift * contact.normal[1]
    return hits


def poses(bodies: list[Slider]) -> NDArray[np.float64]:
    """(O, 6) x, y, angle and their rates of change."""
    return np.array([[body.x, body.y, body.angle, body.vx, body.vy, body.spin] for body in bodies])
