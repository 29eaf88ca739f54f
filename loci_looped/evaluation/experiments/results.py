"""What an experiment found, as a file: every headline number under a stable key with the id of its protocol."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.evaluation.metrics.statistics import Estimate
from loci_looped.evaluation.metrics.tracking import Moments
from loci_looped.utils.atomic import write_text
from loci_looped.utils.errors import LociError

KIND = "loci-looped results"
VERSION = 1
DIGITS = 6          # significant ones in the file: enough for any table, few enough to read


@dataclass(frozen=True)
class Number:
    """A value with what belongs to it. None is a number that is not defined, for example with nothing to score."""

    value: float | None
    protocol: str
    unit: str = ""
    std: float | None = None        # over the n values
    n: int | None = None
    low: float | None = None        # 95 % interval
    high: float | None = None

    def __str__(self) -> str:
        """As a table shows it: 2.60 ± 2.79 (n = 5150)."""
        if self.value is None:
            return "not defined"
        text = plain(self.value)
        if self.std is not None:
            text += f" ± {plain(self.std)}"
        elif self.low is not None and self.high is not None:
            text += f" [{plain(self.low)}, {plain(self.high)}]"
        return text


@dataclass(frozen=True)
class Series:
    """A curve for a figure, with a band around it where there is one."""

    x: list[float]
    y: list[float | None]
    low: list[float | None] = field(default_factory=list)
    high: list[float | None] = field(default_factory=list)
    n: list[int] = field(default_factory=list)


@dataclass
class Results:
    """Filled while an experiment runs, so that whatever has been found is kept when it is stopped."""

    experiment: str
    subject: dict[str, Any]                                     # name and facts of what was evaluated
    settings: dict[str, Any]                                    # all that decides the numbers, such as seeds
    command: str = ""
    numbers: dict[str, Number] = field(default_factory=dict)
    series: dict[str, Series] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)           # clips that could not be scored, and why
    complete: bool = False

    def put(self, key: str, value: float | Moments | Estimate | None, protocol: str, unit: str = "", *,
            percent: bool = False, n: int | None = None, interval: tuple[float, float] | None = None) -> None:
        """Note a number; shares are kept in percent where that is how people speak of them."""
        factor = 100.0 if percent else 1.0
        unit = "%" if percent else unit
        if isinstance(value, Moments):
            low, high = interval or (None, None)
            self.numbers[key] = Number(_finite(value.mean, factor), protocol, unit, _finite(value.std, factor),
                                       value.n, _finite(low, factor), _finite(high, factor))
        elif isinstance(value, Estimate):
            self.numbers[key] = Number(_finite(value.value, factor), protocol, unit, None, value.n,
                                       _finite(value.low, factor), _finite(value.high, factor))
        else:
            low, high = interval or (None, None)
            self.numbers[key] = Number(_finite(value, factor), protocol, unit, None, n, _finite(low, factor),
                                       _finite(high, factor))

    def curve(self, key: str, x: NDArray[Any], rows: NDArray[np.floating]) -> None:
        """Mean and standard error over the columns of rows (T, N), NaN left out; None where there is nothing."""
        there = np.isfinite(rows)
        n = there.sum(axis=1)
        filled = np.where(there, rows, 0.0)
        mean = filled.sum(axis=1) / np.maximum(n, 1)
        spread = np.where(there, rows - mean[:, None], 0.0)
        error = np.sqrt((spread**2).sum(axis=1) / np.maximum(n - 1, 1) / np.maximum(n, 1))
        kept = n > 0
        self.series[key] = Series(
            _floats(x), _some(mean, kept), _some(mean - error, kept), _some(mean + error, kept), [int(k) for k in n],
        )

    def warn(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def fail(self, sentence: str) -> None:
        if sentence not in self.failures:
            self.failures.append(sentence)

    def value(self, key: str) -> float | None:
        found = self.numbers.get(key)
        return None if found is None else found.value

    def to_json(self) -> dict[str, Any]:
        from loci_looped import __version__

        return {
            "kind": KIND, "version": VERSION, "package": __version__, "experiment": self.experiment,
            "complete": self.complete and not self.failures, "command": self.command, "subject": self.subject,
            "settings": self.settings, "notes": self.notes, "failures": self.failures,
            "numbers": {
                key: {name: part for name, part in asdict(number).items() if part is not None and part != ""}
                | {"value": number.value} for key, number in self.numbers.items()
            },
            "series": {key: asdict(series) for key, series in self.series.items()},
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
        raise LociError(f"{path} is no JSON file that can be read ({error}).") from error
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise LociError(f"{path} holds no results of `loci evaluate`: write them with --json FILE.")
    if found.get("version") != VERSION:
        raise LociError(f"{path} has layout {found.get('version')}, this version of the package reads {VERSION}.")
    try:
        return Results(
            experiment=str(found["experiment"]), subject=dict(found["subject"]), settings=dict(found["settings"]),
            command=str(found["command"]),
            numbers={key: Number(**value) for key, value in found["numbers"].items()},
            series={key: Series(**value) for key, value in found["series"].items()},
            notes=list(found["notes"]), failures=list(found["failures"]), complete=bool(found["complete"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LociError(f"{path} lacks a part of the results ({error}): write it again.") from error


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


def _floats(values: NDArray[Any]) -> list[float]:
    return [float(value) for value in values]


def _some(values: NDArray[np.floating], kept: NDArray[np.bool_]) -> list[float | None]:
    return [float(value) if keep else None for value, keep in zip(values, kept, strict=True)]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
