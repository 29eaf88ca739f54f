"""Rays and solids, against the plainest oracle there is: is a point of the ray inside the solid or not?"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from loci_looped.data.render.raycast import interval, normal, rotate, solids, to_unit_frame
from loci_looped.data.scenes.bodies import (
    MOVER_SHAPES,
    SHAPES,
    Body,
    Part,
    PartKind,
    corners,
    hinged_screen,
    place,
    standing,
)

KINDS: tuple[PartKind, ...] = ("sphere", "box", "cylinder", "cone")


def is_inside(kind: PartKind, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(..., 3) membership in the unit solid, straight from its definition."""
    x, y, z = np.moveaxis(points, -1, 0)
    radius = np.hypot(x, y)
    return {
        "sphere": radius**2 + z**2 <= 1,
        "box": np.abs(points).max(axis=-1) <= 1,
        "cylinder": (radius <= 1) & (np.abs(z) <= 1),
        "cone": (np.abs(z) <= 1) & (radius <= (1 - z) / 2),
    }[kind]


def random_rays(count: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Origins around the solid and directions roughly towards it, steep and flat ones among them."""
    random = np.random.default_rng(seed)
    origins = random.normal(size=(3, count))
    origins *= 4 / np.sqrt((origins**2).sum(axis=0))
    aims = random.uniform(-1.2, 1.2, size=(3, count))
    return origins.astype(np.float32), (aims - origins).astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_interval_is_where_the_ray_is_inside(kind: PartKind) -> None:
    origins, directions = random_rays(2000, seed=1)
    enter, leave = interval(kind, tuple(origins), tuple(directions))
    steps = np.linspace(0, 3, 601)[:, None]                                             # (S, 1)
    points = origins.T[None] + steps[..., None] * directions.T[None]                    # (S, N, 3)
    truth = is_inside(kind, points.astype(np.float64))
    with np.errstate(invalid="ignore"):
        told = (enter < leave) & (steps >= enter) & (steps <= leave)
        near_edge = (np.abs(steps - enter) < 2e-3) | (np.abs(steps - leave) < 2e-3)     # rounding at the surface
    wrong = (truth != told) & ~near_edge
    grazing = wrong.any(axis=0).sum()
    assert truth.any(axis=0).sum() > 500
    assert grazing <= 4, f"{grazing} of 2000 rays disagree with the definition of the {kind}"


@pytest.mark.parametrize("kind", KINDS)
def test_normals_point_out_of_the_surface(kind: PartKind) -> None:
    origins, directions = random_rays(3000, seed=2)
    enter, leave = interval(kind, tuple(origins), tuple(directions))
    with np.errstate(invalid="ignore"):
        met = (leave - enter) > 0.05
    points = (origins + enter * directions)[:, met]
    outward = np.stack(normal(kind, tuple(points)))
    outward /= np.sqrt((outward**2).sum(axis=0))
    assert met.sum() > 800
    assert ((outward * directions[:, met]).sum(axis=0) < 1e-3).mean() > 0.99            # it faces the ray that met it
    assert not is_inside(kind, (points + 0.02 * outward).T.astype(np.float64)).any()
    assert is_inside(kind, (points - 0.02 * outward).T.astype(np.float64)).mean() > 0.98     # all but edges


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_to_unit_undoes_to_world(axis: str) -> None:
    body = Body((Part("cylinder", (0.2, 0.5, 0.9), (0.1, -0.3, 0.2), axis=axis),), (1, 2, 3), (1.0, -2.0, 0.5),     # type: ignore[arg-type]
                hinged_screen((0, 0, 0), 0, 0, 1, 1, 30, 20).rotation, scale=0.7)
    placed = place(body, body.parts[0])
    assert np.allclose(placed.to_world @ placed.to_unit, np.eye(3))
    tip = placed.to_world @ np.array([0, 0, 1.0]) + placed.offset           # the top cap's middle, seen in the body
    along = body.rotation.T @ (tip - placed.offset)
    assert np.allclose(along, 0.7 * np.array(body.parts[0].half) * (np.array(["x", "y", "z"]) == axis))
    (solid,) = solids(body)
    back = to_unit_frame(solid, tuple(tip.astype(np.float32)[:, None]))
    assert np.allclose(np.concatenate(back), [0, 0, 1], atol=1e-5)


def test_rotate_is_a_matrix_product() -> None:
    random = np.random.default_rng(0)
    matrix, vectors = random.normal(size=(3, 3)).astype(np.float32), random.normal(size=(3, 7)).astype(np.float32)
    matrix[1, 2] = matrix[0, 0] = 0
    assert np.allclose(np.stack(rotate(matrix, tuple(vectors))), matrix @ vectors, atol=1e-6)
    matrix[1] = 0
    assert np.array_equal(rotate(matrix, tuple(vectors))[1], np.zeros(7, dtype=np.float32))


@pytest.mark.parametrize("shape", MOVER_SHAPES)
def test_shapes_fill_their_extents_and_stand_on_the_floor(shape: str) -> None:
    body = standing(shape, (0, 0, 0), 0.5, 0.0, 0.0)
    low, high = corners(body).min(axis=0), corners(body).max(axis=0)
    assert abs(low[2]) < 0.02 and (high - low)[2] == pytest.approx(2 * body.origin[2], abs=0.02)
    assert np.allclose(low[:2], -high[:2], atol=0.03)
    assert len(SHAPES[shape]) >= 1
