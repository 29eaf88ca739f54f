"""The report: published numbers as data, tables, charts that are valid, Markdown from a command, one closed file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import material
import pytest

from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.report.charts import Bar, Bars, Chart, Cloud, Line, Shade, figure, ticks, words_of
from loci_looped.evaluation.report.figures import figures
from loci_looped.evaluation.report.learning import learning_figures, read_records, strips
from loci_looped.evaluation.report.markdown import BEGIN, END, markdown, summary, write_between
from loci_looped.evaluation.report.page import Report, leads, write_report
from loci_looped.evaluation.report.published import caveat, published, sources
from loci_looped.evaluation.report.tables import called, tables
from loci_looped.utils.errors import LociError


def row_of(title: str, group: str, model: str) -> dict[str, str]:
    table = next(table for table in tables(material.everything()) if table.title.startswith(title))
    rows = next(part for part in table.groups if group in part.words).rows
    return dict(zip(table.columns, next(row for row in rows if model in row[0]), strict=True))


# ------------------------------------------------------------------------------------------------------ published

def test_published_numbers_have_sources() -> None:
    for experiment in ("tracking", "surprise", "interruptions", "imagination"):
        rows = published(experiment)
        assert rows and all(row.source in sources() for row in rows) and caveat(experiment)
    assert all(source.title for source in sources().values())


def test_published_numbers_are_those_of_the_paper_and_the_notebooks() -> None:
    paper = row_of("Tracking", "the paper", "Loci-Looped")
    assert paper["error visible %"] == "2.6 ± 2.7" and paper["successful %"] == "96.6" and paper["MOTA"] == "0.84"
    assert paper["error occluded %"] == "–" and paper["inner loop occluded %"] == "99.2"
    stored = row_of("Tracking", "notebooks", "Loci-Looped")
    assert stored["error occluded %"] == "2.67 ± 1.85" and stored["MOTA"] == "0.844"
    surprise = row_of("Surprise", "the paper", "Loci-Looped")
    assert surprise["should reappear"] == "t(75) = 1.69" and surprise["r of slot error"] == "0.9"
    assert row_of("Interruptions", "the paper, predicted in the dark", "SAVi")["PSNR"] == "25.3"
    assert row_of("Imagination", "the paper", "Loci-Looped")["collision, released metric"] == "0.17 ± 0.01"


# --------------------------------------------------------------------------------------------------------- tables

def test_our_numbers_stand_beside_them_with_command_and_protocol() -> None:
    ours = row_of("Tracking", "corrected", "gate learned")
    assert ours["model"] == "small-one, gate learned"
    assert ours["error visible %"] == "2.10 ± 1.05" and ours["successful %"] == "95.0" and ours["MOTA"] == "0.870"
    released = row_of("Tracking", "as the released code measures", "gate learned")
    assert released["error visible %"] == "3.10 ± 2.10" and released["MOTA"] == "0.910"
    assert released["movers found %"] == "–"
    for table in tables(material.everything()):
        assert table.commands and table.protocols and all(len(row) == len(table.columns)
                                                          for group in table.groups for row in group.rows)
    assert row_of("Surprise", "This package", "small-one")["n vanished / control"] == "11 / 51"
    assert "(10 % failed)" in row_of("Imagination", "This package", "ball-one")["collision"]


def test_without_results_there_is_no_table() -> None:
    assert tables([]) == []


def test_names_are_those_a_reader_would_use() -> None:
    assert called(Case("tracking", "net", "learned")) == "net, gate learned"
    assert called(Case("ablation", "twin", "open")) == "twin, gate open"
    assert called(Case("tracking", "kalman")) == "Kalman filter on true centroids"


# ------------------------------------------------------------------------------------------------------- Markdown

def test_markdown_has_every_table_with_its_command() -> None:
    text = markdown(material.everything())
    assert text.count("\n## ") >= 7 and "`loci evaluate small-one --experiment tracking`" in text
    assert "| **small-one, gate learned** | 2.10 ± 1.05 |" in text and "*Published: the paper*" in text
    assert "**Partial: see the notes.**" in text and "collide (seed 4) was left out" in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_a_document_gets_our_tables_between_its_marks(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    for _ in range(2):              # writing again changes nothing
        write_between(path, summary(material.everything()))
    text = path.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "small-one, gate learned" in text and "Published" not in text and text.count(BEGIN) == 1
    path.write_text("no marks")
    with pytest.raises(LociError, match="no place for the results"):
        write_between(path, "x")
    with pytest.raises(LociError, match="There is no file"):
        write_between(tmp_path / "none.md", "x")


# --------------------------------------------------------------------------------------------------------- charts

def svgs(text: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(piece) for piece in re.findall(r"<svg.*?</svg>", text, re.S)]


def test_every_chart_of_every_experiment_is_valid_and_inside_its_frame() -> None:
    count = 0
    for results in material.everything():
        for chart in figures(results):
            for svg in svgs(figure(chart)):
                _, _, width, height = (float(part) for part in svg.attrib["viewBox"].split())
                for node in svg.iter():
                    for name in ("x", "cx", "x1", "x2"):
                        assert -1 <= float(node.attrib.get(name, 0)) <= width + 1
                    for name in ("y", "cy", "y1", "y2"):
                        assert -1 <= float(node.attrib.get(name, 0)) <= height + 1
                count += 1
    assert count >= 14


def test_gaps_are_gaps_and_nothing_is_a_sentence() -> None:
    line = Line("a <b>", [0, 1, 2, 3], [1.0, None, 2.0, 3.0], [0.5, None, 1.0, 2.0], [2.0, None, 3.0, 4.0])
    text = figure(Chart("t & u", "x", "y", [line], [Shade(1, 9, "late")]))
    (svg,) = svgs(text)
    path = next(node.attrib["d"] for node in svg.iter() if node.attrib.get("class", "").startswith("line"))
    assert path.count("M") == 2 and "t &amp; u" in text and "a &lt;b&gt;" in text and "late" in text
    assert "Nothing was measured" in figure(Chart("t", "x", "y", [Line("a", [0, 1], [None, None])]))
    assert "Nothing was measured" in figure(Cloud("t", "y", [("a", [], 1)]))
    assert svgs(figure(Bars("t", [Bar("a", None, None, None), Bar("b", 40.0, 30.0, 60.0)], 50.0)))
    assert svgs(figure(Chart("flat", "x", "y", [Line("a", [0.0, 1.0], [0.0, 0.0])])))
    assert svgs(figure(Chart("log", "x", "y", [Line("a", [1.0, 2.0], [0.1, 0.001])], logarithmic=True)))


@pytest.mark.parametrize(("low", "high", "expected"), [
    (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (0, 100, [0, 20, 40, 60, 80, 100]), (0, 0.37, [0, 0.1, 0.2, 0.3]),
    (27.5, 35, [28, 30, 32, 34]), (3, 3, [3]),
])
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_numbers_at_axes() -> None:
    assert [words_of(value) for value in (0, 0.2, 12_500, 1e-5)] == ["0", "0.2", "12.5k", "1e-05"]


# ------------------------------------------------------------------------------------------------------- learning

def test_learning_curves_from_a_log_that_was_cut_off(tmp_path: Path) -> None:
    run = material.make_run(tmp_path / "run")
    assert len(read_records(run)) == 24
    loss, errors, *_ = learning_figures(run)
    assert loss.lines[0].x[0] == 100 and len(loss.lines[0].y) == 20
    assert errors.lines[0].y == [3.0] * 4 and list(errors.lines[1].y) == []      # never defined
    assert [(shade.words, shade.filled) for shade in loss.shades] == [
        ("foreground", False), ("background", True), ("gate", False)]
    assert [words for words, _ in strips(run)] == ["run, after 1 000 updates", "run, after 2 000 updates"]
    with pytest.raises(LociError, match="no learning curves"):
        read_records(tmp_path)


# ----------------------------------------------------------------------------------------------------------- page

class Outside(HTMLParser):
    """Collects everything a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "poster")]


