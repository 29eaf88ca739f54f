"""t-test and correlation equal scipy; the bootstrap covers the truth as often as it says, and repeats with its seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from loci_looped.evaluation.metrics.statistics import bootstrap, pairwise_accuracy, pearson, t_test
from loci_looped.utils.errors import LociError


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 60), m=st.integers(2, 60), equal=st.booleans())
def test_t_test_equals_scipy(seed: int, n: int, m: int, equal: bool) -> None:
    generator = np.random.default_rng(seed)
    a, b = generator.normal(0.3, 1, n), generator.normal(0, 2, m)
    ours = t_test(a, b, equal_variances=equal)
    theirs = stats.ttest_ind(a, b, equal_var=equal)
    assert (ours.t, ours.two_sided, ours.degrees) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df))
    assert ours.one_sided == pytest.approx(stats.ttest_ind(a, b, equal_var=equal, alternative="greater").pvalue)
    assert (ours.n_first, ours.n_second) == (n, m)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(3, 60), slope=st.floats(-3, 3))
def test_correlation_equals_scipy(seed: int, n: int, slope: float) -> None:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n)
    y = slope * x + generator.normal(size=n)
    ours, theirs = pearson(x, y), stats.pearsonr(x, y)
    assert (ours.r, ours.two_sided) == pytest.approx((theirs.statistic, theirs.pvalue), abs=1e-12)
    assert ours.degrees == n - 2


def test_the_papers_sentence_can_be_written() -> None:
    assert str(t_test([2, 3, 4], [1, 2, 3])) == "t(4) = 1.22, one-sided p = 0.144 (n = 3, 3)"
    assert t_test([2, 3, 4], [1, 2, 3]).effect == pytest.approx(1)
    assert str(pearson([1, 2, 3], [2, 4, 6])) == "r(1) = 1.00, p = 0"


def test_a_bootstrap_interval_covers_the_truth_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(200):
        values = np.random.default_rng(1000 + seed).normal(5, 1, 40)
        interval = bootstrap(lambda chosen, v=values: float(v[chosen].mean()), 40, seed=seed, draws=400)
        covered += interval.low <= 5 <= interval.high
    assert 180 <= covered <= 199                        # 95 % of 200, with room for chance


def test_pairwise_accuracy_counts_wins_and_half_ties() -> None:
    strange, usual = [2, 2, 1, 5], [1, 2, 3, 0]
    estimate = pairwise_accuracy(strange, usual, seed=3, draws=500)
    assert estimate.value == 0.625 and estimate.low <= 0.625 <= estimate.high and estimate.n == 4
    assert estimate == pairwise_accuracy(strange, usual, seed=3, draws=500)
    assert str(estimate).startswith("0.625 [")
    sure = pairwise_accuracy([2, 3], [1, 1])
    assert (sure.value, sure.low, sure.high) == (1, 1, 1)
    wide = pairwise_accuracy(np.r_[np.ones(20), np.zeros(20)], np.full(40, 0.5), draws=2000)
    normal = 1.96 * np.sqrt(0.25 / 40)                  # the binomial interval, an independent reckoning
    assert wide.low == pytest.approx(0.5 - normal, abs=0.03) and wide.high == pytest.approx(0.5 + normal, abs=0.03)


def test_bad_samples_are_told_in_a_sentence() -> None:
    with pytest.raises(LociError, match="second sample has 1 values, but 2 or more"):
        t_test([1, 2], [1])
    with pytest.raises(LociError, match="first sample has 1 of 3 values that are not numbers"):
        t_test([1, 2, np.nan], [1, 2])
    with pytest.raises(LociError, match="Both samples are constant"):
        t_test([1, 1], [2, 2])
    with pytest.raises(LociError, match="needs pairs"):
        pearson([1, 2, 3], [1, 2, 3, 4])
    with pytest.raises(LociError, match="is constant"):
        pearson([1, 2, 3], [1, 1, 1])
    with pytest.raises(LociError, match="matched pairs"):
        pairwise_accuracy([1, 2], [1])
    with pytest.raises(LociError, match="violation sample has 0 values"):
        pairwise_accuracy([], [])
    with pytest.raises(LociError, match="nothing to resample"):
        bootstrap(lambda chosen: 0.0, 0)
