"""The empty scene: floor, wall, camera and lights."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.scenes.bodies import Vector
from loci_looped.data.scenes.camera import Camera

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Light:
    """A lamp of the given radius; a far one is a sun. Brightness does not fall with distance."""

    position: Vector
    strength: float
    radius: float = 0.0
    casts_shadow: bool = False


@dataclass(frozen=True)
class Floor:
    """The plane z = 0 with rectangular fields in two colours; equal colours make it plain."""

    light: Colour = (159, 159, 159)
    dark: Colour = (119, 119, 119)
    cell: tuple[float, float] = (0.553, 1.130)  # ADEPT's fields, in world units
    yaw: float = 0.0                            # degrees
    shift: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Wall:
    """The plane x = const behind the scene."""

    x: float = -3.96
    colour: Colour = (147, 147, 147)


@dataclass(frozen=True)
class Backdrop:
    camera: Camera = field(default_factory=Camera)
    floor: Floor = field(default_factory=Floor)
    wall: Wall | None = field(default_factory=Wall)
    lights: tuple[Light, ...] = (
        Light((11.66, -6.63, 15.82), 0.60, radius=1.2, casts_shadow=True),  # the sun of ADEPT's base scene
        Light((6.45, 2.91, 3.0), 0.16),                                     # key
        Light((1.0, -6.0, 4.0), 0.12),                                      # fill
    )
    ambient: float = 0.45
    shadows: bool = True


def lamp_corners(light: Light) -> NDArray[np.float64]:
    """(8, 3) a box around all spots of the lamp that any sample looks at."""
    signs = np.array([[i, j, k] for i in (-0.8, 0.8) for j in (-0.8, 0.8) for k in (-0.8, 0.8)])
    return np.asarray(light.position) + light.radius * signs
