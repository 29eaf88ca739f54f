"""What each part of learning permanence is worth: one switch off at a time, equal budgets, the same scenes.

    python tools/ablation.py                    train what is missing, measure it, write the table
    python tools/ablation.py --list             only say what would be run
    python tools/ablation.py --train 0          train nothing, write the table of what has been measured
    python tools/ablation.py --seeing runs/adept-learnt-seed{seed}      begin with runs of the recipe that are there
    python tools/ablation.py --paper            the paper's ablations instead, on adept-small (tools/paper_ablation.py)

The table goes into docs/decisions.md, between the lines that mark its place.

Every row is `loci train adept-learnt` with fewer rounds of rehearsal and some fields changed, and then
`loci evaluate` on validation scenes. Rehearsal does not touch what came before it, so switches are changed in a branch
of the unchanged run where it begins, and so can the unchanged run be a branch of any run of the recipe. Whatever stops
this tool, calling it again goes on where it was.
"""

from __future__ import annotations

import argparse
import queue
import shlex
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from loci_looped.configs.recipes import RECIPES
from loci_looped.evaluation.experiments.results import Results, read_results
from loci_looped.evaluation.report.markdown import write_between
from loci_looped.inference.networks import CONFIG, INSIDE_RUN
from loci_looped.utils.errors import LociError

RECIPE = "adept-learnt"
FOLDER = Path("runs") / "ablation"
DOCUMENT = Path(__file__).parents[1] / "docs" / "decisions.md"
PICTURES = RECIPES[RECIPE].rehearsal.rounds_at[0]
"""With pictures, before anything is rehearsed; here nothing is seen afterwards."""
ROUNDS = 1
BUDGET = ("--curriculum.updates", str(PICTURES), "--rehearsal.rounds-at", *(str(PICTURES),) * ROUNDS)
SCENES = ("--scenes", "32", "--movers", "2", "--seed", "1000")

NOISE, DRAWS, SEES = 0, RECIPES[RECIPE].curriculum.still_until, PICTURES
"""Where a run may begin: at the start, where slots can draw, or where the network can see and begins to rehearse."""


@dataclass(frozen=True)
class Switch:
    """One thing that the recipe does, and how to leave it out."""

    name: str           # of the run
    instead: str        # what is done instead, for the table
    flags: str          # as `loci train` takes them; without any it is the unchanged run, used in another way
    begins: int = SEES
    gate: str = "learned"


UNCHANGED = Switch("unchanged", "nothing: the recipe as it is", "", NOISE)
SWITCHES = (
    Switch("gate_rule", "the same network, its gate by the rule 1 - occlusion", "", gate="visibility"),
    Switch("gate_open", "the same network, its gate open (Loci-Unlooped)", "", gate="open"),
    Switch("rehearsal", "no rehearsal: eyes alone, transition and gate as they started", "--rehearsal.rounds-at",
           DRAWS),          # where it sees nothing would be left to do
    Switch("innovation", "the transition does not hear how far its expectation was off",
           "--model.extensions.innovation 1e-6"),
    Switch("hold", "nobody is made to imagine, neither in rehearsal nor while diaries are recorded",
           "--rehearsal.hold 0 --rehearsal.recorded-hold 0"),
    Switch("costs", "open gates cost nothing (L0 0)", "--rehearsal.position-cost 0 --rehearsal.gestalt-cost 0"),
    Switch("binds_in_sight", "newcomers bind whatever they can show", "--model.extensions.binds-in-sight 0"),
    Switch("border", "what should be seen at the border and is not has left", "--model.extensions.border 0.1"),
    Switch("attention", "slots do not hear each other", "--model.transition.no-attention", NOISE),
    Switch("backward", "back-propagation through one step", "--rehearsal.backward 1"),
    Switch("doubtful", "all targets are believed, however far off", "--rehearsal.doubtful 0"),
    Switch("longest_gap", "all targets count alike", "--rehearsal.longest-gap 1"),
    Switch("repainted", "things keep their looks in rehearsal", "--rehearsal.repainted 0"),
    Switch("recognised", "a slot that lost its object is not told where another one met it",
           "--rehearsal.recognised 0"),
    Switch("explained", "what a slot sees may be its own imagination", "--rehearsal.explained 0"),
    Switch("follows", "readings of hidden things stay where they were recorded", "--rehearsal.no-follows"),
    Switch("remembered", "diaries of the last round alone", "--rehearsal.remembered 0"),
)
"""In the order in which they are trained: what we most wanted to know comes first."""


