"""The few statistics the experiments need: t-tests, correlation, bootstrap intervals, pairwise accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class TTest:
    """Is the first mean larger? `one_sided` is the p-value of exactly that, `two_sided` of any difference."""

    t: float
    degrees: float
    two_sided: float
    one_sided: float
    effect: float              # Cohen's d, the difference in pooled standard deviations
    n_first: int
    n_second: int

    def __str__(self) -> str:
        sizes = f"n = {self.n_first}, {self.n_second}"
        return f"t({self.degrees:.4g}) = {self.t:.2f}, one-sided p = {self.one_sided:.3g} ({sizes})"


@dataclass(frozen=True)
class Correlation:
    r: float
    degrees: int
    two_sided: float

    def __str__(self) -> str:
        return f"r({self.degrees}) = {self.r:.2f}, p = {self.two_sided:.3g}"


@dataclass(frozen=True)
class Estimate:
    """A value with its bootstrap interval."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] (n = {self.n})"


def sample(values: ArrayLike, name: str, at_least: int) -> Floats:
    """A flat float64 array that is fit for a test, or a sentence that says why not."""
    array = np.asarray(values, dtype=np.float64).ravel()
    if len(array) < at_least:
        raise LociError(f"The {name} has {len(array)} values, but {at_least} or more are needed: evaluate more clips.")
    broken = int((~np.isfinite(array)).sum())
    if broken:
        raise LociError(f"The {name} has {broken} of {len(array)} values that are not numbers: mend them first.")
    return array


def t_test(first: ArrayLike, second: ArrayLike, equal_variances: bool = True) -> TTest:
    """Two independent samples; Student's test (the paper's), or Welch's where the variances may differ."""
    a, b = sample(first, "first sample", 2), sample(second, "second sample", 2)
    spread_a, spread_b = a.var(ddof=1), b.var(ddof=1)
    pooled = ((len(a) - 1) * spread_a + (len(b) - 1) * spread_b) / (len(a) + len(b) - 2)
    if pooled == 0:
        raise LociError("Both samples are constant, so a t-test says nothing: there is no spread to compare with.")
    difference = float(a.mean() - b.mean())
    if equal_variances:
        degrees = float(len(a) + len(b) - 2)
        error = math.sqrt(pooled * (1 / len(a) + 1 / len(b)))
    else:
        part_a, part_b = spread_a / len(a), spread_b / len(b)
        degrees = float((part_a + part_b) ** 2 / (part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1)))
        error = math.sqrt(part_a + part_b)
    t = difference / error
    return TTest(
        t=t,
        degrees=degrees,
        two_sided=float(2 * stdtr(degrees, -abs(t))),
        one_sided=float(stdtr(degrees, -t)),
        effect=difference / math.sqrt(pooled),
        n_first=len(a),
        n_second=len(b),
    )


def pearson(first: ArrayLike, second: ArrayLike) -> Correlation:
    """Linear correlation of paired values."""
    x, y = sample(first, "first series", 3), sample(second, "second series", 3)
    if len(x) != len(y):
        raise LociError(f"A correlation needs pairs, but the series have {len(x)} and {len(y)} values.")
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float((x**2).sum()) * float((y**2).sum()))
    if scale == 0:
        raise LociError("One of the series is constant, so its correlation with the other is not defined.")
    r = min(1.0, max(-1.0, float((x * y).sum()) / scale))
    degrees = len(x) - 2
    t = math.inf if abs(r) == 1 else abs(r) * math.sqrt(degrees / (1 - r * r))
    return Correlation(r, degrees, float(2 * stdtr(degrees, -t)))


def bootstrap(
    statistic: Callable[[NDArray[np.int64]], float], n: int, seed: int = 0, draws: int = 10_000, level: float = 0.95
) -> Estimate:
    """Percentile interval of a statistic of n units, which is called with the indices of each resample."""
    if n < 1:
        raise LociError("There is nothing to resample: the set is empty.")
    generator = np.random.default_rng(seed)
    values = np.array([statistic(generator.integers(n, size=n)) for _ in range(draws)])
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(statistic(np.arange(n))), float(low), float(high), n)


def pairwise_accuracy(violations: ArrayLike, controls: ArrayLike, seed: int = 0, draws: int = 10_000) -> Estimate:
    """Share of matched pairs in which the violation surprises more than its control; a tie counts half."""
    strange, usual = sample(violations, "violation sample", 1), sample(controls, "control sample", 1)
    if len(strange) != len(usual):
        raise LociError(
            f"Pairwise accuracy needs matched pairs, but there are {len(strange)} violations and {len(usual)} controls."
        )
    wins = (strange > usual) + 0.5 * (strange == usual)
    return bootstrap(lambda chosen: float(wins[chosen].mean()), len(wins), seed, draws)
