"""`loci train RECIPE`: learn, watch it learn, stop and go on at any moment."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from loci_looped.cli.checks import check_folder, check_training
from loci_looped.configs.recipes import ABOUT, BEGINS_WITH, EVERY_RECIPE, any_recipe, check_name
from loci_looped.configs.refinement import refined
from loci_looped.configs.training import TrainConfig
from loci_looped.utils.errors import LociError
from loci_looped.utils.lock import locked

if TYPE_CHECKING:
    from rich.console import Console

    from loci_looped.configs.training import RunConfig
    from loci_looped.utils.checkpoint import Checkpoint

Config = TypeVar("Config", bound="RunConfig")

USAGE = """usage: loci train RECIPE [--seed S] [--threads N] [--out DIR] [--any.field value ...]
       loci train own-films --data.folder FILMS [--seed S] [--threads N] [--out DIR]
       loci train --resume RUN [--threads N] [--minutes M]
       loci train RECIPE --begin-with NETWORK [--any.field value ...]
       loci train RECIPE --start-from RUN [--start-update N] --out DIR [--any.field value ...]
       loci train RECIPE --refine [--begin-with NETWORK] [--any.field value ...]

Learn from noise to object permanence, or train a rival on the same clips. Ctrl-C stops a run with a checkpoint;
--resume takes it up again exactly where it was, also after a crash.
Many processes: torchrun --nproc-per-node N -m loci_looped.cli.main train RECIPE ...

--begin-with takes the weights of a network (adept-learnt, or the folder of a run) instead of noise, and nothing else:
for films of your own, which are few. The recipe own-films does so by itself.
--minutes M stops a run after M minutes by the clock, whatever else the machine does meanwhile; --resume goes on.
--start-from begins a new run at a checkpoint of another (its newest, or that of update N), with all it has learnt and
counted, but with the configuration of this line: repeat the fields the other run had, and change what is to differ.
--refine grows a trained small network (the shipped one of that name, or that of --begin-with) to frames four times as
fine and teaches it to paint details; what it knows stays as it is.

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


@dataclass(frozen=True)
class Line:
    """What is asked for, before the fields of the recipe are read. There is a recipe or a run to resume."""

    recipe: str | None
    resume: Path | None
    start_from: Path | None
    start_update: int | None
    begin_with: str | None
    rest: list[str]
    refine: bool = False


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE.format(recipes="\n".join(f"  {name:<15} {text}" for name, text in ABOUT.items())))
        return 0
    line = split_line(argv)
    # Before torch is loaded: its thread pool is sized once.
    os.environ.setdefault("OMP_NUM_THREADS", threads_of(line.rest))

    from rich.console import Console

    console = Console(stderr=True)
    if line.resume is not None:
        from loci_looped.training.resume import config_of, resumed_config
        from loci_looped.utils.checkpoint import newest_checkpoint

        folder = line.resume
        with _held(folder):         # before reading: whoever holds it may be about to write a newer checkpoint
            found = _reading(lambda: newest_checkpoint(folder / "checkpoints"), console)
            default = any_recipe(line.recipe) if line.recipe is not None else config_of(found)
            config, where = parse(line.rest, default, prog=f"loci train {line.recipe or f'--resume {folder}'}")
            if where.out is not None:
                raise LociError(f"A resumed run stays in its folder {folder}; leave out --out {where.out}.")
            return _train(resumed_config(found, config, folder), folder, where, found, None, console)
    assert line.recipe is not None
    chosen = any_recipe(line.recipe)
    if line.refine:
        chosen = refined(chosen)
    config, where = parse(line.rest, chosen, prog=f"loci train {line.recipe}{' --refine' if line.refine else ''}")
    if line.recipe in BEGINS_WITH and not config.data.folder:
        raise LociError(f"{line.recipe} learns from your films: say where they are, with --data.folder FOLDER.")
    folder = where.out or Path("runs") / f"{config.name}-seed{config.seed}"
    check_folder(folder)
    other = line.start_from

    from loci_looped.training.branch import starting_point

    start = _reading(lambda: starting_point(other, line.start_update), console) if other is not None else None
    with _held(folder):
        usual = line.recipe if line.refine else BEGINS_WITH.get(line.recipe)
        begin_with = line.begin_with or (usual if start is None else None)
        return _train(config, folder, where, start, other, console, begin_with)


