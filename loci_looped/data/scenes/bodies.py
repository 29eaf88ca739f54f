"""What stands in a scene: shapes made of convex parts, their colours, and bodies placed in the world.

World coordinates are (x, y, z): the floor is z = 0, the ADEPT camera looks along -x, image right is +y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = tuple[float, float, float]
PartKind = Literal["sphere", "box", "cylinder", "cone"]
ShapeName = Literal["sphere", "cube", "cylinder", "cone", "pin", "truck", "boot", "toy"]

# ADEPT's (and CLEVRER's) palette, sRGB.
COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (173, 35, 35),
    "blue": (42, 75, 215),
    "green": (29, 105, 20),
    "brown": (129, 74, 25),
    "purple": (129, 38, 192),
    "cyan": (41, 208, 208),
    "yellow": (255, 238, 51),
}


@dataclass(frozen=True)
class Part:
    """A convex solid with the given half extents, inside the frame of the body it belongs to."""

    kind: PartKind
    half: Vector = (1.0, 1.0, 1.0)
    centre: Vector = (0.0, 0.0, 0.0)
    axis: Literal["x", "y", "z"] = "z"      # where a cylinder or a cone points
    tint: float = 1.0                       # brightness relative to the body's colour


# Half extents of the whole shape at size 1; the composed ones have the proportions of ADEPT's meshes.
EXTENTS: dict[str, Vector] = {
    "sphere": (1.0, 1.0, 1.0),
    "cube": (1.0, 1.0, 1.0),
    "cylinder": (1.0, 1.0, 1.0),
    "cone": (1.0, 1.0, 1.0),
    "pin": (0.30, 0.31, 1.0),
    "truck": (0.40, 1.0, 0.51),
    "boot": (0.39, 1.0, 0.80),
    "toy": (0.47, 0.57, 1.0),
}

SHAPES: dict[str, tuple[Part, ...]] = {
    "sphere": (Part("sphere"),),
    "cube": (Part("box"),),
    "cylinder": (Part("cylinder"),),
    "cone": (Part("cone"),),
    "pin": (
        Part("sphere", (0.30, 0.31, 0.66), (0.0, 0.0, -0.34)),
        Part("cylinder", (0.13, 0.13, 0.35), (0.0, 0.0, 0.35)),
        Part("sphere", (0.19, 0.19, 0.24), (0.0, 0.0, 0.76)),
    ),
    "truck": (
        Part("box", (0.36, 1.0, 0.10), (0.0, 0.0, -0.22), tint=0.7),
        Part("box", (0.40, 0.62, 0.31), (0.0, -0.38, 0.20)),
        Part("box", (0.38, 0.28, 0.24), (0.0, 0.68, 0.12), tint=1.15),
        Part("cylinder", (0.40, 0.20, 0.20), (0.0, -0.62, -0.31), axis="x", tint=0.3),
        Part("cylinder", (0.40, 0.20, 0.20), (0.0, 0.62, -0.31), axis="x", tint=0.3),
    ),
    "boot": (
        Part("sphere", (0.39, 0.62, 0.42), (0.0, 0.38, -0.38)),
        Part("box", (0.36, 0.90, 0.12), (0.0, 0.02, -0.68), tint=0.6),
        Part("cylinder", (0.36, 0.40, 0.72), (0.0, -0.58, 0.08)),
    ),
    "toy": (
        Part("sphere", (0.47, 0.57, 0.50), (0.0, 0.0, -0.50)),
        Part("sphere", (0.34, 0.34, 0.36), (0.0, 0.0, 0.22), tint=1.2),
        Part("cone", (0.30, 0.30, 0.30), (0.0, 0.0, 0.70), tint=0.7),
    ),
}

CONVEX_SHAPES: tuple[ShapeName, ...] = ("sphere", "cube", "cylinder", "cone")
MOVER_SHAPES: tuple[ShapeName, ...] = ("sphere", "cube", "cylinder", "cone", "pin", "truck", "boot", "toy")


@dataclass(frozen=True)
class Body:
    """Parts at a place in the world, all in one colour."""

    parts: tuple[Part, ...]
    colour: tuple[int, int, int]            # sRGB, 0..255
    origin: Vector                          # world position of the body's frame
    rotation: NDArray[np.float64]           # (3, 3) body frame -> world
    scale: float = 1.0
    centre_offset: Vector = (0.0, 0.0, 0.0)  # the body's middle, in its own frame, before scaling
    gloss: float = 0.0                      # strength of a highlight; 0 is rubber

    def centre(self) -> NDArray[np.float64]:
        """(3,) the middle of the body in the world."""
        return np.asarray(self.origin) + self.rotation @ (self.scale * np.asarray(self.centre_offset))


def turn_about_z(degrees: float) -> NDArray[np.float64]:
    """Rotation of a body that stands on the floor (yaw)."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def turn_about_y(degrees: float) -> NDArray[np.float64]:
    """Rotation of a hinged screen: +90 lays what pointed up towards +x, the camera."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def standing(shape: str, colour: tuple[int, int, int], size: float, x: float, y: float, yaw: float = 0.0,
             gloss: float = 0.0) -> Body:
    """A shape of half extent `size` that stands on the floor at (x, y)."""
    return Body(SHAPES[shape], colour, (x, y, size * EXTENTS[shape][2]), turn_about_z(yaw), size, gloss=gloss)


def hinged_screen(colour: tuple[int, int, int], x: float, y: float, half_width: float, half_height: float,
                  yaw: float, angle: float, half_thickness: float = 0.04) -> Body:
    """A panel whose lower edge lies on the floor at (x, y); angle 0 is upright, 90 lies towards the camera."""
    panel = Part("box", (half_thickness, half_width, half_height), (0.0, 0.0, half_height))
    rotation = turn_about_z(yaw) @ turn_about_y(angle)
    return Body((panel,), colour, (x, y, 0.0), rotation, centre_offset=(0.0, 0.0, half_height))


_AXIS_ORDER: dict[str, tuple[int, int, int]] = {"x": (1, 2, 0), "y": (2, 0, 1), "z": (0, 1, 2)}


class Placed(NamedTuple):
    """A part's place: the unit solid of its kind goes to `to_world @ p + offset`, and back by `to_unit`."""

    to_world: NDArray[np.float64]           # (3, 3)
    to_unit: NDArray[np.float64]            # (3, 3) the inverse
    offset: NDArray[np.float64]             # (3,)


def place(body: Body, part: Part) -> Placed:
    # The unit cylinder points along its third coordinate; let that coordinate feed the axis asked for.
    order, half = list(_AXIS_ORDER[part.axis]), body.scale * np.asarray(part.half)
    offset = np.asarray(body.origin) + (body.rotation * (body.scale * np.asarray(part.centre))).sum(axis=1)
    return Placed((body.rotation * half)[:, order], (body.rotation / half).T[order], offset)


_CORNERS = np.array([[i, j, k] for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)])


def corners(body: Body) -> NDArray[np.float64]:
    """(8 * parts, 3) the corners of the boxes around the parts, in the world."""
    places = [place(body, part) for part in body.parts]
    return np.concatenate([_CORNERS @ placed.to_world.T + placed.offset for placed in places])
