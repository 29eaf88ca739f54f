"""What each switch of the small recipe is worth: one switch off at a time, equal budgets, the same scenes.

    python tools/ablation.py                    train what is missing, measure it, write the table
    python tools/ablation.py --list             only say what would be run
    python tools/ablation.py --train 0          train nothing, write the table of what has been measured

The table goes into docs/decisions.md, between the lines that mark its place.

Every row is `loci train adept-small` with two thirds of its updates and some fields changed, and then `loci evaluate`
on validation scenes. A switch that does not matter before a phase begins is changed there, in a branch of the unchanged
run, which costs less. Whatever stops this tool, calling it again goes on where it was.
"""

from __future__ import annotations

import argparse
import queue
import shlex
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from loci_looped.configs.recipes import RECIPES
from loci_looped.evaluation.experiments.results import Results, read_results
from loci_looped.evaluation.report.markdown import write_between
from loci_looped.inference.networks import CONFIG, INSIDE_RUN
from loci_looped.utils.errors import LociError

RECIPE = "adept-small"
FOLDER = Path("runs") / "ablation"
DOCUMENT = Path(__file__).parents[1] / "docs" / "decisions.md"
BUDGET = ("--curriculum.updates", "4000")
SCENES = ("--scenes", "64", "--movers", "2", "--seed", "1000")

NOISE, FILMS, GATE = 0, 1800, 2232
"""Where a run may begin: at the start, where films follow single frames, where the percept gate begins to learn."""


@dataclass(frozen=True)
class Switch:
    """One thing that the small recipe does beyond the paper, and how to leave it out."""

    name: str           # of the run
    instead: str        # what is done instead, for the table
    flags: str          # as `loci train` takes them
    begins: int = NOISE
    gate: str = "learned"


UNCHANGED = Switch("unchanged", "nothing: the recipe as it is", "")
SWITCHES = (
    Switch("visibility_prior", "the gate has to find out by itself that what is hidden cannot be sensed",
           "--model.extensions.rules.visibility-prior 0", GATE),
    Switch("speed_from", "speed is learnt from everything that enters the percept",
           "--model.extensions.rules.speed-from everything", FILMS),
    Switch("still_steps", "whole clips while slots learn to draw", "--curriculum.still-steps 0"),
    Switch("deviation", "no limit on what the transition adds to inertia",
           "--model.extensions.rules.deviation 0", FILMS),
    Switch("initialisation", "the paper's initialisation: residual branches unscaled, grey first and last layer",
           "--model.extensions.no-he-start"),
    Switch("inertia", "motion is learnt from nothing", "--model.extensions.rules.inertia 0", FILMS),
    Switch("shuts_at_in_use", "in use the gate shuts at a fifth, as in training, not at a tenth",
           "--model.extensions.rules.shuts-at-in-use 0", GATE),
    Switch("minimum_error_in_use", "recruiting in use as eager as in training",
           "--model.extensions.minimum-error-in-use 0", GATE),
    Switch("centring", "places need not be in the middle of masks", "--loss.centring 0", FILMS),
    Switch("latent_grid", "the paper's latent grid, stretched to the border", "--model.extensions.no-aligned-grid"),
    Switch("gate_from", "Loci-Unlooped: the gate never learns and stays open", "--curriculum.gate-from 1000000",
           GATE, "open"),
    Switch("persistence", "looks may change while they are imagined", "--model.extensions.rules.persistence 0", FILMS),
    Switch("canvas", "black behind the objects while slots learn to draw, never random colours",
           "--curriculum.canvas black --curriculum.colours-share 0"),
    Switch("shuts_at_a_tenth", "the gate shuts at a tenth in training, too",
           "--model.extensions.rules.shuts-at 0.1", GATE),
    Switch("hold", "slots are never held shut", "--curriculum.hold 0", GATE),
    Switch("balanced", "the plain picture loss: all pixels weigh the same", "--loss.no-balanced --loss.no-outlines"),
    Switch("newcomers", "late slots paint in front", "--model.extensions.no-newcomers-behind", FILMS),
    Switch("offsets", "places are read off the cells of the latent grid alone", "--model.extensions.no-offsets"),
    Switch("outlines", "balanced, but false foreground around objects is nearly free", "--loss.no-outlines", FILMS),
    Switch("gestalt_head", "the paper's gestalt head: one large convolution",
           "--model.extensions.no-attended-gestalt"),
    Switch("l0_weight", "no pressure to shut the gate", "--model.gate.l0-weight 0", GATE),
    Switch("placement", "the paper's stochastic placement of free slots", "--curriculum.placement stochastic"),
    Switch("open_when_lost", "a slot that shows nothing may stay shut",
           "--model.extensions.rules.no-open-when-lost", GATE),
    Switch("shuts_at", "the gate's belief shuts it at half occlusion, not at a fifth",
           "--model.extensions.rules.shuts-at 0.5 --model.extensions.rules.shuts-at-in-use 0", GATE),
    Switch("colours_share", "random colours end when the background has come",
           "--curriculum.colours-share 0", FILMS),
    Switch("position_prior", "slots do not begin to look at their own place", "--model.extensions.no-own-place"),
    Switch("credit", "the paper's e-prop", "--model.transition.credit eprop", FILMS),
    Switch("average", "no moving average of the weights", "--optimiser.average 0", GATE),
    Switch("size_head", "the paper's size head", "--model.extensions.bounded-size 0"),
    Switch("optimiser", "the paper's rectified Adam, unclipped", "--optimiser.kind radam --optimiser.clip 0"),
    Switch("explaining_away", "slots also look where others are", "--model.extensions.no-explaining-away"),
)
"""In the order in which they are trained: what we most wanted to know comes first."""


