"""Is a body hidden behind a screen? Asked of the geometry, not of the pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.scenes.backdrop import Backdrop, lamp_corners
from loci_looped.data.scenes.bodies import Body, corners
from loci_looped.data.scenes.scene import Scene


def _behind_panel(points: NDArray[np.float64], panel: Body, eye: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(N,) does the line from the eye to the point go through the panel's middle plane, inside its edges?"""
    (part,) = panel.parts
    origin = (eye - np.asarray(panel.origin)) @ panel.rotation              # the panel's own frame
    target = (points - np.asarray(panel.origin)) @ panel.rotation
    with np.errstate(divide="ignore", invalid="ignore"):
        along = origin[0] / (origin[0] - target[:, 0])
        y = origin[1] + along * (target[:, 1] - origin[1])
        z = origin[2] + along * (target[:, 2] - origin[2])
    inside = (np.abs(y) < part.half[1]) & (z > 0) & (z < 2 * part.half[2])
    return np.asarray((along > 0) & (along < 1) & inside)


def shadow_points(body: Body, backdrop: Backdrop) -> NDArray[np.float64]:
    """(N, 3) where the corners of the body throw their shadows on the floor, penumbra included."""
    tops = corners(body)
    tops = tops[tops[:, 2] > 1e-6]
    found = [np.zeros((0, 3))]
    for light in backdrop.lights if backdrop.shadows else ():
        if light.casts_shadow:
            away = tops[:, None] - lamp_corners(light)                      # (N, 8, 3)
            found.append((tops[:, None] - away * (tops[:, None, 2:] / away[..., 2:])).reshape(-1, 3))
    return np.maximum(np.concatenate(found), (-np.inf, -np.inf, 1e-3))      # a hair above the floor, as the feet are


def is_hidden(body: Body, panel: Body, backdrop: Backdrop, with_shadow: bool = True) -> bool:
    """Is the whole body (and its shadow) behind the panel, seen from the camera?

    The panel is convex, so it hides a body if it hides the corners of the boxes around the body's parts.
    """
    eye = np.asarray(backdrop.camera.position)
    points = corners(body)
    points[:, 2] = np.maximum(points[:, 2], 1e-3)
    if with_shadow:
        points = np.concatenate([points, shadow_points(body, backdrop)])
    return bool(_behind_panel(points, panel, eye).all())


def hidden_times(scene: Scene, mover: int, times: NDArray[np.float64], with_shadow: bool = True) -> NDArray[np.bool_]:
    """(N,) at which of the times the mover is in the world and wholly hidden by the scene's screen."""
    if scene.screen is None:
        return np.zeros(len(times), dtype=bool)
    answers = []
    for time in times:
        body = scene.bodies(float(time))[mover]
        screen = scene.screen.body(float(time))
        answers.append(body is not None and is_hidden(body, screen, scene.backdrop, with_shadow))
    return np.array(answers, dtype=bool)
