"""Results as files: stable keys, protocols, no NaN, and sentences for files that are something else."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from loci_looped.evaluation.experiments.results import Number, Results, plain, read_results
from loci_looped.evaluation.experiments.summary import headlines, probability
from loci_looped.evaluation.metrics.statistics import Estimate
from loci_looped.evaluation.metrics.tracking import Moments
from loci_looped.utils.errors import LociError


def filled() -> Results:
    found = Results("tracking", {"name": "net", "weights_sha256": "ab"}, {"seed": 0}, "loci evaluate net")
    seen = Moments(0.026, 0.0279, 5150)
    found.put("tracking/learned/error_visible", seen, "p/1", percent=True, interval=(0.02, 0.03))
    found.put("tracking/learned/mota", 0.8436123456789, "p/2", n=4897)
    found.put("tracking/learned/nothing", Moments(math.nan, math.nan, 0), "p/1", percent=True)
    found.put("violations/learned/vanish/slot_accuracy", Estimate(0.9, 0.75, 1.0, 20), "p/3", percent=True)
    rows = np.array([[1.0, 3.0], [np.nan, 2.0], [np.nan, np.nan]])
    found.curve("tracking/learned/error_over_time", np.arange(3), rows)
    found.complete = True
    return found


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    filled().write(tmp_path / "r.json")
    raw = json.loads((tmp_path / "r.json").read_text())
    assert raw["kind"] == "loci-looped results" and raw["complete"] is True
    assert raw["numbers"]["tracking/learned/error_visible"] == {
        "value": 2.6, "protocol": "p/1", "unit": "%", "std": 2.79, "n": 5150, "low": 2.0, "high": 3.0}
    assert raw["numbers"]["tracking/learned/mota"]["value"] == 0.843612       # six digits are kept
    assert raw["numbers"]["tracking/learned/nothing"] == {"value": None, "protocol": "p/1", "unit": "%", "n": 0}
    back = read_results(tmp_path / "r.json")
    assert back.numbers["violations/learned/vanish/slot_accuracy"] == Number(90.0, "p/3", "%", None, 20, 75.0, 100.0)
    assert back.series["tracking/learned/error_over_time"].y == [2.0, 2.0, None]
    assert back.series["tracking/learned/error_over_time"].n == [2, 1, 0]
    back.write(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "r.json").read_bytes()


def test_a_band_is_one_standard_error() -> None:
    series = filled().series["tracking/learned/error_over_time"]
    assert series.low[0] == pytest.approx(2 - 1) and series.high[0] == pytest.approx(2 + 1)


def test_failures_make_results_partial(tmp_path: Path) -> None:
    found = filled()
    found.fail("clip 3 was left out.")
    found.fail("clip 3 was left out.")
    found.write(tmp_path / "r.json")
    raw = json.loads((tmp_path / "r.json").read_text())
    assert raw["complete"] is False and raw["failures"] == ["clip 3 was left out."]


@pytest.mark.parametrize(("content", "sentence"), [
    ("{", "no JSON file"), ("[]", "holds no results"), ('{"kind": "other"}', "holds no results"),
    ('{"kind": "loci-looped results", "version": 99}', "layout 99"),
    ('{"kind": "loci-looped results", "version": 1, "experiment": "tracking"}', "lacks a part"),
])
def test_other_files_are_told(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(LociError, match=sentence):
        read_results(tmp_path / "r.json")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(LociError, match="There is no file"):
        read_results(tmp_path / "none.json")


@pytest.mark.parametrize(("value", "text"), [
    (2.604, "2.60"), (0.8436, "0.844"), (96.66, "96.7"), (145.2, "145"), (0, "0"), (14651.0, "14 651"),
    (0.0123, "0.0123"), (2.7e-6, "2.7e-06"), (-0.4281, "-0.428"),
])
def test_numbers_are_shown_with_three_digits(value: float, text: str) -> None:
    assert plain(value) == text


def test_the_terminal_table_shows_dashes_for_what_is_not_defined() -> None:
    (title, columns, rows), *_ = headlines(filled())
    assert "net" in title and columns == ["", "learned"]
    assert ["error visible %", "2.60 ± 2.79"] in rows and ["error occluded %", "–"] in rows


def test_probabilities_as_people_write_them() -> None:
    found = filled()
    found.put("a", 0.0472, "p")
    found.put("b", 0.0004, "p")
    assert (probability(found, "a"), probability(found, "b"), probability(found, "c")) == (".047", "< .001", "–")
