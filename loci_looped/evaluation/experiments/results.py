"""What an experiment found: one row per figure, with the id of its protocol, and curves; also as a file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.evaluation.metrics.statistics import Estimate
from loci_looped.evaluation.metrics.tracking import Moments
from loci_looped.utils.atomic import write_text
from loci_looped.utils.errors import LociError

KIND = "loci-looped results"
VERSION = 2
DIGITS = 6          # significant ones in the file: enough for any table, few enough to read


@dataclass(frozen=True)
class Case:
    """What a figure is about: an experiment with one model, one way of using its gate, under one condition."""

    experiment: str                     # tracking, ablation, surprise, violations, interruptions, imagination
    model: str
    gate: str = ""                      # empty for a model that has none
    condition: tuple[str, ...] = ()     # what else the experiment varies, such as ("0.2", "blackout")

    def under(self, *condition: str) -> Case:
        """The same, under a further condition."""
        return replace(self, condition=(*self.condition, *condition))

    def __str__(self) -> str:
        gate = (f"gate {self.gate}",) if self.gate else ()
        return ", ".join((self.experiment, self.model, *gate, *self.condition))


@dataclass(frozen=True)
class Row:
    """One figure. A value of None is not defined, for example because there was nothing to score."""

    experiment: str
    model: str
    gate: str
    condition: tuple[str, ...]
    metric: str
    value: float | None
    protocol: str
    unit: str = ""
    n: int | None = None
    low: float | None = None            # 95 % interval
    high: float | None = None
    std: float | None = None            # over the n values

    @property
    def case(self) -> Case:
        return Case(self.experiment, self.model, self.gate, self.condition)


@dataclass(frozen=True)
class Curve:
    """A quantity along an axis, for a figure, with a band around it where there is one."""

    experiment: str
    model: str
    gate: str
    condition: tuple[str, ...]
    metric: str
    x: list[float]
    y: list[float | None]
    low: list[float | None] = field(default_factory=list)
    high: list[float | None] = field(default_factory=list)
    n: list[int] = field(default_factory=list)

    @property
    def case(self) -> Case:
        return Case(self.experiment, self.model, self.gate, self.condition)


@dataclass
class Results:
    """Filled while an experiment runs, so that whatever has been found is kept when it is stopped."""

    experiment: str
    model: dict[str, Any]                                       # name and facts of what was evaluated
    settings: dict[str, Any]                                    # all that decides the figures, such as seeds
    command: str = ""
    rows: list[Row] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)           # clips that could not be scored, and why
    complete: bool = False

    def put(self, case: Case, metric: str, value: float | Moments | Estimate | None, protocol: str, unit: str = "", *,
            percent: bool = False, n: int | None = None, interval: tuple[float, float] | None = None) -> None:
        """Add a figure; shares are kept in percent where that is how people speak of them."""
        factor = 100.0 if percent else 1.0
        std: float | None = None
        low, high = interval or (None, None)
        mean: float | None
        if isinstance(value, Moments):
            mean, std, n = value.mean, value.std, value.n
        elif isinstance(value, Estimate):
            mean, low, high, n = value.value, value.low, value.high, value.n
        else:
            mean = value
        self.rows.append(Row(
            case.experiment, case.model, case.gate, case.condition, metric, _finite(mean, factor), protocol,
            "%" if percent else unit, n, _finite(low, factor), _finite(high, factor), _finite(std, factor),
        ))

    def put_curve(self, case: Case, metric: str, x: Iterable[float], y: Iterable[float | None],
                  n: Iterable[int] = ()) -> None:
        """Add a curve without a band."""
        self.curves.append(
            Curve(case.experiment, case.model, case.gate, case.condition, metric, list(x), list(y), n=list(n)))

    def put_mean_curve(self, case: Case, metric: str, x: NDArray[Any], rows: NDArray[np.floating]) -> None:
        """Mean and standard error over the columns of rows (T, N), NaN left out; None where there is nothing."""
        there = np.isfinite(rows)
        n = there.sum(axis=1)
        filled = np.where(there, rows, 0.0)
        mean = filled.sum(axis=1) / np.maximum(n, 1)
        spread = np.where(there, rows - mean[:, None], 0.0)
        error = np.sqrt((spread**2).sum(axis=1) / np.maximum(n - 1, 1) / np.maximum(n, 1))
        kept = n > 0
        self.curves.append(Curve(
            case.experiment, case.model, case.gate, case.condition, metric, [float(value) for value in x],
            _some(mean, kept), _some(mean - error, kept), _some(mean + error, kept), [int(k) for k in n],
        ))

    def warn(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def fail(self, sentence: str) -> None:
        if sentence not in self.failures:
            self.failures.append(sentence)

    def find(self, case: Case, metric: str) -> Row | None:
        return next((row for row in self.rows if row.metric == metric and row.case == case), None)

    def value(self, case: Case, metric: str) -> float | None:
        row = self.find(case, metric)
        return None if row is None else row.value

    def find_curve(self, case: Case, metric: str) -> Curve | None:
        return next((curve for curve in self.curves if curve.metric == metric and curve.case == case), None)

    def cases(self, experiment: str, metric: str) -> list[Case]:
        """Everything of which this metric was measured, in the order in which it was."""
        return [row.case for row in self.rows if row.experiment == experiment and row.metric == metric]

    def to_json(self) -> dict[str, Any]:
        from loci_looped import __version__

        return {
            "kind": KIND, "version": VERSION, "package": __version__, "experiment": self.experiment,
            "complete": self.complete and not self.failures, "command": self.command, "model": self.model,
            "settings": self.settings, "notes": self.notes, "failures": self.failures,
            "rows": [
                {name: part for name, part in asdict(row).items() if name == "value" or part not in (None, "", ())}
                for row in self.rows
            ],
            "curves": [asdict(curve) for curve in self.curves],
        }

    def write(self, path: Path) -> None:
        write_text(path, json.dumps(_rounded(self.to_json()), indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def read_results(path: Path) -> Results:
    """A file written by `loci evaluate --json`."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LociError(f"There is no file {path}: write one with `loci evaluate ... --json {path}`.") from None
    except (OSError, ValueError) as error:
        raise LociError(f"{path} is not a JSON file that can be read ({error}).") from error
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise LociError(f"{path} holds no results of `loci evaluate`: write them with --json FILE.")
    if found.get("version") != VERSION:
        raise LociError(
            f"{path} was written by another version of this package (layout {found.get('version')}, this one reads "
            f"{VERSION}): run `{found.get('command') or 'loci evaluate ...'} --json {path}` again."
        )
    try:
        return Results(
            experiment=str(found["experiment"]), model=dict(found["model"]), settings=dict(found["settings"]),
            command=str(found["command"]), rows=[Row(**_of_case(row)) for row in found["rows"]],
            curves=[Curve(**_of_case(curve)) for curve in found["curves"]],
            notes=list(found["notes"]), failures=list(found["failures"]), complete=bool(found["complete"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LociError(f"{path} lacks a part of the results ({error}): write it again.") from error


def _of_case(values: dict[str, Any]) -> dict[str, Any]:
    """What a file leaves out is filled in."""
    return {**values, "gate": values.get("gate", ""), "condition": tuple(values.get("condition", ()))}


def plain(value: float) -> str:
    """Three significant digits, without exponents where people would not use them."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "not defined"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    if abs(value) < 0.001:
        return f"{value:.1e}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def _finite(value: float | None, factor: float = 1.0) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value) * factor


def _some(values: NDArray[np.floating], kept: NDArray[np.bool_]) -> list[float | None]:
    return [float(value) if keep else None for value, keep in zip(values, kept, strict=True)]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
