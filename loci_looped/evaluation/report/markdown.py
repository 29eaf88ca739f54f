"""The tables as Markdown, for documents whose numbers must come from a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loci_looped.evaluation.experiments.results import Results
from loci_looped.evaluation.report.published import sources
from loci_looped.evaluation.report.tables import Table, tables
from loci_looped.utils.atomic import write_text
from loci_looped.utils.errors import LociError

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


def markdown(found: Sequence[Results], title: str = "Results") -> str:
    """A whole document: every table with the commands that give its numbers, and the facts about what was measured."""
    parts = [
        f"# {title}",
        "Written by `loci report --markdown`; do not edit by hand. Errors are in % of the image diagonal, ± is one "
        "standard deviation over rows, brackets are 95 % intervals.",
        "## What was measured", _measured(found),
    ]
    parts += [_section(table) for table in tables(found)]
    notes = [f"- {sentence}" for results in found for sentence in (*results.notes, *results.failures)]
    if notes:
        parts += ["## Notes of the runs", "\n".join(dict.fromkeys(notes))]
    named = [f"- {source.words}: {source.title}. {source.note}".rstrip() for source in sources().values()]
    parts += ["## Sources", "\n".join(named)]
    return "\n\n".join(parts) + "\n"


def summary(found: Sequence[Results]) -> str:
    """The tables alone, our rows only: for a README."""
    own = []
    for table in tables(found):
        groups = [group for group in table.groups if group.ours]
        rows = groups[0].rows
        kept = [index for index in range(len(table.columns)) if index == 0 or any(row[index] != "–" for row in rows)]
        grid = _grid([table.columns[i] for i in kept], [[row[i] for i in kept] for row in rows])
        commands = "\n".join(f"`{command}`  " for command in table.commands)
        own.append(f"**{table.title}**\n\n{grid}\n\n{commands}")
    return "\n\n".join(own)


def write_between(path: Path, text: str) -> None:
    """Replace what stands between the two marks of a document; everything else stays."""
    try:
        before = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LociError(f"There is no file {path} to write the results into.") from None
    if before.count(BEGIN) != 1 or before.count(END) != 1 or before.index(BEGIN) > before.index(END):
        raise LociError(f"{path} has no place for the results: put the lines {BEGIN} and {END} where they belong.")
    head, rest = before.split(BEGIN)
    write_text(path, head + BEGIN + "\n" + text.strip() + "\n" + END + rest.split(END)[1])


def _measured(found: Sequence[Results]) -> str:
    lines = []
    for results in found:
        facts = ", ".join(f"{name} {value}" for name, value in results.model.items()
                          if name not in ("name", "beside", "kind", "command") and not isinstance(value, dict | list))
        partial = "" if results.complete and not results.failures else " **Partial: see the notes.**"
        lines.append(f"- {results.experiment} of **{results.model['name']}**: `{results.command}` ({facts}){partial}")
    return "\n".join(lines)


def _section(table: Table) -> str:
    parts = [f"## {table.title}"]
    if table.note:
        parts.append(table.note)
    width = len(table.columns)
    rows: list[list[str]] = []
    for group in table.groups:
        rows.append([f"*{group.words}*", *[""] * (width - 1)])
        rows += [[f"**{row[0]}**" if group.ours else row[0], *row[1:]] for row in group.rows]
    parts.append(_grid(table.columns, rows))
    parts.append("\n".join(["Commands:", *(f"- `{command}`" for command in table.commands)]))
    parts.append("Protocols: " + ", ".join(f"`{name}`" for name in table.protocols))
    return "\n\n".join(parts)


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(columns), line(["---"] + ["--:"] * (len(columns) - 1)), *(line(row) for row in rows)])
