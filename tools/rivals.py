"""Train the small rivals as honestly as ours: the clips and core-minutes of our network of that world; two seeds.

    python tools/rivals.py --list       only say what would be run
    python tools/rivals.py              train what is missing, measure all runs on validation scenes
    python tools/rivals.py savi-small   the same for one of them
    python tools/rivals.py --budgets 1 2        twice as many updates as well
    python tools/rivals.py --table docs/figures/rivals/*.json
                                        a table of what `loci evaluate --json` wrote for one experiment

Every run is one `loci train`, which goes on where it was stopped, and one `loci evaluate` on validation scenes. The
best run of each rival is then told with the commands that measure it on test scenes and ship it: those are typed by
hand, once.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loci_looped.configs.recipes import any_recipe
from loci_looped.evaluation.experiments.results import read_results
from loci_looped.evaluation.experiments.summary import cell
from loci_looped.evaluation.report.tables import called
from loci_looped.inference.networks import CONFIG, INSIDE_RUN
from loci_looped.utils.errors import LociError

SEEDS = (0, 1)


@dataclass(frozen=True)
class Measured:
    """What is measured of a rival's runs on validation scenes, and what decides between them."""

    experiment: str
    scenes: str             # as `loci evaluate` takes them
    best_by: str
    tests: str              # the same for the scenes that only the best run is shown, once
    lowest: bool = False    # is less of it better?
    told: tuple[str, ...] = ()
    condition: tuple[str, ...] = ()


TRACKING = Measured(
    "tracking", "--scenes 64 --movers 2 --seed 1000", "mota",       # neither looking away nor guessing improves it
    "--scenes 50 --movers 2 --seed 600",
    told=("error_visible", "error_occluded", "successful", "movers_found"),
)
RIVALS = {
    "savi-small": TRACKING, "loci-v1-small": TRACKING, "gswm-small": TRACKING,
    "savi-collide-small": Measured(
        "interruptions", "--scenes 16 --seed 1000 --probabilities 0.2 --no-lpips", "fg_ari",
        "--seed 600 --probabilities 0.2 --no-lpips", told=("psnr", "ari"), condition=("0.2", "visible"),
    ),
    "gswm-balls-small": Measured(
        "imagination", "--scenes 16 --seed 1000 --modes imagine", "distance_sum", "", lowest=True,
        told=("percept_error", "failed"),
    ),
}


@dataclass(frozen=True)
class Run:
    rival: str
    seed: int
    budget: int

    @property
    def folder(self) -> Path:
        return Path("runs") / f"{self.rival}-seed{self.seed}{'' if self.budget == 1 else f'-x{self.budget}'}"

    @property
    def results(self) -> Path:
        return self.folder / "validation.json"

    @property
    def is_trained(self) -> bool:
        return (self.folder / INSIDE_RUN / CONFIG).is_file()

    def training(self) -> list[str]:
        if (self.folder / "checkpoints").is_dir():
            return ["train", "--resume", str(self.folder)]
        updates = self.budget * any_recipe(self.rival).updates
        words = ["train", self.rival, "--seed", str(self.seed), "--out", str(self.folder)]
        return words if self.budget == 1 else [*words, "--curriculum.updates", str(updates)]

    def measuring(self) -> list[str]:
        measured = RIVALS[self.rival]
        return ["evaluate", str(self.folder), "--experiment", measured.experiment, *measured.scenes.split(),
                "--json", str(self.results)]

    def still_to_do(self) -> list[list[str]]:
        return ([] if self.is_trained else [self.training()]) + ([] if self.results.is_file() else [self.measuring()])

    def figures(self) -> dict[str, float | None]:
        measured, found = RIVALS[self.rival], read_results(self.results)
        wanted = (*measured.told, measured.best_by)
        return {
            row.metric: row.value for row in found.rows
            if row.metric in wanted and (not measured.condition or row.condition == measured.condition)
        }

    def quality(self) -> float:
        """What decides between the runs of a rival; larger is better."""
        measured = RIVALS[self.rival]
        value = self.figures().get(measured.best_by)
        return float("-inf") if value is None else -value if measured.lowest else value


def tell(rival: str, runs: list[Run]) -> None:
    """The figures of all runs of a rival, and what to type for the best of them."""
    for run in runs:
        told = (f"{name} {'-' if value is None else f'{value:.3g}'}" for name, value in run.figures().items())
        print(f"{run.folder}: {'  '.join(told)}")
    chosen, measured = max(runs, key=Run.quality), RIVALS[rival]
    print(f"the best of them by {measured.best_by} is {chosen.folder}; measure it on test scenes, once, and ship it:")
    words = ["loci", "evaluate", str(chosen.folder), "--experiment", measured.experiment, *measured.tests.split()]
    print(f"  {shlex.join(words)} --json {measured.experiment}.json")
    print(f"  python tools/ship.py {chosen.folder} {rival} --figures {measured.experiment}.json")


COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "tracking": (
        ("error visible %", "error_visible"), ("error occluded %", "error_occluded"), ("tracked %", "successful"),
        ("movers found %", "movers_found"), ("MOTA", "mota"),
        ("false positives per frame", "false_positives_per_frame"),
    ),
    "imagination": (
        ("distance, sum over 10", "distance_sum"), ("distance at 10", "distance_at_10"),
        ("off before, image widths", "percept_error"), ("sequences without enough slots %", "failed"),
    ),
    "interruptions": (("PSNR", "psnr"), ("SSIM", "ssim"), ("FG-ARI", "fg_ari"), ("mIoU", "miou")),
}
"""Of each experiment the columns of its table. The last one, which no model lacks, tells what was measured at all."""


def table(files: Sequence[Path]) -> list[str]:
    """Results of one experiment in Markdown, in the order of the files, with the commands below."""
    found = [read_results(file) for file in files]
    experiments = list(dict.fromkeys(results.experiment for results in found))
    if len(experiments) > 1 or experiments[0] not in COLUMNS:
        raise LociError(
            f"A table is of one experiment ({', '.join(COLUMNS)}), but the files are of {', '.join(experiments)}."
        )
    columns = COLUMNS[experiments[0]]
    lines = ["| model | " + " | ".join(words for words, _ in columns) + " |", "|---" + "|--:" * len(columns) + "|"]
    for results in found:
        for case in results.cases(experiments[0], columns[-1][1]):
            cells = [cell(results.find(case, metric)) for _, metric in columns]
            lines.append(f"| {', '.join((called(case), *case.condition))} | {' | '.join(cells)} |")
    return [*lines, "", "Commands:", *(f"- `{results.command}`" for results in found)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rivals", nargs="*", choices=[*RIVALS, []], metavar="RIVAL", help=", ".join(RIVALS))
    parser.add_argument("--budgets", type=int, nargs="+", default=[1], metavar="N", help="multiples of the updates")
    parser.add_argument("--list", action="store_true", help="only say what would be run")
    parser.add_argument("--table", type=Path, nargs="+", default=[], help="files of results: print them as a table")
    arguments = parser.parse_args(argv)
    if arguments.table:
        try:
            print("\n".join(table(arguments.table)))
        except (LociError, OSError) as error:
            print(error, file=sys.stderr)
            return 2
        return 0
    for rival in arguments.rivals or RIVALS:
        runs = [Run(rival, seed, budget) for budget in arguments.budgets for seed in SEEDS]
        for run in runs:
            for words in run.still_to_do():
                print(shlex.join(["loci", *words]), flush=True)
                if not arguments.list and subprocess.run([sys.executable, "-m", "loci_looped", *words]).returncode:
                    return 1
        if not arguments.list:
            tell(rival, runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
