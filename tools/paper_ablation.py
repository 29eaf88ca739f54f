"""The paper's ablations on adept-small: the price of open gates, the weight of the reconstruction, the picture loss.

    python tools/ablation.py --paper            train what is missing, measure it, write table and curves
    python tools/ablation.py --paper --list     only say what would be run
    python tools/ablation.py --paper --train 0  train nothing, write what has been measured

Every row has the same budget, far below the recipe's, and branches off the unchanged run where its switch begins to
act. The table and the curves go to docs/paper_ablation.md and docs/paper_ablation.png. Whatever stops this tool,
calling it again goes on where it was.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ablation
from matplotlib.figure import Figure

from loci_looped.evaluation.experiments.results import Results, read_results
from loci_looped.training.log import LOG, read_log
from loci_looped.utils.atomic import replacing, write_text
from loci_looped.utils.errors import LociError

RECIPE = "adept-small"
FOLDER = Path("runs") / "paper-ablation"
DOCUMENT = Path(__file__).parents[1] / "docs" / "paper_ablation.md"
UPDATES = 3_000
BUDGET = ("--curriculum.updates", str(UPDATES))
SCENES = ("--scenes", "32", "--movers", "2", "--seed", "1000", "--gate", "learned")
NOISE, DRAWS, SEES = 0, 1_800, 2_232
"""Where a row begins: at noise, where slots can draw, or where the gate begins to learn."""
ALONE = "--model.extensions.rules.visibility-prior 0"
"""The gate is by itself, as the paper's is: with the recipe's rule about visibility its price hardly matters."""


@dataclass(frozen=True)
class Setting:
    name: str
    words: str              # for the table
    flags: str
    begins: int
    published: tuple[str, str, str, str, str] | None = None     # setting; error visible, occluded; tracked; MOTA


UNCHANGED = Setting("unchanged", "the recipe as it is (L_rec 0.33)", "", NOISE,
                    ("L_rec .33", "3.2", "3.5", "96.0", ".65"))
SETTINGS = (
    UNCHANGED,
    Setting("lambda_high", "λ 1e-2, no rule in the gate", f"{ALONE} --model.gate.l0-weight 1e-2", SEES,
            ("λ 5e-5", "3.3", "2.8", "77.1", ".65")),
    Setting("lambda_middle", "λ 1e-3, no rule in the gate", f"{ALONE} --model.gate.l0-weight 1e-3", SEES,
            ("λ 5e-6", "5.3", "5.2", "54.5", ".60")),
    Setting("lambda_low", "λ 1e-4, no rule in the gate", f"{ALONE} --model.gate.l0-weight 1e-4", SEES,
            ("λ 5e-7", "11.6", "7.1", "0", ".61")),
    Setting("reconstruction_low", "L_rec 0.1", "--loss.reconstruction 0.1", DRAWS,
            ("L_rec .1", "3.3", "3.3", "84.5", ".67")),
    Setting("reconstruction_none", "L_rec 0", "--loss.reconstruction 0", DRAWS,
            ("L_rec 0", "4.6", "3.9", "70.5", ".60")),
    Setting("picture_loss", "the paper's picture loss: all pixels weigh the same",
            "--loss.no-balanced --loss.no-outlines", DRAWS),
)
"""In the order in which they are trained."""


@dataclass(frozen=True)
class Row:
    setting: Setting
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.setting.name}-seed{self.seed}"

    @property
    def is_first(self) -> bool:
        return self.setting is UNCHANGED

    @property
    def trains(self) -> bool:
        return True

    @property
    def run(self) -> Path:
        return FOLDER / self.name

    @property
    def figures(self) -> Path:
        return FOLDER / f"{self.name}.json"

    def training(self) -> list[str]:
        words = ["train", RECIPE, "--seed", str(self.seed), *BUDGET]
        if self.setting.begins:
            words += ["--start-from", str(Row(UNCHANGED, self.seed).run), "--start-update", str(self.setting.begins)]
        return [*words, *shlex.split(self.setting.flags), "--validation-scenes", "0", "--out", str(self.run)]

    def evaluation(self) -> list[str]:
        return ["evaluate", str(self.run), *SCENES, "--json", str(self.figures)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--train", type=int, default=1, metavar="N", help="so many runs at once, one thread each")
    parser.add_argument("--list", action="store_true", help="print the commands and do nothing")
    arguments = parser.parse_args(argv)
    rows = [Row(setting, arguments.seed) for setting in SETTINGS]
    try:
        if arguments.list:
            for row in rows:
                print(*(f"loci {shlex.join(words)}" for words in (row.training(), row.evaluation())), sep="\n")
            return 0
        if arguments.train < 0:
            raise LociError(f"--train {arguments.train} is not a number of runs: say 0 for none, or how many at once.")
        troubles = ablation.work(rows, arguments.train) if arguments.train else []
        write_text(DOCUMENT, table(rows))
        drawn = draw_curves(rows, DOCUMENT.with_suffix(".png"))
        print(f"table in {DOCUMENT}" + (", curves beside it" if drawn else ""))
        for trouble in troubles:
            print(trouble, file=sys.stderr)
        return 1 if troubles else 0
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def table(rows: Sequence[Row]) -> str:
    """What has been measured, the published figures beside it, and what has not been measured."""
    measured = [row for row in rows if row.figures.is_file()]
    missing = [row.setting.words for row in rows if row not in measured]
    lines = [
        "# The paper's ablations", "",
        f"Written by `python tools/ablation.py --paper`. Every row is `loci train {RECIPE} {shlex.join(BUDGET)}` (the "
        "recipe itself has 6000 updates) with the fields that are named, in a branch of the unchanged run at the "
        f"update that is named, then `loci evaluate RUN {shlex.join(SCENES)}`: validation scenes. One seed and half a "
        "budget: what is close together is not told apart. `--list` prints every command in full. Published: 300 000 "
        "updates on ADEPT, the paper's table 5, for the setting in the last column.", "",
        "Errors are in percent of the diagonal; *tracked* are the movers whose slot is still with them when they are "
        "last seen, of those that were found. The paper's λ presses on other gradients than ours, so its three values "
        "stand beside three of ours in the same order, not beside equal ones.", "",
        "| setting | fields | from update | error visible | error occluded | tracked % | MOTA | published: visible / "
        "occluded / tracked / MOTA (its setting) |",
        "|---|---|--:|--:|--:|--:|--:|---|",
        *(line(row, read_results(row.figures)) for row in measured), "",
    ]
    if any((row.run / LOG).is_file() for row in rows):
        lines += ["![Opening of the position gate, and error on the foreground, over updates](paper_ablation.png)", ""]
    if missing:
        lines += [f"Not measured: {'; '.join(missing)}.", ""]
    return "\n".join(lines)


def line(row: Row, results: Results) -> str:
    found = {figure.metric: figure.value for figure in results.rows if figure.gate == "learned"}

    def value(metric: str, digits: int) -> str:
        number = found.get(metric)
        return "–" if number is None else f"{number:.{digits}f}"

    setting, published = row.setting, "–"
    if setting.published is not None:
        name, *numbers = setting.published
        published = f"{' / '.join(numbers)} ({name})"
    flags = f"`{setting.flags}`" if setting.flags else "none"
    cells = [setting.words, flags, str(setting.begins), value("error_visible", 2), value("error_occluded", 2),
             value("successful", 1), value("mota", 2), published]
    return f"| {' | '.join(cells)} |"


def draw_curves(rows: Sequence[Row], path: Path) -> bool:
    """Openings of the position gate and errors on the foreground, from where the runs part; False without any run."""
    runs = [row for row in rows if (row.run / LOG).is_file()]
    if not runs:
        return False
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for row in runs:
        told = [one for one in read_log(row.run, "train") if one["update"] >= max(row.setting.begins, DRAWS)]
        updates = [one["update"] for one in told]
        left.plot(updates, [one.get("position_gate") for one in told], label=row.setting.words)
        right.plot(updates, [one.get("foreground_error") for one in told])
    left.set(xlabel="update", ylabel="opening of the position gate", ylim=(0, 1.02))
    right.set(xlabel="update", ylabel="squared error on the foreground", ylim=(0, None))
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", fontsize=7)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    return True


if __name__ == "__main__":
    sys.exit(main())
