"""Results as files: rows with protocols, no NaN, and sentences for files that are something else."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from loci_looped.evaluation.experiments.results import Case, Results, Row, plain, read_results
from loci_looped.evaluation.experiments.summary import probability, summary
from loci_looped.evaluation.metrics.statistics import Estimate
from loci_looped.evaluation.metrics.tracking import Moments
from loci_looped.utils.errors import LociError

LEARNED = Case("tracking", "net", "learned")
PAIRS = Case("violations", "net", "learned", ("vanish",))


def filled() -> Results:
    found = Results("tracking", {"name": "net", "weights_sha256": "ab"}, {"seed": 0}, "loci evaluate net")
    found.put(LEARNED, "error_visible", Moments(0.026, 0.0279, 5150), "p/1", percent=True, interval=(0.02, 0.03))
    found.put(LEARNED, "mota", 0.8436123456789, "p/2", n=4897)
    found.put(LEARNED, "nothing", Moments(math.nan, math.nan, 0), "p/1", percent=True)
    found.put(PAIRS, "slot_accuracy", Estimate(0.9, 0.75, 1.0, 20), "p/3", percent=True)
    rows = np.array([[1.0, 3.0], [np.nan, 2.0], [np.nan, np.nan]])
    found.put_mean_curve(LEARNED, "error_over_time", np.arange(3), rows)
    found.complete = True
    return found


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    filled().write(tmp_path / "r.json")
    raw = json.loads((tmp_path / "r.json").read_text())
    assert raw["kind"] == "loci-looped results" and raw["complete"] is True
    about = {"experiment": "tracking", "model": "net", "gate": "learned"}
    assert raw["rows"][0] == about | {
        "metric": "error_visible", "value": 2.6, "protocol": "p/1", "unit": "%", "std": 2.79, "n": 5150, "low": 2.0,
        "high": 3.0}
    assert raw["rows"][1]["value"] == 0.843612       # six digits are kept
    assert raw["rows"][2] == about | {"metric": "nothing", "value": None, "protocol": "p/1", "unit": "%", "n": 0}
    back = read_results(tmp_path / "r.json")
    assert back.find(PAIRS, "slot_accuracy") == Row(
        "violations", "net", "learned", ("vanish",), "slot_accuracy", 90.0, "p/3", "%", 20, 75.0, 100.0)
    curve = back.find_curve(LEARNED, "error_over_time")
    assert curve is not None and curve.y == [2.0, 2.0, None] and curve.n == [2, 1, 0]
    back.write(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "r.json").read_bytes()


def test_rows_are_found_by_what_they_are_about() -> None:
    found = filled()
    assert found.cases("tracking", "mota") == [LEARNED] and found.cases("violations", "slot_accuracy") == [PAIRS]
    assert found.cases("tracking", "slot_accuracy") == [] and found.find(LEARNED.under("x"), "mota") is None
    assert found.value(LEARNED, "mota") == 0.8436123456789 and found.value(LEARNED, "none") is None
    assert str(PAIRS) == "violations, net, gate learned, vanish" and str(Case("tracking", "kalman")).endswith("kalman")


def test_a_band_is_one_standard_error() -> None:
    curve = filled().find_curve(LEARNED, "error_over_time")
    assert curve is not None and curve.low[0] == pytest.approx(2 - 1) and curve.high[0] == pytest.approx(2 + 1)


def test_failures_make_results_partial(tmp_path: Path) -> None:
    found = filled()
    found.fail("clip 3 was left out.")
    found.fail("clip 3 was left out.")
    found.write(tmp_path / "r.json")
    raw = json.loads((tmp_path / "r.json").read_text())
    assert raw["complete"] is False and raw["failures"] == ["clip 3 was left out."]


@pytest.mark.parametrize(("content", "sentence"), [
    ("{", "not a JSON file"), ("[]", "holds no results"), ('{"kind": "other"}', "holds no results"),
    ('{"kind": "loci-looped results", "version": 99}', "layout 99"),
    ('{"kind": "loci-looped results", "version": 1, "command": "loci evaluate net"}', "run `loci evaluate net --json"),
    ('{"kind": "loci-looped results", "version": 2, "experiment": "tracking"}', "lacks a part"),
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
    (title, columns, rows), *_ = summary(filled())
    assert "net" in title and columns == ["", "learned"]
    assert ["error visible %", "2.60 ± 2.79"] in rows and ["error occluded %", "–"] in rows


def test_probabilities_as_people_write_them() -> None:
    found = filled()
    found.put(LEARNED, "a", 0.0472, "p")
    found.put(LEARNED, "b", 0.0004, "p")
    assert [probability(found.find(LEARNED, name)) for name in "abc"] == [".047", "< .001", "–"]