class Task(Protocol):
    """What is trained and measured: one row of a table."""

    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def is_first(self) -> bool: ...         # branches of its seed begin with it
    @property
    def trains(self) -> bool: ...
    @property
    def run(self) -> Path: ...
    @property
    def figures(self) -> Path: ...
    def training(self) -> list[str]: ...
    def evaluation(self) -> list[str]: ...


@dataclass(frozen=True)
class Row:
    switch: Switch
    seed: int
    seeing: str | None = None       # a run of the recipe with this seed, to begin with

    @property
    def name(self) -> str:
        return f"{self.switch.name}-seed{self.seed}"

    @property
    def is_first(self) -> bool:
        return self.switch is UNCHANGED

    @property
    def trains(self) -> bool:
        """Has it a run of its own, or is it the unchanged one, used in another way?"""
        return self.switch is UNCHANGED or bool(self.switch.flags)

    @property
    def run(self) -> Path:
        return FOLDER / (self.name if self.trains else Row(UNCHANGED, self.seed).name)

    @property
    def figures(self) -> Path:
        return FOLDER / f"{self.name}.json"

    def training(self) -> list[str]:
        words = ["train", RECIPE, "--seed", str(self.seed)]
        if "--rehearsal.rounds-at" not in self.switch.flags:
            words += BUDGET
        origin = self.seeing or str(Row(UNCHANGED, self.seed).run)
        begins = SEES if self.switch is UNCHANGED and self.seeing else self.switch.begins
        if begins:
            words += ["--start-from", origin, "--start-update", str(begins)]
        # Validation costs time and changes nothing.
        return [*words, *shlex.split(self.switch.flags), "--validation-scenes", "0", "--out", str(self.run)]

    def evaluation(self) -> list[str]:
        return ["evaluate", str(self.run), *SCENES, "--gate", self.switch.gate, "--json", str(self.figures)]


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    if "--paper" in words:
        import paper_ablation

        return paper_ablation.main([word for word in words if word != "--paper"])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1], help="each switch is tried with these")
    parser.add_argument("--only", nargs="+", metavar="SWITCH", help="these switches alone; the table keeps the others")
    parser.add_argument("--train", type=int, default=2, metavar="N", help="so many runs at once, one thread each")
    parser.add_argument("--seeing", metavar="RUN", help="runs of the recipe to begin with; {seed} stands for the seed")
    parser.add_argument("--paper", action="store_true", help="the paper's ablations instead, on adept-small")
    parser.add_argument("--list", action="store_true", help="print the commands and do nothing")
    arguments = parser.parse_args(argv)
    try:
        seeds = list(dict.fromkeys(arguments.seeds))
        seeing = {seed: arguments.seeing and arguments.seeing.replace("{seed}", str(seed)) for seed in seeds}
        rows = [Row(switch, seed, seeing[seed]) for switch in (UNCHANGED, *SWITCHES) for seed in seeds]
        wanted = chosen(rows, arguments.only)
        if arguments.list:
            for row in wanted:
                print(*(f"loci {shlex.join(words)}" for words in (row.training(), row.evaluation())), sep="\n")
            return 0
        if arguments.train < 0:
            raise LociError(f"--train {arguments.train} is not a number of runs: say 0 for none, or how many at once.")
        troubles = work(wanted, arguments.train) if arguments.train else []
        write_between(DOCUMENT, table(rows, DOCUMENT.read_text(encoding="utf-8")))
        print(f"table in {DOCUMENT}")
        for trouble in troubles:
            print(trouble, file=sys.stderr)
        return 1 if troubles else 0
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def chosen(rows: list[Row], only: list[str] | None) -> list[Row]:
    """The rows that are asked for. The unchanged runs come first: the branches begin with them."""
    if not only:
        return rows
    there = {row.switch.name for row in rows}
    unknown = [name for name in only if name not in there]
    if unknown:
        raise LociError(f"There is no switch {', '.join(unknown)}. There are {', '.join(sorted(there))}.")
    return [row for row in rows if row.switch.name in only or row.switch is UNCHANGED]