def test_the_page_is_one_closed_file(tmp_path: Path) -> None:
    run = material.make_run(tmp_path / "my <run>")
    write_report(tmp_path / "r.html", Report("A & B", material.everything(), [run], remarks=["No film here."]))
    text = (tmp_path / "r.html").read_text()
    outside = Outside()
    outside.feed(text)
    assert outside.addresses and all(address.startswith(("#", "data:")) for address in outside.addresses)
    assert "http://" not in text and "https://" not in text and "@import" not in text and "url(" not in text
    assert "A &amp; B" in text and "<!--" not in text and "No film here." in text and "my &lt;run&gt;" in text
    assert "One note &lt;about&gt; this run." in text and "The results of interruptions are partial" in text
    sections = {"tracking", "surprise", "interruptions", "imagination", "learning", "sources"}
    assert sections <= set(re.findall(r'id="([a-z]+)"', text))
    assert "prefers-color-scheme: dark" in text and 'name="viewport"' in text


def test_the_first_sentences_say_what_the_numbers_say() -> None:
    sentences = leads(material.everything())
    assert sentences[0].startswith("small-one, gate learned: on average 2.10 % of the image diagonal")
    assert "is more surprised when a vanished object should reappear" in sentences[1]
    assert "is not reliably more surprised when the screen falls" in sentences[2]
    nothing = Results("tracking", {"name": "new"}, {})
    nothing.put(Case("tracking", "new", "learned"), "error_visible", None, "p")
    nothing.put(Case("tracking", "new", "learned"), "mota", 0.0, "p")
    assert leads([nothing]) == ["new never took hold of a moving object, so it has no tracking error. Is it trained?"]
