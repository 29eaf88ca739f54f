"""`loci evaluate WHAT --experiment NAME`: the paper's experiments, with every number under the id of its protocol."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from loci_looped.cli.checks import check_at_least, check_file, check_seed
from loci_looped.configs.experiments import BATCH, MODES, PAIRS, PROBABILITIES, STEPS, ExperimentName, Mode
from loci_looped.configs.network import GateKind, Placement
from loci_looped.configs.scenes import VIOLATIONS, BallsScenario, ViolationKind
from loci_looped.utils.errors import LociError

if TYPE_CHECKING:
    from loci_looped.evaluation.experiments.evaluation import Evaluation
    from loci_looped.evaluation.experiments.results import Results


@dataclass(frozen=True)
class Arguments:
    """Measure a model. Test scenes are generated from seeds, so nothing is downloaded, and two runs give equal numbers.

    tracking: does a slot stay with its object, seen and hidden? surprise: do impossible events surprise the network?
    interruptions: what does it expect in the dark? imagination: how far do imagined balls drift? ablation: several
    networks and gates side by side.
    """

    what: tyro.conf.Positional[str]
    """A shipped network (adept-small), the folder of a network or of a training run, or kalman."""
    experiment: Annotated[ExperimentName, tyro.conf.arg(aliases=["-e"])] = "tracking"
    """Which one."""
    scenes: int | None = None
    """How many. Without it: the paper's 35 control and 11 surprise scenes; interruptions: 24; imagination: 50."""
    movers: Literal[1, 2] | None = None
    """Only control scenes, all with this many movers."""
    seed: int = 0
    """First seed of the scenes; also decides blackouts and bootstrap draws. Validation uses those from 1000 on."""
    gate: tuple[GateKind, ...] = ()
    """How the gate is used. Without it: learned, open and visibility for tracking and ablation, closed, too, for
    interruptions, else learned."""
    beside: tuple[str, ...] = ()
    """ablation: further networks (or kalman) to compare with WHAT on the same scenes."""
    pairs: int = PAIRS
    """surprise: matched pairs of each violation."""
    kinds: tuple[ViolationKind, ...] = VIOLATIONS
    """surprise: which violations."""
    probabilities: tuple[float, ...] = PROBABILITIES
    """interruptions: how often it is dark. The paper's is 0.2."""
    modes: tuple[Mode, ...] = MODES
    """imagination: what is shown after the tenth frame: black frames, nothing at all, or the own prediction."""
    scenario: BallsScenario = "interaction"
    """imagination: which balls. interaction is the paper's collision, occlusion its non-collision set."""
    steps: int = STEPS
    """imagination: how many frames are imagined; the published sum is over the first 10."""
    placement: Placement = "incremental"
    """imagination: how free slots look for objects. The paper's balls network uses stochastic."""
    clips: Path | None = None
    """A folder of .clip files (loci generate) instead of generated scenes."""
    lpips: bool = True
    """interruptions: also LPIPS, if its weights have been fetched."""
    films: Path | None = None
    """imagination: a folder for the first sequences as imagined, beside the true ones, 90 frames each."""
    json: Path | None = None
    """Write every number to this file."""
    table: Path | None = None
    """Write every row behind the numbers to this CSV file: one per clip, frame and slot."""
    threads: int = 2
    """How many cores watch clips at the same time. The numbers do not depend on it."""
    batch: int = BATCH
    """Clips that are watched together."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci evaluate")
    os.environ.setdefault("OMP_NUM_THREADS", "1")       # before torch is loaded: each of our threads has a core
    _check(arguments)

    import torch

    from loci_looped.evaluation.evaluated_model import open_model
    from loci_looped.evaluation.experiments.evaluation import Evaluation, Options

    torch.set_num_threads(1)
    if arguments.beside and arguments.experiment != "ablation":
        raise LociError("--beside compares networks, which is what --experiment ablation does: name that one.")
    options = Options(
        experiment=arguments.experiment, gates=arguments.gate, scenes=arguments.scenes, movers=arguments.movers,
        seed=arguments.seed, pairs=arguments.pairs, kinds=arguments.kinds, probabilities=arguments.probabilities,
        modes=arguments.modes, scenario=arguments.scenario, steps=arguments.steps, placement=arguments.placement,
        clips=arguments.clips, lpips=arguments.lpips, batch=arguments.batch, workers=arguments.threads,
    )
    if arguments.films is not None and arguments.experiment != "imagination":
        raise LociError("--films shows what is imagined, which --experiment imagination measures: name that one.")
    models = [open_model(name) for name in (arguments.what, *arguments.beside)]
    begun = time.monotonic()
    with _Bar() as bar:
        evaluation = Evaluation(models, options, bar.tell, _command(argv))
        status = _run(evaluation)
    written = _write(evaluation, arguments)     # first: whoever reads along (`| head`) may go before the end
    _tell(evaluation.results, time.monotonic() - begun)
    print("\n".join(written))
    return status


def _run(evaluation: Evaluation) -> int:
    """Run to the end, or keep what there is: a stopped or failed experiment has found something all the same."""
    results = evaluation.results
    try:
        evaluation.run()
        return 0
    except KeyboardInterrupt:
        if not results.rows:
            raise
        results.warn("The experiment was stopped before its end; these are the parts that were finished.")
        return 130
    except LociError as error:
        if not results.rows:
            raise
        results.fail(str(error))
        return 2


class _Bar:
    """A progress bar for each stage, on the terminal only."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self.progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=console, disable=not console.is_terminal,
        )
        self.tasks: dict[str, TaskID] = {}

    def __enter__(self) -> _Bar:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def tell(self, label: str, done: int, total: int) -> None:
        if label not in self.tasks:
            self.tasks[label] = self.progress.add_task(label, total=total)
        self.progress.update(self.tasks[label], completed=done, total=total)