def work(rows: Sequence[Task], at_once: int) -> list[str]:
    """Train and measure whatever is missing, so many rows at once; what went wrong, in sentences."""
    troubles: list[str] = []
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for row in rows:
        waiting.put(row)
    unchanged = {row.seed: threading.Event() for row in rows}

    def worker() -> None:
        while True:
            try:
                row = waiting.get_nowait()
            except queue.Empty:
                return
            if not row.is_first:
                unchanged[row.seed].wait()      # branches begin with the unchanged run of their seed
            try:
                finish(row, troubles)
            except OSError as error:
                troubles.append(f"{row.name}: {error}")
            finally:
                if row.is_first:
                    unchanged[row.seed].set()   # whatever came of it, or the others would wait for ever

    workers = [threading.Thread(target=worker) for _ in range(at_once)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    return troubles


def finish(row: Task, troubles: list[str]) -> None:
    """Train a row unless its run has come to its end, and measure it unless that has been done."""
    row.figures.parent.mkdir(parents=True, exist_ok=True)
    if row.trains and not (row.run / INSIDE_RUN / CONFIG).is_file():
        begun = (row.run / "checkpoints").is_dir()
        words = ["train", "--resume", str(row.run)] if begun else row.training()
        if not _loci([*words, "--threads", "1"], row, troubles):
            return
    if not row.figures.is_file():
        _loci([*row.evaluation(), "--threads", "1"], row, troubles)


def _loci(words: list[str], row: Task, troubles: list[str]) -> bool:
    """One command, what it prints in a file beside the run. A row that fails does not stop the others."""
    log = row.figures.with_suffix(".log")
    print(f"loci {shlex.join(words)}", flush=True)
    with log.open("a", encoding="utf-8") as told:
        code = subprocess.run([sys.executable, "-m", "loci_looped", *words], stdout=told, stderr=told).returncode
    if code:
        troubles.append(f"loci {shlex.join(words)} ended with exit code {code}; {log} says why.")
    return code == 0


def table(rows: list[Row], before: str) -> str:
    """Every row that has been measured, and which have not. What another machine has measured stays as it was."""
    known = {tuple(text.split(" | ")[:2]): text for text in before.splitlines() if text.startswith("| ")}
    lines_of = {row: line(row, read_results(row.figures)) if row.figures.is_file()
                else known.get((f"| {label(row)}", str(row.seed))) for row in rows}
    missing = [row.name for row in rows if lines_of[row] is None]
    lines = [
        f"Written by `python tools/ablation.py`. Every row is `loci train {RECIPE} {shlex.join(BUDGET)}`: the first "
        f"{ROUNDS} of the recipe's {len(RECIPES[RECIPE].rehearsal.rounds_at)} rounds of rehearsal, and nothing is seen "
        "after it, with some fields changed, then "
        f"`loci evaluate RUN {shlex.join(SCENES)}` with the gate that is named or the learned "
        f"one: {SCENES[1]} validation scenes, not the test seeds. "
        "`python tools/ablation.py --list` prints every command. "
        f"Changes are made at update {SEES}, where rehearsal begins, in a branch of the unchanged run of that seed. "
        "Errors are in percent of the diagonal, with the 95 % intervals of `loci evaluate`; *tracked* are the movers "
        "whose slot is still with them when they are last seen, of those that were found.",
        "",
        "Intervals tell how much the scenes matter, not the seed: compare the two seeds for that.",
        "",
        "| changed | seed | what is done instead | error visible | error occluded | tracked | MOTA |",
        "|---|---|---|---|---|---|---|",
        *(text for text in lines_of.values() if text is not None),
        "",
    ]
    if missing:
        lines += [f"Not measured: {', '.join(missing)}.", ""]
    return "\n".join(lines)


def label(row: Row) -> str:
    if row.switch.flags:
        return f"`{row.switch.flags}`"
    return "nothing" if row.switch is UNCHANGED else f"`--gate {row.switch.gate}`"


def line(row: Row, results: Results) -> str:
    measured = {figure.metric: figure for figure in results.rows if figure.gate == row.switch.gate}

    def value(metric: str) -> str:
        number = measured.get(metric)
        if number is None or number.value is None:
            return "–"
        interval = "" if number.low is None or number.high is None else f" ({number.low:.1f} to {number.high:.1f})"
        return f"{number.value:.{1 if metric == 'successful' else 2}f}{interval}"

    cells = [
        label(row), str(row.seed), row.switch.instead, value("error_visible"), value("error_occluded"),
        value("successful"), value("mota"),
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
