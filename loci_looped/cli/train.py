"""`loci train RECIPE`: learn, watch it learn, stop and go on at any moment."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated


@dataclass(frozen=True)
class Where:
    """Where and on what the run happens; nothing here changes what is learnt."""

    out: Path | None = None
    """Folder of the run; runs/RECIPE-seedS by default."""
    threads: int = 1
    """CPU threads. Two processes with two threads each on two cores are ten times slower than with one."""
    device: str = "cpu"


def main(argv: list[str]) -> int:
    # Before torch is loaded: its thread pool is sized once.
    threads = next((argv[i + 1] for i, a in enumerate(argv[:-1]) if a == "--threads"), "1")
    os.environ.setdefault("OMP_NUM_THREADS", threads)

    import tyro

    from loci_looped.errors import LociError
    from loci_looped.training.config import RECIPES, TrainConfig, recipe

    if not argv or argv[0] in ("-h", "--help"):
        print("usage: loci train RECIPE [--field value ...] [--seed S] [--threads N] [--out DIR]\n"
              "       loci train --resume RUN [--threads N] [--minutes M]\n\nrecipes: " + ", ".join(RECIPES)
              + "\n\nloci train RECIPE --help lists every field of that recipe.")
        return 0

    resume: Path | None = None
    if argv[0] == "--resume":
        if len(argv) < 2:
            raise LociError("--resume needs the folder of a run, for example --resume runs/adept-small-seed0.")
        resume, argv = Path(argv[1]), argv[2:]
        name = None
    else:
        name, argv = argv[0], argv[1:]
        if "--resume" in argv:
            place = argv.index("--resume")
            if place + 1 >= len(argv):
                raise LociError("--resume needs the folder of a run, for example --resume runs/adept-small-seed0.")
            resume = Path(argv[place + 1])
            argv = argv[:place] + argv[place + 2 :]

    import torch

    from loci_looped.training.loop import resumed_config

    if resume is not None and not resume.is_dir():
        raise LociError(f"There is no run folder {resume} to resume.")
    default = recipe(name) if name else resumed_config(resume, None) if resume else None
    assert default is not None

    @dataclass(frozen=True)
    class Everything:
        config: Annotated[TrainConfig, tyro.conf.arg(name="")]
        where: Annotated[Where, tyro.conf.arg(name="")]

    chosen = tyro.cli(Everything, args=argv, prog=f"loci train {name or '--resume'}", default=Everything(default, Where()))
    config = chosen.config if resume is None else resumed_config(resume, chosen.config)
    torch.set_num_threads(chosen.where.threads)
    folder = resume or chosen.where.out or Path("runs") / f"{config.name}-seed{config.seed}"
    return _train(config, folder, chosen.where.device, resume is not None)


def _train(config: "TrainConfig", folder: Path, device: str, resume: bool) -> int:  # type: ignore[name-defined]  # noqa: F821
    from rich.console import Console
    from rich.progress import Progress

    from loci_looped.errors import LociError
    from loci_looped.training.log import RunLog
    from loci_looped.training.loop import Trainer
    from loci_looped.training.source import open_dataset

    console = Console(stderr=True)
    if not resume and (folder / "checkpoints").exists():
        raise LociError(f"{folder} already holds a run. Go on with --resume {folder}, or choose another folder with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("generating clips (once)", total=config.data.clips)
        dataset = open_dataset(config, config.model.frame, lambda done, total: progress.update(task, completed=done))
    trainer = Trainer(config, folder, dataset if not config.level_two_from else None, device)
    if resume:
        trainer.restore()
    with RunLog(folder, config.curriculum.updates, trainer.update, console) as log:
        if trainer.world.is_first:
            log.say(f"{config.name}, seed {config.seed}, in {folder}; " + ("going on at" if resume else "from") + f" update {trainer.update}")
            for line in config.curriculum.describe():
                log.say(line)
        look = trainer.run(log)
        if trainer.world.is_first:
            done = trainer.update >= config.curriculum.updates or bool(config.minutes)
            log.say(f"{'Finished' if done else 'Stopped'} after {trainer.update} updates, {trainer.seconds / 60:.1f} minutes of training.")
            if look is not None:
                log.say(look.line())
            if not done:
                log.say(f"Go on with: loci train --resume {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
