"""Pictures and their masks: every pixel that shows a body is in its visible mask, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loci_looped.data.render.draw import draw, empty, quantised
from loci_looped.data.scenes.backdrop import Backdrop, Floor
from loci_looped.data.scenes.bodies import COLOURS, Body, hinged_screen, standing
from loci_looped.data.scenes.camera import Camera
from loci_looped.utils.errors import LociError

SIZE = (80, 120)
BODIES: list[Body] = [
    standing("sphere", COLOURS["red"], 0.35, -0.6, -0.9),
    standing("cube", COLOURS["blue"], 0.35, -1.5, 0.9, yaw=30),
    hinged_screen(COLOURS["yellow"], 0.2, 0.0, 0.85, 0.7, yaw=10, angle=0),
    standing("toy", COLOURS["green"], 0.5, -1.9, -2.2),
    standing("cone", COLOURS["cyan"], 0.3, -1.0, 0.0),
]


def test_camera_agrees_with_the_published_projection() -> None:
    """The formula of the data specification, typed in again with its own rounded constants."""
    for x, y, z in [(-4.0, 0.0, 0.0), (0.2, 0.85, 0.0), (-1.45, -3.8, 0.35), (1.0, 0.4, 0.9)]:
        depth = -0.9397 * (x - 5.2658) - 0.3420 * (z - 2.4625)
        u = 240 + 525 * y / depth
        v = 160 - 525 * (-0.3420 * (x - 5.2658) + 0.9397 * (z - 2.4625)) / depth
        row, column, found = Camera().project(np.array([x, y, z]), (320, 480))
        assert (row, column, found) == pytest.approx((v - 0.5, u - 0.5, depth), abs=0.02)
        small = Camera().project(np.array([x, y, z]), (40, 60))
        assert (small[:2] + 0.5) * 8 == pytest.approx([v, u], abs=0.02)


def test_rays_pass_through_what_is_projected() -> None:
    camera = Camera()
    rays = camera.rays((40, 60), samples=3)
    point = np.asarray(camera.position) + 6.0 * rays[:, 3 * 11 + 1, 3 * 50 + 1]
    assert camera.project(point, (40, 60)) == pytest.approx([11, 50, 6], abs=1e-4)


def test_a_sphere_is_where_geometry_puts_it() -> None:
    """The silhouette of a sphere: rays whose distance from its centre is below its radius."""
    camera, centre, radius = Camera(), np.array([-0.7, 0.8, 0.4]), 0.4
    picture = draw(Backdrop(), [standing("sphere", COLOURS["red"], radius, -0.7, 0.8)], SIZE)
    rays = camera.rays(SIZE, 1).astype(np.float64).reshape(3, -1).T
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    towards = centre - np.asarray(camera.position)
    away = np.linalg.norm(np.cross(np.broadcast_to(towards, rays.shape), rays), axis=1).reshape(SIZE)
    clear = np.abs(away - radius) > 1e-3
    assert np.array_equal(picture.object_masks[0][clear], (away < radius)[clear])
    assert np.array_equal(picture.visible_masks, picture.object_masks)


def plain() -> Backdrop:
    return replace(Backdrop(), shadows=False)


@pytest.mark.parametrize("size", [(32, 48), (40, 60), (80, 120), (33, 50)])
def test_visible_masks_are_the_pixels_that_differ_from_the_empty_stage(size: tuple[int, int]) -> None:
    """Without shadows and anti-aliasing, exactly."""
    picture = draw(plain(), BODIES, size, samples=1)
    differs = (picture.image != empty(plain(), size, samples=1)).any(axis=-1)
    assert np.array_equal(picture.visible_masks.any(axis=0), differs)


def test_masks_and_samples() -> None:
    """Masks ask the centre of a pixel, so anti-aliasing does not change them; visible ones never overlap."""
    one, three, five = (draw(Backdrop(), BODIES, SIZE, samples) for samples in (1, 3, 5))
    for other in (three, five):
        assert np.array_equal(one.visible_masks, other.visible_masks)
        assert np.array_equal(one.object_masks, other.object_masks)
    assert one.visible_masks.sum(axis=0).max() == 1
    assert not (one.visible_masks & ~one.object_masks).any()
    with pytest.raises(LociError, match="odd number of samples"):
        draw(Backdrop(), BODIES, SIZE, samples=2)


def test_whole_masks_are_those_of_the_body_alone() -> None:
    picture = draw(Backdrop(), BODIES, SIZE)
    for index, body in enumerate(BODIES):
        alone = draw(Backdrop(), [body], SIZE)
        assert np.array_equal(picture.object_masks[index], alone.object_masks[0])
        assert np.array_equal(alone.visible_masks, alone.object_masks)
    hidden = 4
    assert picture.object_masks[hidden].any() and not picture.visible_masks[hidden].any()
    assert picture.visible_samples[hidden] == 0


def test_the_order_of_the_bodies_does_not_matter() -> None:
    order = [3, 0, 4, 2, 1]
    first, second = draw(Backdrop(), BODIES, SIZE), draw(Backdrop(), [BODIES[index] for index in order], SIZE)
    assert np.array_equal(first.image, second.image)
    assert np.array_equal(first.visible_masks[order], second.visible_masks)


def test_a_shadow_darkens_the_floor_away_from_the_sun_only() -> None:
    ball = [standing("sphere", COLOURS["red"], 0.4, -1.0, 0.0)]
    lit, shaded = draw(plain(), ball, SIZE).image, draw(Backdrop(), ball, SIZE)
    darker = (shaded.image < lit - 1e-6).any(axis=-1) & ~shaded.object_masks[0]
    assert not (shaded.image > lit + 1e-6).any()
    assert darker.sum() > 20
    columns = np.nonzero(darker)[1]
    assert columns.mean() > shaded.positions[0, 1] + 2          # the sun is on the left, behind the camera
    assert abs(shaded.image - lit)[:, :40].max() == 0           # nothing changes far from it


def test_a_body_can_stand_in_the_shadow_of_another() -> None:
    behind = standing("sphere", COLOURS["yellow"], 0.2, -0.9, 0.35)
    tall = standing("cylinder", COLOURS["blue"], 0.6, -0.1, -0.3)
    alone, shaded = draw(Backdrop(), [behind], SIZE), draw(Backdrop(), [behind, tall], SIZE)
    both = alone.visible_masks[0] & shaded.visible_masks[0]
    assert both.sum() > 5
    assert shaded.image[both].mean() < alone.image[both].mean() - 0.05


def test_colours_and_grounds_are_adepts() -> None:
    image = empty(Backdrop(floor=Floor(yaw=20)), (320, 480)) * 255
    floor = image[170:230, 180:300]
    assert sorted({round(float(value), -1) for value in np.percentile(floor, (10, 90))}) == [120, 160]
    assert 130 <= image[20:100].mean() <= 150                    # the wall
    black = empty(Backdrop(floor=Floor(light=(0, 0, 0), dark=(0, 0, 0))), (320, 480), samples=1)
    assert np.flatnonzero(black[:, 240, 0] == 0)[0] in (113, 114)    # where the floor begins


@settings(max_examples=30, deadline=None)
@given(
    shape=st.sampled_from(("sphere", "cube", "cylinder", "cone")), size=st.floats(0.2, 0.6),
    x=st.floats(-2.5, 1.0), y=st.floats(-2.0, 2.0), yaw=st.floats(-180, 180), scale=st.sampled_from((1, 2, 4)),
)
def test_positions_lie_inside_convex_bodies(shape: str, size: float, x: float, y: float, yaw: float,
                                            scale: int) -> None:
    frame = (32 * scale, 48 * scale)
    picture = draw(plain(), [standing(shape, COLOURS["red"], size, x, y, yaw)], frame, samples=1)
    row, column = np.round(picture.positions[0]).astype(int)
    if 0 <= row < frame[0] and 0 <= column < frame[1]:
        assert picture.object_masks[0, row, column]


def test_sizes_agree() -> None:
    """The same scene at four sizes: masks cover the same share of the image, pictures shrink to one another."""
    big = draw(Backdrop(), BODIES, (320, 480))
    for factor in (2, 4, 8):
        small = draw(Backdrop(), BODIES, (320 // factor, 480 // factor))
        share, reference = small.object_masks.mean(axis=(1, 2)), big.object_masks.mean(axis=(1, 2))
        assert np.allclose(share, reference, rtol=0.2)
        shrunk = big.image.reshape(320 // factor, factor, 480 // factor, factor, 3).mean(axis=(1, 3))
        assert np.abs(shrunk - small.image).mean() < 0.01
        assert np.allclose((small.positions + 0.5) * factor, big.positions + 0.5, atol=0.01)


def test_bodies_around_and_behind_the_camera_do_no_harm() -> None:
    strange = [standing("cube", COLOURS["red"], 1.0, 5.2, 0.0), standing("sphere", COLOURS["red"], 0.4, 9.0, 0.0),
               standing("sphere", COLOURS["blue"], 0.4, -1.0, 30.0),
               hinged_screen(COLOURS["green"], 4.5, 0, 3, 1, 0, 60)]
    picture = draw(Backdrop(), strange, SIZE)
    assert np.isfinite(picture.image).all()
    assert not picture.object_masks[1].any() and not picture.object_masks[2].any()


def test_quantised_rounds_and_clips() -> None:
    image = np.array([[[0.0, 0.5, 1.0], [1.4, -0.2, 127.4 / 255]]], dtype=np.float32)
    assert quantised(image).tolist() == [[[0, 128, 255], [255, 0, 127]]]
    assert quantised(image, np.full_like(image, 1 / 255)).tolist() == [[[1, 129, 255], [255, 0, 128]]]