def _tell(results: Results, seconds: float) -> None:
    """The figures one wants to see first, as tables; all others are in the JSON file."""
    from rich.console import Console
    from rich.table import Table

    from loci_looped.evaluation.experiments.summary import summary

    console = Console(highlight=False)
    for title, columns, rows in summary(results):
        table = Table(title=title, title_justify="left", title_style="bold")
        for index, column in enumerate(columns):
            table.add_column(column, justify="left" if index == 0 else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for sentence in results.notes:
        console.print(f"Note: {sentence}", style="yellow", markup=False)
    for sentence in results.failures:
        console.print(f"Left out: {sentence}", style="red", markup=False)
    whole = "" if results.complete and not results.failures else " These results are partial."
    console.print(f"{results.experiment} took {seconds:.0f} s.{whole}")


def _write(evaluation: Evaluation, arguments: Arguments) -> list[str]:
    """Write the files that are wanted; sentences about them."""
    written = []
    if arguments.json is not None:
        evaluation.results.write(arguments.json)
        written.append(f"{len(evaluation.results.rows)} numbers written to {arguments.json}")
    if arguments.table is not None:
        written.append(f"{evaluation.write_table(arguments.table)} rows written to {arguments.table}")
    if arguments.films is not None:
        files = evaluation.write_films(arguments.films)
        written.append(f"{len(files)} pictures and films in {arguments.films}")
    return written


def _check(arguments: Arguments) -> None:
    """Before minutes of work: are the numbers possible, and can the results be written where they are wanted?"""
    check_seed(arguments.seed)
    for flag, value in (("--scenes", arguments.scenes), ("--pairs", arguments.pairs), ("--steps", arguments.steps),
                        ("--threads", arguments.threads), ("--batch", arguments.batch)):
        if value is not None:
            check_at_least(value, 1, flag)
    for flag, path in (("--json", arguments.json), ("--table", arguments.table)):
        if path is not None:
            check_file(path, flag)


def _command(argv: list[str]) -> str:
    """The command without what does not change the numbers, so that equal numbers give equal files."""
    kept, skip = [], False
    for word in argv:
        if skip:
            skip = False
        elif word in ("--json", "--table", "--threads"):
            skip = True
        elif not word.startswith(("--json=", "--table=", "--threads=")):
            kept.append(word)
    return shlex.join(["loci", "evaluate", *kept])
