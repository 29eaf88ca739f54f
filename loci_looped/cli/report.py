"""`loci report WHAT...`: one HTML file, or Markdown, with our numbers beside the published ones."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from loci_looped.cli.checks import check_file, check_seed
from loci_looped.utils.errors import LociError

if TYPE_CHECKING:
    from loci_looped.evaluation.experiments.results import Results


@dataclass(frozen=True)
class Arguments:
    """Show what was found. A report is one file that needs nothing else; it opens on a phone and without a network."""

    what: tyro.conf.Positional[tuple[str, ...]]
    """Results of `loci evaluate --json` (files, or folders of them), runs (learning curves), networks (films)."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """The HTML file; report.html unless only Markdown is asked for."""
    markdown: Path | None = None
    """Also write all tables, with the command behind each, to this Markdown file."""
    into: Path | None = None
    """Also put our own tables into this document, between the lines <!-- results:begin --> and <!-- results:end -->."""
    title: str = "Loci-Looped: what was measured"
    films: bool = True
    """Films and film strips of the networks that are named."""
    seed: int = 7
    """Of the scene in the film."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci report")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if not arguments.what:
        raise LociError("There is nothing to report: name results (loci evaluate --json FILE), a run or a network.")
    check_seed(arguments.seed)
    for flag, path in (("--out", arguments.out), ("--markdown", arguments.markdown), ("--into", arguments.into)):
        if path is not None:
            check_file(path, flag)
    wanted = arguments.out is not None or (arguments.markdown is None and arguments.into is None)
    sorted_out = _sort_out(arguments.what)
    if not sorted_out.results and not wanted:
        raise LociError("Markdown is made of results, but none are named: write some with `loci evaluate --json FILE`.")
    if wanted:
        _write_page(arguments, sorted_out)
    from loci_looped.evaluation.report.markdown import markdown, summary, write_between

    if arguments.markdown is not None:
        from loci_looped.utils.atomic import write_text

        write_text(arguments.markdown, markdown(sorted_out.results))
        print(f"Tables written to {arguments.markdown}")
    if arguments.into is not None:
        write_between(arguments.into, summary(sorted_out.results))
        print(f"Tables put into {arguments.into}")
    return 0


@dataclass(frozen=True)
class _Named:
    results: list[Results]
    runs: list[Path]
    networks: list[str]


def _sort_out(what: tuple[str, ...]) -> _Named:
    """What each word on the command line is: a file of results, a folder of them, a run, or a network."""
    from loci_looped.evaluation.experiments.results import KIND, read_results
    from loci_looped.evaluation.report.learning import LOG
    from loci_looped.inference.networks import find_network, shipped_networks

    results: list[Results] = []
    runs: list[Path] = []
    networks: list[str] = []
    for word in what:
        path = Path(word)
        if word in shipped_networks():
            networks.append(word)
        elif path.is_dir():
            files = [file for file in sorted(path.glob("*.json")) if f'"{KIND}"' in _beginning(file)]
            is_run = (path / LOG).is_file()
            results += [read_results(file) for file in files]
            if is_run:
                runs.append(path)
            if _has_network(path):
                networks.append(word)
            elif not files and not is_run:
                raise LociError(f"{path} holds no results, no training log and no network: nothing to report.")
        elif path.suffix == ".json" or path.is_file():
            results.append(read_results(path))
        else:
            find_network(word)          # tells what there is
    return _Named(results, runs, networks)


def _has_network(folder: Path) -> bool:
    """A network, that of a finished run, or that of a run's newest checkpoint."""
    from loci_looped.inference.networks import CHECKPOINTS, CONFIG, INSIDE_RUN, WEIGHTS
    from loci_looped.utils.checkpoint import checkpoints

    stored = any((place / CONFIG).is_file() and (place / WEIGHTS).is_file() for place in (folder, folder / INSIDE_RUN))
    return stored or bool(checkpoints(folder / CHECKPOINTS))


def _beginning(file: Path) -> str:
    """Enough of a JSON file to tell its kind."""
    with file.open(encoding="utf-8", errors="replace") as opened:
        return opened.read(400)


def _write_page(arguments: Arguments, named: _Named) -> None:
    from loci_looped.evaluation.evaluated_model import open_model
    from loci_looped.evaluation.report.films import Film, films_of
    from loci_looped.evaluation.report.page import Report, write_report

    films: list[Film] = []
    remarks: list[str] = []
    if arguments.films and named.networks:
        import torch

        torch.set_num_threads(1)
        for name in named.networks:
            try:
                films += films_of(open_model(name), arguments.seed)
            except LociError as error:      # the tables are worth more than the film
                remarks.append(f"There is no film of {name}. {error}")
    elif arguments.films and named.results:
        remarks.append("This report has no film, because no network was named: add the network to the command.")
    out = arguments.out or Path("report.html")
    write_report(out, Report(arguments.title, named.results, named.runs, films, remarks))
    print(f"Report written to {out} ({out.stat().st_size / 1e6:.1f} MB)")
