"""The report: one HTML file with everything in it, for a desk, a phone, by day and by night, without a network."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loci_looped.evaluation.experiments.results import Case, Results, plain
from loci_looped.evaluation.report.charts import figure
from loci_looped.evaluation.report.figures import figures
from loci_looped.evaluation.report.films import Film
from loci_looped.evaluation.report.learning import learning_figures, strips
from loci_looped.evaluation.report.published import sources
from loci_looped.evaluation.report.tables import Table, called, tables
from loci_looped.utils.atomic import write_text
from loci_looped.viz.colours import css

TEMPLATE = Path(__file__).with_name("page.html")
EXPERIMENT_WORDS = {
    "tracking": "Tracking", "ablation": "Side by side", "surprise": "Surprise", "interruptions": "Interruptions",
    "imagination": "Imagination",
}


@dataclass(frozen=True)
class Report:
    """What goes into the page."""

    title: str
    results: Sequence[Results] = ()
    runs: Sequence[Path] = ()                   # folders of training runs
    films: Sequence[Film] = ()
    remarks: Sequence[str] = field(default_factory=tuple)       # what is missing, and why


def write_report(path: Path, report: Report) -> None:
    """Write the page, whole or not at all."""
    page = TEMPLATE.read_text(encoding="utf-8").replace("/*PALETTE*/", css())
    title = html.escape(report.title)
    # Functions, because a replacement text would have its backslashes interpreted.
    page = page.replace("<!--TITLE-->", title)
    page = re.sub("<!--CONTENT-->", lambda _: content(report), page)
    write_text(path, page)


def content(report: Report) -> str:
    sections: list[tuple[str, str, str]] = []           # id, heading, inside
    found = list(report.results)
    made = tables(found)
    for experiment, words in EXPERIMENT_WORDS.items():
        own = [results for results in found if results.experiment == experiment]
        if own:
            sections.append((experiment, words, _experiment(own, [t for t in made if t.experiment == experiment])))
    if report.films:
        sections.append(("films", "Films", "".join(_film(film) for film in report.films)))
    if report.runs:
        sections.append(("learning", "Learning", "".join(_run(run) for run in report.runs)))
    sections.append(("sources", "Sources and settings", _sources(found)))
    links = "".join(f'<a href="#{name}">{html.escape(words)}</a>' for name, words, _ in sections)
    head = [f"<h1>{html.escape(report.title)}</h1>"]
    head += [f'<p class="lead">{html.escape(sentence)}</p>' for sentence in leads(found)]
    head += [f'<p class="partial">{html.escape(sentence)}</p>' for sentence in (*_partial(found), *report.remarks)]
    body = [f'<section id="{name}"><h2>{html.escape(words)}</h2>{inside}</section>' for name, words, inside in sections]
    return "\n".join([*head, f"<nav>{links}</nav>", *body])


def _partial(found: Sequence[Results]) -> list[str]:
    sentences = []
    for results in found:
        if not results.complete or results.failures:
            reasons = " ".join(results.failures[:2]) or "It was stopped before its end."
            more = f" ({len(results.failures) - 2} more below.)" if len(results.failures) > 2 else ""
            sentences.append(f"The results of {results.experiment} are partial. {reasons}{more}")
    return sentences


def leads(found: Sequence[Results]) -> list[str]:
    """What was found, in sentences that say no more than the numbers do."""
    sentences = []
    for experiment, lead in (("tracking", _tracking_lead), ("surprise", _surprise_lead)):
        for results in found:
            if results.experiment == experiment:
                sentences += lead(results)
    return sentences


def _tracking_lead(results: Results) -> list[str]:
    cases = results.cases("tracking", "mota")
    case = min(cases, key=lambda case: _GATES.index(case.gate) if case.gate in _GATES else len(_GATES), default=None)
    seen = None if case is None else results.value(case, "error_visible")
    if case is None or seen is None:
        name = results.model["name"]
        return [f"{name} never took hold of a moving object, so it has no tracking error. Is it trained?"]
    hidden, kept, found = (results.value(case, metric) for metric in ("error_occluded", "successful", "movers_found"))
    unseen = "and never scored on hidden ones" if hidden is None else f"and {plain(hidden)} % from those nobody can see"
    sentence = f"{called(case)}: on average {plain(seen)} % of the image diagonal from movers in sight {unseen}."
    if kept is not None and found is not None:
        sentence += f" {plain(kept)} % of its trackings succeed; it finds {plain(found)} % of the movers."
    return [sentence]


_GATES = ("", "learned", "open")        # which one the first sentence is about; a filter has none


def _surprise_lead(results: Results) -> list[str]:
    sentences = []
    name = results.model["name"]
    case = Case("surprise", name, "learned")
    moments = (("reappearance", "when a vanished object should reappear"), ("screen_falls", "when the screen falls"))
    for window, words in moments:
        t, p = (results.value(case.under(window), metric) for metric in ("t", "p_one_sided"))
        if t is not None and p is not None:
            verdict = "is more surprised" if p < 0.05 and t > 0 else "is not reliably more surprised"
            chance = "p < .001" if p < 0.001 else f"p = {p:.3f}"
            sentences.append(f"{name} {verdict} {words} than in control scenes (t = {plain(t)}, {chance}, one-sided).")
    return sentences


def _experiment(found: Sequence[Results], made: Sequence[Table]) -> str:
    charts = "".join(figure(chart) for results in found for chart in figures(results))
    return "".join(_table(table) for table in made) + (f'<div class="grid">{charts}</div>' if charts else "")


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    rows = []
    for group in table.groups:
        rows.append(f'<tr class="group"><th colspan="{len(table.columns)}">{html.escape(group.words)}</th></tr>')
        for row in group.rows:
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
            rows.append(f'<tr class="{"ours" if group.ours else "theirs"}">{cells}</tr>')
    commands = "".join(f"<br><code>{html.escape(command)}</code>" for command in table.commands)
    protocols = ", ".join(f"<code>{html.escape(name)}</code>" for name in table.protocols)
    note = f'<p class="faint">{html.escape(table.note)}</p>' if table.note else ""
    return (f"<h3>{html.escape(table.title)}</h3>"
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>{note}"
            f"<details><summary>Commands and protocols</summary><p>{commands[4:]}</p><p>{protocols}</p></details>")


def data_address(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _film(film: Film) -> str:
    title = html.escape(film.title)
    return (
        f"<h3>{title}</h3>"
        f'<p class="faint">{html.escape(film.note)} Above: what it sees, with its beliefs drawn on it. Below: what it '
        "believes, the screen taken away. Outlines are dashed where an object is held to be hidden.</p>"
        f'<div class="film"><video controls loop muted playsinline preload="auto" aria-label="{title}" '
        f'src="{data_address(film.movie, "video/mp4")}"></video>'
        f'<div class="strip"><img alt="{title}: slots over time" src="{data_address(film.strip, "image/png")}"></div>'
        "</div>"
    )


def _run(run: Path) -> str:
    charts = "".join(figure(chart) for chart in learning_figures(run))
    pictures = []
    for words, file in strips(run):
        source = data_address(file.read_bytes(), "image/png")
        pictures.append(
            f"<figure><figcaption>{html.escape(words)}: what it sees, what it predicts, what it believes behind the "
            'screen, then its slots</figcaption>'
            f'<div class="strip small"><img alt="{html.escape(words)}" src="{source}"></div></figure>'
        )
    return f'<div class="grid">{charts}</div>{"".join(pictures)}'


def _sources(found: Sequence[Results]) -> str:
    parts = []
    for results in found:
        facts = "".join(f"<br>{html.escape(str(name))}: {html.escape(str(value))}" for name, value in
                        {**results.model, **results.settings}.items())
        notes = "".join(f"<br>Note: {html.escape(note)}" for note in results.notes)
        left_out = "".join(f"<br>Left out: {html.escape(sentence)}" for sentence in results.failures)
        title = f"{results.experiment} of {results.model['name']}"
        parts.append(f"<details><summary>{html.escape(title)}</summary><p><code>{html.escape(results.command)}</code>{facts}{notes}{left_out}</p></details>")
    published = "".join(f'<p class="faint"><b>{html.escape(source.words)}</b>: {html.escape(source.title)}. '
                        f"{html.escape(source.note)}</p>" for source in sources().values())
    return "".join(parts) + published
