"""`loci report` through the real entry point: what each word is, what is written, what is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loci_looped.cli.main import main
from loci_looped.evaluation.experiments.results import Case, Results


def results(path: Path) -> Path:
    found = Results("tracking", {"name": "net"}, {"seed": 0}, "loci evaluate net")
    case = Case("tracking", "net", "learned")
    found.put(case, "error_visible", 0.02, "tracking/test", percent=True)
    found.put(case, "mota", 0.5, "mota/test")
    found.complete = True
    found.write(path)
    return path


def test_a_page_from_results_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "r.html"
    assert main(["report", str(results(tmp_path / "t.json")), "--out", str(out), "--title", "My title"]) == 0
    assert "Report written to" in capsys.readouterr().out
    text = out.read_text()
    assert "My title" in text and "net, gate learned" in text and "no film, because no network was named" in text
    assert "<video" not in text


def test_markdown_alone_needs_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results(tmp_path / "all" / "t.json")
    (tmp_path / "all" / "other.json").write_text(json.dumps({"kind": "something else"}))
    assert main(["report", "all", "--markdown", "docs/results.md"]) == 0
    assert "`loci evaluate net`" in (tmp_path / "docs" / "results.md").read_text()
    assert not (tmp_path / "report.html").exists()


def test_a_readme_gets_its_tables(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Hello\n<!-- results:begin -->\n<!-- results:end -->\n")
    assert main(["report", str(results(tmp_path / "t.json")), "--into", str(readme)]) == 0
    assert "| net, gate learned | 2.00 | 0.500 |" in readme.read_text()


def test_a_run_without_results_shows_how_it_learnt(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "log.jsonl").write_text('{"kind": "train", "update": 1, "foreground_error": 0.1, "phase": "foreground"}\n'
                                   '{"kind": "train", "update": 2, "foreground_error": 0.05, "phase": "foreground"}\n')
    assert main(["report", str(run), "--out", str(tmp_path / "r.html")]) == 0
    assert "run: foreground error" in (tmp_path / "r.html").read_text()


def test_a_film_that_cannot_be_made_does_not_cost_the_tables(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoints" / "update-000000100").mkdir(parents=True)
    (tmp_path / "run" / "log.jsonl").write_text("")
    table = str(results(tmp_path / "t.json"))
    with pytest.warns(UserWarning, match="no complete checkpoint"):
        assert main(["report", table, str(tmp_path / "run"), "--out", str(tmp_path / "r.html")]) == 0
    text = (tmp_path / "r.html").read_text()
    assert "There is no film of" in text and "net, gate learned" in text


@pytest.mark.parametrize(("words", "told"), [
    (["EMPTY"], "no results, no training log and no network"),
    (["nothing-of-that-name"], "There is no network called"),
    (["EMPTY/none.json"], "There is no file"),
    (["BROKEN"], "not a JSON file"),
    (["RUN", "--markdown", "x.md"], "none are named"),
])
def test_mistakes_are_told(words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.jsonl").write_text("")
    places = {"EMPTY": str(tmp_path / "empty"), "BROKEN": str(tmp_path / "broken.json"), "RUN": str(tmp_path / "run")}
    real = [places.get(word, word.replace("EMPTY", places["EMPTY"])) for word in words]
    assert main(["report", *real]) == 2
    error = capsys.readouterr().err
    assert told in error and "Traceback" not in error


def test_nothing_to_report_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report"]) == 2
    assert "There is nothing to report" in capsys.readouterr().err
