"""References for imagined balls: each knows exactly what it should, and the simulator is the world itself."""

from __future__ import annotations

import numpy as np
import pytest

from loci_looped.configs.experiments import SEEN
from loci_looped.data.scenes.balls import CANVAS, sequence_seed, simulate
from loci_looped.evaluation.experiments.ball_references import (
    FROZEN,
    REFERENCES,
    SIMULATOR,
    imagined_by,
    radius_of,
    straight_on,
    with_walls,
)
from loci_looped.evaluation.experiments.imagination import ImaginedClip, put_imagination
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.metrics.balls import energy_kept, share_in_box

STEPS = 20


def film(number: int = 0, blur: float = 0.0, slots: int = 3) -> ImaginedClip:
    """A film of the collision world whose percepts are the truth, blurred, in other slots than the balls' order."""
    balls = simulate("interaction", sequence_seed("interaction", "val", number), SEEN + STEPS)
    truth = balls.positions[..., ::-1] / CANVAS
    seen = truth[:SEEN, [2, 0, 1]] + blur * np.random.default_rng(number).standard_normal((SEEN, 3, 2))
    return ImaginedClip(
        model="m", mode="imagine", source="s", seed=number, positions=truth[SEEN:][:, [2, 0, 1]],
        present=np.arange(3) < slots, truth=truth[SEEN:], seen=seen, seen_truth=truth[:SEEN], released=None,
        released_truth=truth[SEEN:],
    )


def distance(clip: ImaginedClip, steps: int = 10) -> float:
    return float(clip.distances()[:steps].sum())


def test_the_simulator_with_perfect_eyes_goes_the_way_of_the_balls() -> None:
    errors = [distance(clip) for clip in imagined_by(SIMULATOR, [film(n) for n in range(8)], "interaction")]
    assert np.median(errors) < 0.05


def test_the_simulator_is_as_good_as_its_eyes() -> None:
    films = [film(number) for number in range(6)]
    sharp, dim = (
        np.mean([distance(clip) for clip in imagined_by(SIMULATOR, [film(n, blur) for n in range(6)], "interaction")])
        for blur in (0.002, 0.02)
    )
    frozen = np.mean([distance(clip) for clip in imagined_by(FROZEN, films, "interaction")])
    assert sharp < dim < frozen


def test_a_film_with_a_missed_ball_has_no_simulation() -> None:
    assert imagined_by(SIMULATOR, [film(0, slots=2)], "interaction") == []
    assert len(imagined_by(FROZEN, [film(0, slots=2)], "interaction")) == 1


def test_straight_on_goes_through_walls_and_folding_brings_it_back() -> None:
    path = np.array([[[0.70, 0.5]], [[0.75, 0.5]]])
    free = straight_on(path, 6)
    assert free[:, 0, 0] == pytest.approx([0.80, 0.85, 0.90, 0.95, 1.0, 1.05])
    assert with_walls(free, 0.125)[:, 0, 0] == pytest.approx([0.80, 0.85, 0.85, 0.80, 0.75, 0.70])
    assert np.allclose(with_walls(free, 0.125)[:, 0, 1], 0.5)


def test_the_true_film_keeps_its_energy_and_stays_in_its_box() -> None:
    clip = film(3)
    assert energy_kept(clip.truth, clip.truth) == 1
    assert energy_kept(0.5 * clip.truth, clip.truth) == pytest.approx(0.25)
    assert share_in_box(clip.truth, radius_of("interaction"), 1 / 64) == 1
    out = clip.truth.copy()
    out[:5, 1] = 0.99
    assert share_in_box(out, radius_of("interaction"), 1 / 64) == pytest.approx(0.75)


def test_every_reference_has_its_row_in_the_table() -> None:
    results = Results("imagination", {"name": "m"}, {})
    for reference in REFERENCES:
        case = Case("imagination", reference.name).under("interaction", reference.knows)
        put_imagination(results, case, imagined_by(reference, [film(0), film(1)], "interaction"), 0.125)
        for metric in ("distance_sum", "distance_at_10", "energy_kept", "in_box", "percept_error", "failed"):
            assert results.value(case, metric) is not None, (reference.name, metric)
    first = results.value(Case("imagination", "frozen ball").under("interaction", "true places"), "energy_kept")
    assert first == 0
