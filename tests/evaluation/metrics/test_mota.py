"""MOTA equals py-motmetrics, the library behind the paper's numbers, event for event."""

import warnings

import motmetrics
import numpy as np
import pytest

from loci_looped.evaluation.metrics.mota import MotCounts, clear_mot, total


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Objects and slots that wander, come and go, and often meet, so that switches and gaps happen."""
    generator = np.random.default_rng(seed)
    frames, objects, slots = (int(generator.integers(1, most)) for most in (30, 6, 6))
    paths = generator.normal(size=(objects, 2)) + generator.normal(scale=0.2, size=(frames, objects, 2)).cumsum(axis=0)
    guesses = np.empty((frames, slots, 2))
    for slot in range(slots):
        follow = generator.integers(objects, size=frames)
        follow[generator.random(frames) < 0.8] = generator.integers(objects)
        guesses[:, slot] = paths[np.arange(frames), follow]
    guesses += generator.normal(scale=0.3, size=guesses.shape)
    distances = np.linalg.norm(paths[:, :, None] - guesses[:, None], axis=-1)
    distances[distances > generator.uniform(0.3, 2)] = np.nan
    return distances, generator.random((frames, objects)) < 0.85, generator.random((frames, slots)) < 0.85


def by_motmetrics(distances: np.ndarray, objects: np.ndarray, hypotheses: np.ndarray) -> motmetrics.MOTAccumulator:
    accumulator = motmetrics.MOTAccumulator(auto_id=True)
    for frame, there, guesses in zip(distances, objects, hypotheses, strict=True):
        accumulator.update(np.flatnonzero(there), np.flatnonzero(guesses), frame[there][:, guesses])
    return accumulator


def test_two_hundred_random_cases_equal_motmetrics() -> None:
    cases = [random_case(seed) for seed in range(200)]
    names = ["mota", "recall", "precision", "num_misses", "num_false_positives", "num_switches", "num_objects"]
    names.append("num_matches")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = motmetrics.metrics.create().compute_many(
            [by_motmetrics(*case) for case in cases], metrics=names, names=list(range(200)), generate_overall=True
        )
    ours = [clear_mot(*case) for case in cases]
    for seed, counts in enumerate(ours):
        row = table.loc[seed]
        assert counts.misses == row.num_misses, seed
        assert counts.false_positives == row.num_false_positives, seed
        assert counts.switches == row.num_switches, seed
        assert counts.matches == row.num_matches, seed
        assert counts.objects == row.num_objects, seed
        for name in ("mota", "recall", "precision"):
            # Mistakes over no object are minus infinity there and not a number here: MOTA is not defined.
            expected = row[name] if np.isfinite(row[name]) else np.nan
            assert getattr(counts, name) == pytest.approx(expected, nan_ok=True), (seed, name)
    assert total(ours).mota == pytest.approx(table.loc["OVERALL"].mota)
    assert total(ours).switches > 100                               # the cases are hard enough to mean something


def test_a_pair_is_kept_if_it_can_be_and_a_swap_costs_two_switches() -> None:
    near, far = 0.1, 0.2
    straight = np.array([[near, far], [far, near]])
    crossed = straight[::-1]
    there = np.ones((2, 2), bool)
    kept = clear_mot(np.stack([straight, crossed]), there, there)
    assert (kept.switches, kept.mota) == (0, 1.0) and kept.distance / kept.matches == pytest.approx(0.15)
    impossible = np.stack([straight, np.where(crossed == far, np.nan, crossed)])
    swapped = clear_mot(impossible, there, there)
    assert (swapped.switches, swapped.mota) == (2, 0.5)


def test_more_pairs_go_before_nearer_pairs() -> None:
    frame = np.array([[[0.01, 0.9], [0.02, np.nan]]])
    there = np.ones((1, 2), bool)
    assert clear_mot(frame, there, there).misses == 0


def test_counts_add_up_and_nothing_is_not_a_number() -> None:
    one = MotCounts(objects=10, matches=7, switches=1, misses=2, false_positives=3, distance=0.8)
    assert (one + one).mota == one.mota == pytest.approx(0.4)
    assert one.recall == 0.8 and one.precision == pytest.approx(8 / 11)
    assert np.isnan(MotCounts().mota)