def _held(folder: Path) -> AbstractContextManager[None]:
    """Nobody else trains in this folder meanwhile. Of many processes that torchrun started, the first one holds it."""
    return locked(folder, "trains") if os.environ.get("RANK", "0") == "0" else nullcontext()


def split_line(argv: list[str]) -> Line:
    """Take the recipe and the runs to go on from out of the line; the rest is for tyro."""
    rest = list(argv)
    resume = _take(rest, "--resume", "the folder of a run, for example --resume runs/adept-small-seed0")
    start = _take(rest, "--start-from", "the folder of a run, for example --start-from runs/adept-small-seed0")
    begin = _take(rest, "--begin-with", "a network, for example --begin-with adept-learnt")
    update = _take(rest, "--start-update", "the update of a checkpoint, for example --start-update 4000")
    refine = "--refine" in rest
    rest = [word for word in rest if word != "--refine"]
    name = rest.pop(0) if rest and not rest[0].startswith("-") else None
    if name is not None:
        check_name(name, EVERY_RECIPE)
    if resume is not None and start is not None:
        raise LociError(
            f"Either --resume {resume} goes on with that run in its folder, or --start-from {start} begins a new one "
            "from it: leave out one of them."
        )
    if refine and (resume or start):
        raise LociError(
            f"--refine begins a new run out of a finished network, but --{'resume' if resume else 'start-from'} goes "
            "on with one under way: leave out one of them. A run of --refine that was stopped is resumed as any other."
        )
    if begin is not None and (resume or start):
        raise LociError(
            f"--begin-with {begin} is for a new run, but --{'resume' if resume else 'start-from'} goes on with weights "
            "that are there: leave out one of them."
        )
    if update is not None and start is None:
        raise LociError(f"--start-update {update} needs --start-from RUN: which run's checkpoint is meant?")
    if update is not None and not update.isdecimal():
        raise LociError(f"--start-update {update} is not a number of updates; write for example --start-update 4000.")
    if name is None and resume is None:
        again = f" --start-from {start}, as a new run has the configuration of its own line," if start else ""
        raise LociError(f"Which recipe? Say loci train RECIPE{again} with one of {', '.join(EVERY_RECIPE)}.")
    for folder, purpose in ((resume, "resume"), (start, "start from")):
        if folder is not None and not Path(folder).is_dir():
            raise LociError(f"There is no run folder {folder} to {purpose}.")
    return Line(
        name, Path(resume) if resume else None, Path(start) if start else None, int(update) if update else None,
        begin, rest, refine,
    )


def _take(words: list[str], flag: str, needed: str) -> str | None:
    """Remove a flag with its value from the line; None if it is not there."""
    for place, word in enumerate(words):
        if word == flag or word.startswith(f"{flag}="):
            given = words[place + 1 : place + 2] if word == flag else [word.partition("=")[2]]
            if not given or not given[0] or given[0].startswith("--"):
                raise LociError(f"{flag} needs {needed}.")
            del words[place : place + (2 if word == flag else 1)]
            return given[0]
    return None


def threads_of(words: list[str]) -> str:
    """The value of --threads, before tyro has read the line."""
    for place, word in enumerate(words):
        if word == "--threads" and place + 1 < len(words):
            return words[place + 1]
        if word.startswith("--threads="):
            return word.partition("=")[2]
    return "1"


def parse(words: list[str], default: Config, prog: str) -> tuple[Config, Where]:
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
    check_training(chosen.config)
    return chosen.config, chosen.where


def _reading(read: Callable[[], Checkpoint], console: Console) -> Checkpoint:
    """Read a checkpoint; damaged ones that are passed over are reported."""
    with warnings.catch_warnings(record=True) as passed_over:
        warnings.simplefilter("always")
        found = read()
    for warning in passed_over:
        console.print(str(warning.message), style="yellow", highlight=False, markup=False, soft_wrap=True)
    return found


