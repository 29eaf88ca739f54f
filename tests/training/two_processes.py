"""What each of two processes does in the tests of torchrun: trains the runs of a JSON file, one after the other."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from loci_looped.configs.training import TrainConfig
from loci_looped.training.distributed import join
from loci_looped.training.log import RunLog
from loci_looped.training.loop import CHECKPOINTS, Trainer
from loci_looped.utils.checkpoint import checkpoints


class Stopping(RunLog):
    """A log that stops its run once an update has been recorded."""

    trainer: Trainer
    at: int | None

    def record(self, kind: str, update: int, values: dict[str, Any]) -> None:
        super().record(kind, update, values)
        if update == self.at:
            self.trainer.stop()


def main(runs: Path) -> None:
    torch.set_num_threads(1)
    for run in json.loads(runs.read_text()):
        config, folder = TrainConfig.from_json(run["config"]), Path(run["folder"])
        trainer = Trainer(config, folder, world=join(config.data.batch))
        if checkpoints(folder / CHECKPOINTS):
            trainer.restore()
        if not trainer.world.is_first:
            trainer.run()
            continue
        with Stopping(folder, config.curriculum.updates, trainer.update, Console(quiet=True)) as log:
            log.trainer, log.at = trainer, run.get("stop_at")
            trainer.run(log)
    trainer.world.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
