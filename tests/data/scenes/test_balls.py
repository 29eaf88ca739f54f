"""The ball world against the written rules, worked out a second time here in plain Python numbers."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loci_looped.configs.scenes import SPLITS, BallsScenario
from loci_looped.data.clip import Clip
from loci_looped.data.render import sprite
from loci_looped.data.render.clips import make_clip
from loci_looped.data.scenes import balls
from loci_looped.utils.errors import LociError

SEEDS = st.integers(0, 2**32 - 1)


def by_the_rules(scenario: str, seed: int, frames: int) -> tuple[list[list[tuple[float, float]]], list[str]]:
    """Positions per frame and ball, and colour names, straight from the description: no arrays, no shared code."""
    count, radius, layered = {"interaction": (3, 8, False), "occlusion": (3, 8, False), "twolayer": (6, 8, True),
                              "twolayerdense": (16, 5, True)}[scenario]
    palette = ["blue", "red", "yellow", "fuchsia", "aqua"]
    draw = np.random.RandomState(seed)
    if scenario == "interaction":
        colours = [palette[i] for i in draw.randint(0, 5, size=3)]
    elif scenario == "occlusion":
        colours = [palette[i] for i in draw.permutation(5)[:3]]
    else:
        colours = ["blue"] * (count // 2) + ["red"] * (count // 2)
    layer = [i * 2 // count if layered else 0 for i in range(count)]
    velocity = []
    for dx, dy in draw.standard_normal((count, 2)).tolist():
        velocity.append([3 * dx / math.hypot(dx, dy), 3 * dy / math.hypot(dx, dy)])
    place: list[list[float]] = []
    for _ in range(count):
        while True:
            a, b = draw.random_sample(2).tolist()
            new = [radius + a * (64 - 2 * radius), radius + b * (64 - 2 * radius)]
            if scenario == "occlusion" or all(math.dist(new, old) >= 2 * radius for old in place):
                place.append(new)
                break
    story = [[(x, y) for x, y in place]]
    for _ in range(frames - 1):
        for _ in range(10):
            for x, v in zip(place, velocity, strict=True):
                for axis in (0, 1):
                    next_frame = x[axis] + 0.1 * v[axis]
                    if next_frame - radius < 0:
                        v[axis] = abs(v[axis])
                    if next_frame + radius > 64:
                        v[axis] = -abs(v[axis])
            trial = [[x[0] + 0.1 * v[0], x[1] + 0.1 * v[1]] for x, v in zip(place, velocity, strict=True)]
            for i in range(count):
                for j in range(i):
                    gap = math.dist(trial[i], trial[j])
                    if scenario == "occlusion" or layer[i] != layer[j] or gap >= 2 * radius:
                        continue
                    w = [(trial[i][0] - trial[j][0]) / gap, (trial[i][1] - trial[j][1]) / gap]
                    change = sum(w[k] * (velocity[j][k] - velocity[i][k]) for k in (0, 1))
                    for k in (0, 1):        # equal masses: 2 m / (m + m) = 1
                        velocity[i][k] += w[k] * change
                        velocity[j][k] -= w[k] * change
            for x, v in zip(place, velocity, strict=True):
                x[0] += 0.1 * v[0]
                x[1] += 0.1 * v[1]
        story.append([(x, y) for x, y in place])
    return story, colours


@pytest.mark.parametrize("scenario", balls.SCENARIOS)
def test_positions_follow_the_written_rules(scenario: BallsScenario) -> None:
    for index in (0, 1, 199):
        seed = balls.sequence_seed(scenario, "test", index)
        story, colours = by_the_rules(scenario, seed, 100)
        ours = balls.simulate(scenario, seed)
        # Contacts multiply rounding errors, the more so the denser the box.
        np.testing.assert_allclose(ours.positions[:20], story[:20], atol=1e-9)
        if scenario != "twolayerdense":
            np.testing.assert_allclose(ours.positions, story, atol=1e-6)
        assert [balls.colour_name(colour) for colour in ours.colours] == colours


def test_seeds_of_the_splits_are_one_stream_each() -> None:
    released = np.random.RandomState(9).randint(0, 2**32 - 1, 200)
    assert [balls.sequence_seed("interaction", "test", i) for i in (0, 7, 199)] == released[[0, 7, 199]].tolist()
    firsts = {balls.sequence_seed(name, split, 0) for name in balls.SCENARIOS for split in SPLITS}
    assert len(firsts) == 12
    assert balls.sequence_seed("occlusion", "train", 0) == 1791095845     # the well-known first draw of RandomState(1)


def test_same_seed_same_bytes() -> None:
    def fingerprint(clip: Clip) -> str:
        assert clip.truth is not None
        return hashlib.sha256(clip.frames.tobytes() + clip.truth.visible_masks.tobytes()).hexdigest()[:16]

    assert fingerprint(make_clip("balls-interaction-test", 0)) == "056f31c1c2c803d1"
    assert fingerprint(make_clip("balls-occlusion", 5)) == fingerprint(make_clip("balls-occlusion", 5))
    assert fingerprint(make_clip("balls-occlusion", 5)) != fingerprint(make_clip("balls-occlusion", 6))


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, scenario=st.sampled_from(list(balls.SCENARIOS)))
def test_balls_stay_in_the_box_and_keep_their_energy(seed: int, scenario: BallsScenario) -> None:
    story = balls.simulate(scenario, seed, 60)
    energy = (story.velocities**2).sum(axis=(1, 2))
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    # A contact beside a wall may push a ball outwards for one sub-step; the fastest ball has all the energy.
    slack = math.sqrt(energy[0]) / balls.SUBSTEPS
    edge = story.radii[:, None]
    assert (story.positions >= edge - slack).all() and (story.positions <= balls.CANVAS - edge + slack).all()


@settings(max_examples=50, deadline=None)
@given(
    speeds=st.lists(st.floats(-5, 5), min_size=4, max_size=4),
    masses=st.lists(st.floats(0.5, 4), min_size=2, max_size=2),
    angle=st.floats(0, 2 * math.pi),
)
def test_a_contact_keeps_energy_and_momentum(speeds: list[float], masses: list[float], angle: float) -> None:
    before = np.array(speeds).reshape(2, 2)
    after, weight = before.copy(), np.array(masses)
    balls.exchange(after, weight, 1, 0, 16 * np.array([math.cos(angle), math.sin(angle)]))
    np.testing.assert_allclose(weight @ after, weight @ before, atol=1e-9)
    np.testing.assert_allclose(weight @ (after**2).sum(axis=1), weight @ (before**2).sum(axis=1), atol=1e-9)


def test_free_flight_between_walls_is_straight() -> None:
    place, speed, contacts = balls.run(
        np.array([[20.0, 30.0]]), np.array([[3.0, 0.0]]), np.array([8.0]), np.ones(1), [], 13
    )
    assert contacts == ()
    np.testing.assert_allclose(place[:, 0, 0], [20, 23, 26, 29, 32, 35, 38, 41, 44, 47, 50, 53, 56], atol=1e-9)
    assert (speed[:12] == [3.0, 0.0]).all() and (place[:, 0, 1] == 30).all()


@pytest.mark.parametrize("turn", ["left-right", "top-bottom", "transposed"])
def test_the_laws_have_the_symmetries_of_the_square(turn: str) -> None:
    """Which is why rehearsal may turn its diaries: neither gravity nor drift, and the box is square."""
    def turned(places: np.ndarray, centre: float) -> np.ndarray:
        x, y = places[..., 0], places[..., 1]
        return np.stack({"left-right": (2 * centre - x, y), "top-bottom": (x, 2 * centre - y),
                         "transposed": (y, x)}[turn], axis=-1)

    seen = balls.simulate("interaction", 5, 12)
    path, _, contacts = balls.run(
        turned(seen.positions[0], balls.CANVAS / 2), turned(seen.velocities[0], 0.0), seen.radii, seen.masses,
        balls.same_layer_pairs(seen.layers), 12,
    )
    assert contacts == seen.contacts and contacts
    assert np.allclose(path, turned(seen.positions, balls.CANVAS / 2), atol=1e-6)


def test_the_drawn_disc_has_its_measured_place_and_size() -> None:
    alone = sprite.alphas(np.array([[30.0, 41.5]]), 8.0, (64, 64))[0]
    rows, columns = np.mgrid[:64, :64]
    centre = (alone * rows).sum() / alone.sum(), (alone * columns).sum() / alone.sum()
    assert centre == pytest.approx((41.5 - 8 / 17, 30 - 8 / 17), abs=0.01)
    assert math.sqrt(alone.sum() / math.pi) == pytest.approx(8 * 16 / 17, abs=0.02)
    assert set(np.unique(np.rint(alone * 255) - alone * 255).round(9)) <= {0.0}


def test_truth_agrees_with_the_picture() -> None:
    clip = make_clip("balls-occlusion-test", 3)
    truth = clip.truth
    assert truth is not None and len(clip) == 100 and clip.size == (64, 64)
    assert len(set(truth.names)) == 3                                        # drawn without replacement
    assert not (truth.visible_masks & ~truth.object_masks).any()
    assert (truth.visible_masks.sum(axis=1) == truth.object_masks.any(axis=1)).all()
    outside = clip.frames[~np.asarray(truth.object_masks.any(axis=1))]
    assert outside.max() <= 255 * (1 - 0.5**3)                               # three rims, each below one half
    for ball in range(3):
        colour = np.array(balls.PALETTE[truth.names[ball].split()[0]])
        core = truth.visible_masks[:, ball] & (np.abs(clip.frames.astype(int) - colour).max(axis=-1) <= 1)
        assert core.sum() > 0.7 * truth.visible_masks[:, ball].sum()
        row, column = np.rint(truth.positions[:, ball]).astype(int).T
        assert truth.object_masks[np.arange(100), ball, row, column].all()
    # Balls 0 and 2 cross at some time: the one painted later has the smaller depth and the shared pixels.
    shared = truth.object_masks[:, 0] & truth.object_masks[:, 2]
    assert shared.any() and (truth.depths[:, 2] < truth.depths[:, 0]).all()
    assert not truth.visible_masks[:, 0][shared].any()


def test_contacts_become_events_of_both_balls() -> None:
    clip = make_clip("balls-interaction-test", 0)
    touches = [event for event in clip.events if event.kind == "collision"]
    assert touches and len(touches) % 2 == 0
    positions = clip.truth.positions                                          # type: ignore[union-attr]
    for first, second in zip(touches[::2], touches[1::2], strict=True):
        assert first.frame == second.frame and first.object != second.object
        gap = np.linalg.norm(positions[first.frame, first.object] - positions[first.frame, second.object])
        assert gap < 16 + 2 * math.sqrt(27)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: balls.simulate("billiard", 0), "interaction, occlusion"),
    (lambda: balls.sequence_seed("occlusion", "dev", 0), "train, val, test"),
    (lambda: make_clip("balls-occlusion-test", -1), "start at 0"),
    (lambda: make_clip("balls-occlusion", -1), "Seed -1"),
    (lambda: balls.simulate("occlusion", 0, 0), "0 frames"),
])
def test_bad_requests_are_told(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(LociError, match=words):
        call()
