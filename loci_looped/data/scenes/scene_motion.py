"""A scene description -> where everything is in the world, frame by frame, as ADEPT's annotations tell it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.scenes.bodies import EXTENTS, Body
from loci_looped.data.scenes.scene import Scene
from loci_looped.data.scenes.world_motion import WorldMotion


def scene_motion(scene: Scene, frames: Sequence[int]) -> WorldMotion:
    """Poses at the chosen frame numbers; velocities are what happens from one of them to the next, per second."""
    count = len(scene.kinds())
    locations, rotations = np.full((2, len(frames), count, 3), np.nan)
    for step, number in enumerate(frames):
        for index, body in enumerate(scene.bodies(number / scene.fps)):
            if body is not None:
                locations[step, index], rotations[step, index] = body.centre(), angles(body)
    seconds = (frames[1] - frames[0]) / scene.fps if len(frames) > 1 else 1.0
    return WorldMotion(
        locations, np.nan_to_num(rotations), _rates(locations, seconds), _rates(np.unwrap(rotations, axis=0), seconds),
        _half_extents(scene),
    )


def angles(body: Body) -> NDArray[np.float64]:
    """(3,) the turns about x, then y, then z (radians) that make up the body's rotation."""
    r = body.rotation
    tilt = math.asin(max(-1.0, min(1.0, -float(r[2, 0]))))
    if abs(r[2, 0]) > 1 - 1e-12:            # lying flat: turns about x and z are the same thing, call it z
        return np.array([0.0, tilt, math.atan2(-r[0, 1], r[1, 1])])
    return np.array([math.atan2(r[2, 1], r[2, 2]), tilt, math.atan2(r[1, 0], r[0, 0])])


def _rates(values: NDArray[np.float64], seconds: float) -> NDArray[np.float64]:
    if len(values) < 2:
        return np.zeros_like(values)
    return np.nan_to_num(np.gradient(values, seconds, axis=0))


def _half_extents(scene: Scene) -> NDArray[np.float64]:
    """(O, 3) before anything impossible happens."""
    movers = [mover.size * np.asarray(EXTENTS[mover.shape]) for mover in scene.movers]
    screen = [np.array([0.04, scene.screen.half_width, scene.screen.half_height])] if scene.screen else []
    return np.stack([*movers, *screen])
