"""`loci train RECIPE`: learn, watch it learn, stop and go on at any moment."""

from __future__ import annotations

import dataclasses
import difflib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from loci_looped.errors import LociError

if TYPE_CHECKING:
    from rich.console import Console

    from loci_looped.training.checkpoint import Checkpoint
    from loci_looped.training.config import TrainConfig

# Written out, so that `--help` need not load torch; a test compares them with loci_looped.training.config.
RECIPES = {
    "adept": "the paper's network and schedule: 1.15 million updates, for GPUs",
    "clevrer": "the paper's, for colliding objects",
    "balls": "the paper's, for bouncing balls",
    "adept-small": "object permanence on two CPU cores within hours",
    "clevrer-small": "the same for colliding objects",
    "balls-small": "the same for bouncing balls",
}

USAGE = """usage: loci train RECIPE [--seed S] [--threads N] [--out DIR] [--any.field value ...]
       loci train --resume RUN [--threads N] [--minutes M]

Learn from noise to object permanence. Ctrl-C stops a run with a checkpoint; --resume takes it up again exactly where it
was, also after a crash. Many processes: torchrun --nproc-per-node N -m loci_looped.cli.main train RECIPE ...

recipes:
{recipes}

loci train RECIPE --help lists every field of that recipe with its value.
"""


@dataclass(frozen=True)
class Where:
    """Where and on what the run happens; nothing here changes what is learnt."""

    out: Path | None = None
    """Folder of the run; without it runs/NAME-seedS."""
    threads: int = 1
    """CPU threads of each process. Never more than there are idle cores: waiting threads slow the others down."""
    device: str = "cpu"
    """cpu, cuda, or cuda:1."""


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE.format(recipes="\n".join(f"  {name:<15} {text}" for name, text in RECIPES.items())))
        return 0
    name, resume, rest = split_line(argv)
    # Before torch is loaded: its thread pool is sized once.
    os.environ.setdefault("OMP_NUM_THREADS", threads_of(rest))

    from rich.console import Console

    from loci_looped.training.config import recipe
    from loci_looped.training.resume import config_of, resumed_config

    console = Console(stderr=True)
    found = _newest(resume, console) if resume is not None else None
    own = config_of(found) if found is not None else None
    default = recipe(name) if name is not None else own
    assert default is not None
    config, where = parse(rest, default, prog=f"loci train {name or f'--resume {resume}'}")
    if found is None or resume is None:
        return _train(config, where.out or Path("runs") / f"{config.name}-seed{config.seed}", where, None, console)
    if where.out is not None:
        raise LociError(f"A resumed run stays in its folder {resume}; leave out --out {where.out}.")
    return _train(resumed_config(found, config, resume), resume, where, found, console)


def split_line(argv: list[str]) -> tuple[str | None, Path | None, list[str]]:
    """(recipe, run to resume, everything else); at least one of the first two is there."""
    rest = list(argv)
    resume: Path | None = None
    for place, word in enumerate(rest):
        if word == "--resume" or word.startswith("--resume="):
            given = rest[place + 1 : place + 2] if word == "--resume" else [word.partition("=")[2]]
            if not given or not given[0]:
                raise LociError("--resume needs the folder of a run, for example --resume runs/adept-small-seed0.")
            resume = Path(given[0])
            del rest[place : place + (2 if word == "--resume" else 1)]
            break
    name = rest.pop(0) if rest and not rest[0].startswith("-") else None
    if name is not None and name not in RECIPES:
        near = difflib.get_close_matches(name, RECIPES, n=2)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(RECIPES)}."
        raise LociError(f"There is no recipe {name!r}. {hint}")
    if name is None and resume is None:
        raise LociError(f"Which recipe? Say loci train RECIPE with one of {', '.join(RECIPES)}.")
    if resume is not None and not resume.is_dir():
        raise LociError(f"There is no run folder {resume} to resume.")
    return name, resume, rest


def threads_of(words: list[str]) -> str:
    """The value of --threads, before tyro has read the line."""
    for place, word in enumerate(words):
        if word == "--threads" and place + 1 < len(words):
            return words[place + 1]
        if word.startswith("--threads="):
            return word.partition("=")[2]
    return "1"


def parse(words: list[str], default: TrainConfig, prog: str) -> tuple[TrainConfig, Where]:
    """The recipe with the fields of the command line; an unknown field ends the program with the nearest ones."""
    import tyro

    flat = tyro.conf.arg(name="")
    everything: Any = dataclasses.make_dataclass("Everything", [
        ("config", Annotated[type(default), flat]), ("where", Annotated[Where, flat]),
    ], frozen=True)
    chosen = tyro.cli(
        everything, args=words, prog=prog, default=everything(default, Where()),
        description="Train a network. Every field of the recipe can be changed; its present value is in brackets.",
    )
    return chosen.config, chosen.where


def _newest(folder: Path, console: Console) -> Checkpoint:
    """The newest whole checkpoint of a run; damaged ones are told."""
    from loci_looped.training.checkpoint import newest_checkpoint

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = newest_checkpoint(folder / "checkpoints")
    for warning in told:
        console.print(str(warning.message), style="yellow", highlight=False, markup=False, soft_wrap=True)
    return found


def _train(config: TrainConfig, folder: Path, where: Where, found: Checkpoint | None, console: Console) -> int:
    import torch

    from loci_looped.training.checkpoint import checkpoints
    from loci_looped.training.distributed import join
    from loci_looped.training.log import RunLog
    from loci_looped.training.loop import CHECKPOINTS, Trainer

    if where.threads < 1:
        raise LociError(f"--threads {where.threads} is too few: a process needs at least one.")
    torch.set_num_threads(where.threads)
    if found is None and checkpoints(folder / CHECKPOINTS):
        raise LociError(f"{folder} already holds a run. Go on with --resume {folder}, or choose another with --out.")
    world = join(config.data.batch, where.device)
    try:
        trainer = Trainer(config, folder, world=world)
        if found is not None:
            trainer.restore(found)
        if not world.is_first:
            trainer.open_clips()
            trainer.run()
            return 0
        _open_clips(trainer, console)
        with RunLog(folder, config.curriculum.updates, trainer.update, console) as log:
            beginning = "from the beginning" if found is None else f"going on at update {trainer.update}"
            log.say(f"{config.name}, seed {config.seed}, in {folder}, {beginning}")
            for line in config.curriculum.describe():
                log.say(line)
            trainer.run(log)
            ended = "Finished" if trainer.is_over else "Stopped"
            log.say(f"{ended} after {trainer.update} updates, {trainer.seconds / 60:.1f} minutes of training.")
            if not trainer.is_over:
                log.say(f"Go on with: loci train --resume {folder}")
    finally:
        world.close()
    return 0


def _open_clips(trainer: Any, console: Console) -> None:
    """Clips are generated once and then kept in the cache; that takes a while and is shown."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("generating clips (once)", total=None)
        trainer.open_clips(lambda done, total: progress.update(task, completed=done, total=total))
