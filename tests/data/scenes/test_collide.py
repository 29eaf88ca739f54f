"""The table of colliding things: what contacts may and may not change, and that pictures and truth agree."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loci_looped.data.formats import clevrer
from loci_looped.data.render.clips import make_clip
from loci_looped.data.render.collide_render import background, render_story
from loci_looped.data.scenes import collide
from loci_looped.data.scenes.collide import Thing
from loci_looped.data.scenes.rigid import Slider, Surface, bounce, slide, step, touch
from loci_looped.utils.errors import LociError
from loci_looped.viz.contact_sheet import contact_sheet

ELASTIC = Surface(restitution=1.0, contact_friction=0.0, floor_friction=0.0, damping=0.0)

sliders = st.builds(
    Slider, is_box=st.booleans(), half=st.just(0.2), x=st.floats(-0.3, 0.3), y=st.floats(-0.3, 0.3),
    angle=st.floats(0, math.pi), vx=st.floats(-3, 3), vy=st.floats(-3, 3), spin=st.floats(-5, 5),
)


def energy(*bodies: Slider) -> float:
    return sum((b.vx**2 + b.vy**2 + b.inertia * b.spin**2) / 2 for b in bodies)


def momentum(*bodies: Slider) -> tuple[float, float, float]:
    turning = sum(b.x * b.vy - b.y * b.vx + b.inertia * b.spin for b in bodies)
    return sum(b.vx for b in bodies), sum(b.vy for b in bodies), turning


@settings(max_examples=150, deadline=None)
@given(a=sliders, b=sliders, restitution=st.floats(0, 1), rub=st.floats(0, 0.5))
@example(a=Slider(False, 0.2, 0.0, 0.0), b=Slider(True, 0.2, 0.0, 0.25, angle=2.5, spin=-1.0), restitution=1.0, rub=0.5)
def test_contacts_keep_momentum_and_never_make_energy(a: Slider, b: Slider, restitution: float, rub: float) -> None:
    contact = touch(a, b)
    if contact is None:
        return
    before, had = momentum(a, b), energy(a, b)
    bounce(a, b, contact, Surface(restitution, rub))
    assert momentum(a, b) == pytest.approx(before, abs=1e-9)        # also the angular one
    assert energy(a, b) <= had + 1e-9
    if restitution == 1 and rub == 0:
        assert energy(a, b) == pytest.approx(had, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(a=sliders, b=sliders)
def test_elastic_contacts_without_rubbing_keep_energy(a: Slider, b: Slider) -> None:
    contact = touch(a, b)
    if contact is not None:
        had = energy(a, b)
        bounce(a, b, contact, ELASTIC)
        assert energy(a, b) == pytest.approx(had, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(a=sliders, b=sliders)
def test_touch_is_symmetric_and_pushing_apart_ends_it(a: Slider, b: Slider) -> None:
    there, back = touch(a, b), touch(b, a)
    assert (there is None) == (back is None)
    if there is None or back is None:
        return
    assert math.hypot(*there.normal) == pytest.approx(1) and there.depth == pytest.approx(back.depth, abs=1e-9)
    b.x, b.y = b.x + (there.depth + 1e-6) * there.normal[0], b.y + (there.depth + 1e-6) * there.normal[1]
    assert touch(a, b) is None


def test_known_contacts() -> None:
    disc, box = Slider(False, 0.2, 0.0, 0.0), Slider(True, 0.2, 0.39, 0.0)
    contact = touch(disc, box)
    assert contact is not None and contact.normal == pytest.approx((1, 0)) and contact.depth == pytest.approx(0.01)
    assert contact.point == pytest.approx((0.19, 0.0))
    assert touch(disc, Slider(True, 0.2, 0.41, 0.0)) is None
    # Turned by 45 degrees, the box reaches out to 0.2 * sqrt(2).
    assert touch(disc, Slider(True, 0.2, 0.47, 0.0, math.pi / 4)) is not None
    assert touch(disc, Slider(True, 0.2, 0.49, 0.0, math.pi / 4)) is None
    # A head-on elastic hit of equal bodies hands the velocity over.
    a, b = Slider(False, 0.2, 0.0, 0.0, vx=2.0), Slider(False, 0.2, 0.39, 0.0)
    contact = touch(a, b)
    assert contact is not None and bounce(a, b, contact, ELASTIC) == pytest.approx(2.0)
    assert (a.vx, b.vx) == pytest.approx((0.0, 2.0))


def test_the_floor_brakes_as_it_says() -> None:
    surface = Surface(floor_friction=0.5, damping=0.0)
    body = Slider(False, 0.2, 0.0, 0.0, vx=1.0, spin=1.0)
    for _ in range(3000):
        slide(body, surface, 0.001)
    assert body.vx == 0 and body.spin == 0
    assert body.x == pytest.approx(1.0**2 / (2 * 0.5), abs=2e-3)      # v^2 / 2a


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_nothing_stays_inside_anything(seed: int) -> None:
    tale = collide.story(seed)
    assert 3 <= len(tale.things) <= 6 and 1 <= len(tale.collisions) <= 5
    assert len({thing.name for thing in tale.things}) == len(tale.things)
    for row in tale.poses[::4]:
        bodies = [Slider(thing.shape == "cube", 0.2, *pose[:3]) for thing, pose in zip(tale.things, row, strict=True)]
        hits = step(bodies, Surface(), 0.0)
        depths = [touch(bodies[i], bodies[j]) for i, j, _ in hits]
        assert all(depth is None or depth.depth < 0.02 for depth in depths)


def test_collisions_are_where_the_velocities_change() -> None:
    tale = collide.run([Thing("sphere", "red", "metal", (0.0, -1.0), velocity=(0.0, 2.0)),
                        Thing("cube", "blue", "rubber", (0.0, 0.0))], 60)
    ((frame, one, other),) = tale.collisions
    assert (one, other) == (0, 1) and 5 < frame < 15
    assert (tale.poses[: frame - 1, 1, 3:5] == 0).all() and tale.poses[frame, 1, 4] > 0.5
    gap = tale.poses[frame - 1, 1, 1] - tale.poses[frame - 1, 0, 1]
    assert 0.4 <= gap < 0.4 + 2 * 2 / collide.FPS


def test_same_seed_same_bytes() -> None:
    def fingerprint(seed: int) -> str:
        clip = make_clip("collide", seed, (40, 60), range(40, 60, 5))
        return hashlib.sha256(clip.frames.tobytes()).hexdigest()[:16]

    assert fingerprint(3) == fingerprint(3) == "7d6a172c505d9ffc"
    assert fingerprint(4) != fingerprint(3)


def test_truth_agrees_with_the_picture() -> None:
    clip = make_clip("collide", 7, (80, 120), range(0, 128, 16))
    truth = clip.truth
    assert truth is not None
    assert not (truth.visible_masks & ~truth.object_masks).any()
    assert (truth.visible_masks.sum(axis=1) <= 1).all()
    assert (clip.background == background((80, 120))).all()
    off = np.abs(clip.frames.astype(int) - clip.background).max(axis=-1)       # (T, H, W)
    seen = np.asarray(truth.visible_masks.any(axis=1))
    assert (off[seen] > 12).mean() > 0.8          # things differ from the table
    assert np.median(off[~seen]) <= 2             # the table is the table, up to grain and shadows
    inside = truth.in_image() & (truth.object_masks.sum(axis=(2, 3)) > 12)
    for step_, index in np.argwhere(inside):
        row, column = np.rint(truth.positions[step_, index]).astype(int).clip(0, (79, 119))
        assert truth.object_masks[step_, index, row, column]


def test_one_background_for_all_in_clevrers_greys() -> None:
    empty = background((320, 480)).astype(int)
    assert empty.min() >= 108 and empty.max() <= 145
    assert empty[-40:, :60].mean() > empty[:40, -60:].mean()                   # brighter at the lower left
    assert empty[:20, :20, 2].mean() > empty[:20, :20, 0].mean() + 2           # bluish at the upper left
    one, other = (make_clip("collide", seed, (40, 60), range(seed, seed + 1)) for seed in (1, 9))
    assert (one.background == other.background).all()


def test_written_as_clevrer_and_read_again(tmp_path: Path) -> None:
    tale = collide.story(11)
    clip = render_story(tale, (40, 60), seed=11, samples=1)
    clevrer.write(tmp_path, 10_011, clip, collide.FPS, tale.motion(), lossless=True)
    library = clevrer.open_library(tmp_path)
    back = clevrer.read(library, 10_011)
    assert back.notes == () and back.clip.truth is not None and clip.truth is not None
    assert (back.clip.frames == clip.frames).all() and (back.clip.background == clip.background).all()
    assert (back.clip.truth.visible_masks == clip.truth.visible_masks).all()
    assert (back.clip.truth.object_masks == clip.truth.object_masks).all()
    np.testing.assert_allclose(back.clip.truth.positions, clip.truth.positions, atol=1e-3)
    assert {e for e in back.clip.events if e.kind == "collision"} == {e for e in clip.events if e.kind == "collision"}
    # Masks drawn again from the annotation alone are the true ones, pixel by pixel but for the edges.
    (tmp_path / "proposals/proposal_10011.json").unlink()
    drawn = clevrer.read(clevrer.open_library(tmp_path), 10_011).clip.truth
    assert drawn is not None and (drawn.visible_masks != clip.truth.visible_masks).mean() < 1e-4


def test_bad_requests_are_told() -> None:
    with pytest.raises(LociError, match="Seeds"):
        collide.story(-1)
    with pytest.raises(LociError, match="at least one frame"):
        make_clip("collide", 0, (40, 60), range(0))
    with pytest.raises(LociError, match="2x60"):
        make_clip("collide", 0, (2, 60), range(1))


def test_contact_sheet_shows_frames_and_masks() -> None:
    clip = make_clip("collide", 7, (40, 60), range(0, 128, 32), samples=1)
    sheet = contact_sheet([clip, clip], columns=4, width=800)
    assert sheet.shape[1] == 800 and sheet.dtype == np.uint8
    half = len(sheet) // 2
    assert (sheet[:half] == sheet[half:]).all()
    assert len(contact_sheet([clip], columns=4, width=800, masks=False)) < half
    with pytest.raises(LociError, match="at least one clip"):
        contact_sheet([])
