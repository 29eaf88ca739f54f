"""Openings by occlusion, and how far imagination goes: against a model whose gates and places are known."""

from __future__ import annotations

import numpy as np
import pytest
from clairvoyant import clairvoyant, clip_of, spec_of

from loci_looped.evaluation.experiments.openings import BINS, in_bin, openings_by_occlusion, put_openings
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.experiments.rollout import LENGTHS, PAST, SEEN, judged, shut_after, straight_on
from loci_looped.evaluation.experiments.scoring import ScoredClip, watch_and_score

CASE = Case("tracking", "clairvoyant", "learned")


def watched() -> list[ScoredClip]:
    scored, failures = watch_and_score(clairvoyant(), [spec_of(clip_of(seed)) for seed in range(3)], "learned")
    assert not failures
    return scored


def test_every_share_of_hiding_falls_into_exactly_one_bin() -> None:
    shares = np.array([0, 1e-6, 0.1, 0.2, 0.21, 0.5, 0.8, 0.99, 1.0])
    assert np.sum([in_bin(shares, above, up_to) for _, above, up_to in BINS], axis=0).tolist() == [1] * len(shares)


def test_gates_that_shut_with_the_last_pixel_are_found_to_do_so() -> None:
    by_bin = dict(openings_by_occlusion(watched()))
    assert np.allclose(by_bin["0"], [0.5, 1.0]) and len(by_bin["0"])
    assert np.allclose(by_bin["0.4-0.6"], [0.5, 1.0]) and len(by_bin["0.4-0.6"])
    assert np.allclose(by_bin["1"], 0.0) and len(by_bin["1"])


def test_openings_are_put_for_every_bin_far_and_near() -> None:
    results = Results("tracking", {}, {})
    put_openings(results, CASE, watched())
    rows = {(row.condition[0], row.metric): row for row in results.rows}
    assert rows["occlusion 0", "position_gate"].value == 1 and rows["occlusion 1", "position_gate"].value == 0
    far, near = (rows[f"in sight, {place}", "position_gate"].n for place in ("far from the screen", "beside it"))
    assert far and near and far + near == rows["occlusion 0", "position_gate"].n


def test_a_straight_line_goes_on_as_it_went() -> None:
    past = np.stack([np.arange(6.0), 3 - 2 * np.arange(6.0)], axis=-1)[:, None]
    assert np.allclose(straight_on(past, 3)[:, 0], [[6, -9], [7, -11], [8, -13]])


def test_noise_around_a_line_is_averaged_by_least_squares() -> None:
    noisy = np.arange(6.0) + np.random.default_rng(0).normal(0, 0.1, 6)
    slope, start = np.polyfit(np.arange(6), noisy, 1)
    found = straight_on(np.stack([noisy, noisy], axis=-1)[:, None], 2)[:, 0, 0]
    assert np.allclose(found, start + slope * np.array([6, 7]))


def test_eyes_are_open_for_the_first_frames_only() -> None:
    frame = np.zeros(1)
    assert shut_after(SEEN, SEEN - 1, frame, None)[0] is frame
    assert shut_after(SEEN, SEEN, frame, None)[0] is None


@pytest.mark.parametrize("late", [0.0, 0.5])
def test_distances_are_those_of_the_guess_to_the_truth(late: float) -> None:
    """A model that falls behind by `late` pixels a frame once its eyes are shut."""
    clip = clip_of(0)
    truth = clip.truth
    assert truth is not None
    steps = SEEN + LENGTHS[-1]
    places = truth.positions[:steps].astype(np.float64)
    places[SEEN:, 0, 1] -= late * np.arange(1, steps - SEEN + 1)
    everywhere = np.ones(places.shape[:2], dtype=bool)
    errors = judged(clip, places, everywhere, ~everywhere).errors
    diagonal = np.hypot(*clip.size)
    for length in LENGTHS:
        assert len(errors[length, "imagined"]) == 1
        assert np.allclose(errors[length, "imagined"], late * length / diagonal)
        assert np.allclose(errors[length, "frozen"], 0.55 * length / diagonal, atol=1e-6)
        assert np.allclose(errors[length, "straight"], 0, atol=1e-6)


def test_who_was_not_well_seen_at_the_end_is_not_judged() -> None:
    clip = clip_of(0)
    truth = clip.truth
    assert truth is not None
    places = truth.positions[: SEEN + 5].astype(np.float64)
    present = np.ones(places.shape[:2], dtype=bool)
    present[SEEN - PAST, 0] = False
    assert len(judged(clip, places, present, np.zeros_like(present)).errors[5, "imagined"]) == 0