@dataclass(frozen=True)
class Row:
    switch: Switch
    seed: int

    @property
    def name(self) -> str:
        return f"{self.switch.name}-seed{self.seed}"

    @property
    def run(self) -> Path:
        return FOLDER / self.name

    @property
    def figures(self) -> Path:
        return FOLDER / f"{self.name}.json"

    def training(self) -> list[str]:
        words = ["train", RECIPE, "--seed", str(self.seed), *BUDGET]
        if self.switch.begins:
            words += ["--start-from", str(Row(UNCHANGED, self.seed).run), "--start-update", str(self.switch.begins)]
        # Validation costs time and changes nothing.
        return [*words, *shlex.split(self.switch.flags), "--validation-scenes", "0", "--out", str(self.run)]

    def evaluation(self) -> list[str]:
        return ["evaluate", str(self.run), *SCENES, "--gate", self.switch.gate, "--json", str(self.figures)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the runs with a switch changed")
    parser.add_argument("--unchanged", type=int, nargs="*", default=[0, 1], help="seeds of the unchanged recipe")
    parser.add_argument("--only", nargs="+", metavar="SWITCH", help="these switches alone; the table keeps the others")
    parser.add_argument("--train", type=int, default=2, metavar="N", help="so many runs at once, one thread each")
    parser.add_argument("--list", action="store_true", help="print the commands and do nothing")
    arguments = parser.parse_args(argv)
    try:
        first, *others = (Row(UNCHANGED, seed) for seed in dict.fromkeys([arguments.seed, *arguments.unchanged]))
        switched = [Row(switch, arguments.seed) for switch in SWITCHES]
        rows = [first, *others, *switched]
        wanted = chosen([first, *switched, *others], arguments.only)
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
    """The rows that are asked for. The unchanged run of the branches comes first: they begin with it."""
    if not only:
        return rows
    there = {row.switch.name for row in rows}
    unknown = [name for name in only if name not in there]
    if unknown:
        raise LociError(f"There is no switch {', '.join(unknown)}. There are {', '.join(sorted(there))}.")
    return [row for row in rows if row.switch.name in only or row is rows[0]]


def work(rows: list[Row], at_once: int) -> list[str]:
    """Train and measure whatever is missing, so many rows at once; what went wrong, in sentences."""
    troubles: list[str] = []
    waiting: queue.SimpleQueue[Row] = queue.SimpleQueue()
    for row in rows:
        waiting.put(row)
    unchanged = threading.Event()

    def worker() -> None:
        while True:
            try:
                row = waiting.get_nowait()
            except queue.Empty:
                return
            if row.switch.begins:
                unchanged.wait()        # branches begin with the first row
            try:
                finish(row, troubles)
            except OSError as error:
                troubles.append(f"{row.name}: {error}")
            finally:
                if row is rows[0]:
                    unchanged.set()     # whatever came of it, or the others would wait for ever

    workers = [threading.Thread(target=worker) for _ in range(at_once)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    return troubles


def finish(row: Row, troubles: list[str]) -> None:
    """Train a row unless its run has come to its end, and measure it unless that has been done."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not (row.run / INSIDE_RUN / CONFIG).is_file():
        begun = (row.run / "checkpoints").is_dir()
        words = ["train", "--resume", str(row.run)] if begun else row.training()
        if not _loci([*words, "--threads", "1"], row, troubles):
            return
    if not row.figures.is_file():
        _loci([*row.evaluation(), "--threads", "1"], row, troubles)


def _loci(words: list[str], row: Row, troubles: list[str]) -> bool:
    """One command, what it prints in a file beside the run. A row that fails does not stop the others."""
    log = FOLDER / f"{row.name}.log"
    print(f"loci {shlex.join(words)}", flush=True)
    with log.open("a", encoding="utf-8") as told:
        code = subprocess.run([sys.executable, "-m", "loci_looped", *words], stdout=told, stderr=told).returncode
    if code:
        troubles.append(f"loci {shlex.join(words)} ended with exit code {code}; {log} says why.")
    return code == 0


def table(rows: list[Row], before: str) -> str:
    """Every row that has been measured, and which have not. What another machine has measured stays as it was."""
    known = {text.split(" | ")[0]: text for text in before.splitlines() if text.startswith("| ")}
    lines_of = {row: line(row, read_results(row.figures)) if row.figures.is_file() else known.get(f"| {label(row)}")
                for row in rows}
    missing = [row.name for row in rows if lines_of[row] is None]
    lines = [
        f"Written by `python tools/ablation.py`. Every row is `loci train {RECIPE} {shlex.join(BUDGET)}`, so that all "
        f"have the same budget (the recipe itself has {RECIPES[RECIPE].curriculum.updates} updates), with some fields "
        f"changed, then `loci evaluate RUN {shlex.join(SCENES)} --gate learned` "
        "(Loci-Unlooped: `--gate open`): 64 validation scenes, not the test seeds. `python tools/ablation.py --list` "
        f"prints every command in full. A switch that only matters later is changed at update {FILMS} or {GATE}, in a "
        "branch of the unchanged run. Errors are in percent of the diagonal, with the 95 % intervals of `loci "
        "evaluate`; *tracked* are the movers whose slot is still with them at the end, of those that were found.",
        "",
        "Intervals tell how much the scenes matter, not the seed: the unchanged rows tell that.",
        "",
        "| changed | what is done instead | from update | error visible | error occluded | tracked | found |",
        "|---|---|---|---|---|---|---|",
        *(text for text in lines_of.values() if text is not None),
        "",
    ]
    if missing:
        lines += [f"Not measured: {', '.join(missing)}.", ""]
    return "\n".join(lines)


def label(row: Row) -> str:
    return (f"`{row.switch.flags}`" if row.switch.flags else "nothing") + f", seed {row.seed}"


def line(row: Row, results: Results) -> str:
    measured = {figure.metric: figure for figure in results.rows if figure.gate == row.switch.gate}

    def value(metric: str) -> str:
        number = measured.get(metric)
        if number is None or number.value is None:
            return "–"
        interval = "" if number.low is None or number.high is None else f" ({number.low:.1f} to {number.high:.1f})"
        return f"{number.value:.{2 if interval else 1}f}{interval}"

    cells = [
        label(row), row.switch.instead, str(row.switch.begins), value("error_visible"),
        value("error_occluded"), value("successful"), value("movers_found"),
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