def _train(
    config: RunConfig, folder: Path, where: Where, found: Checkpoint | None, other: Path | None, console: Console,
    begin_with: str | None = None,
) -> int:
    """Train from noise, with another network's weights, or from a checkpoint: the run's own, or that of the other run
    that it branches off."""
    import torch

    from loci_looped.training.branch import branch_of, take_over_log
    from loci_looped.training.diagnostics import too_short
    from loci_looped.training.distributed import join
    from loci_looped.training.inherit import inheritance
    from loci_looped.training.log import RunLog
    from loci_looped.training.loop import CHECKPOINTS, Trainer
    from loci_looped.training.refine import growth
    from loci_looped.utils.checkpoint import checkpoints
    from loci_looped.utils.memory import keep_memory

    if where.threads < 1:
        raise LociError(f"--threads {where.threads} is too few: a process needs at least one.")
    torch.set_num_threads(where.threads)
    keep_memory()
    if (found is None or other is not None) and checkpoints(folder / CHECKPOINTS):
        raise LociError(f"{folder} already holds a run. Go on with --resume {folder}, or choose another with --out.")
    world = join(config.data.batch, where.device)
    try:
        trainer = Trainer(config, folder, world=world)
        config = trainer.config
        branch = branch_of(found, other, config, trainer.model.state_dict()) if found and other else None
        if found is not None:
            trainer.restore(branch.checkpoint if branch else found)
        inherited = None
        if found is None and not begin_with and isinstance(config, TrainConfig) and config.rehearsal.inherited:
            raise LociError("rehearsal.inherited is for a run that begins with a network: say which, --begin-with.")
        if begin_with:
            fresh = trainer.model.state_dict()
            grows = isinstance(config, TrainConfig) and config.learns == "details"
            inherited = growth(begin_with, fresh) if grows else inheritance(begin_with, fresh, config.kind)
        if inherited is not None:
            trainer.begin_with(inherited)
        if not world.is_first:
            trainer.open_clips()
            trainer.run()
            return 0
        notes = _open_clips(trainer, console)
        if other is not None:
            take_over_log(other, folder)
        with RunLog(folder, config.updates, trainer.update, console) as log:
            beginning = "from the beginning" if found is None else f"going on at update {trainer.update}"
            beginning += f" of {other}" if other else ""
            log.say(f"{config.name}, seed {config.seed}, in {folder}, {beginning}; {config.precision} precision")
            if inherited is not None:
                log.say(inherited.sentence)
            if branch is not None:
                for line in branch.sentences:
                    log.say(line)
                log.record("branch", trainer.update, {"run": branch.run, "changed": "; ".join(branch.changed)})
            for line in (*summarised(notes), *config.describe()):
                log.say(line)
            trainer.run(log)
            ended = "Finished" if trainer.is_over else "Stopped"
            log.say(f"{ended} after {trainer.update} updates, {trainer.seconds / 60:.1f} minutes of training.")
            usual = EVERY_RECIPE[config.name].updates if config.name in EVERY_RECIPE else None
            if trainer.is_over and (sentence := too_short(trainer.update, usual)):
                log.say(sentence)
            if not trainer.is_over:
                log.say(f"Go on with: loci train --resume {folder}")
    finally:
        world.close()
    return 0


MOST_NOTES = 8


def summarised(notes: tuple[str, ...]) -> list[str]:
    """The last ones, which are about all films, and some of the others."""
    if len(notes) <= MOST_NOTES:
        return list(notes)
    shown = MOST_NOTES // 2
    return [*notes[:shown], f"... and {len(notes) - 2 * shown} more such notes", *notes[-shown:]]


def _open_clips(trainer: Any, console: Console) -> tuple[str, ...]:
    """Clips are generated or films prepared once, and then kept in the cache; that takes a while and is shown. Returns
    what a careful user should know about them."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("preparing clips (once)", total=None)
        clips = trainer.open_clips(lambda done, total: progress.update(task, completed=done, total=total))
    return tuple(clips.notes)
