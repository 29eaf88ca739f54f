"""The whole machinery learns: one clip is learnt by heart within a minute, on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean

from rich.console import Console
from squares import square_clip

from loci_looped.configs.recipes import recipe
from loci_looped.configs.training import TrainConfig
from loci_looped.data.store.clip_file import save_clip
from loci_looped.training.log import RunLog, read_log
from loci_looped.training.loop import Trainer


def test_one_clip_is_learnt_by_heart(changed: Callable[..., TrainConfig], tmp_path: Path) -> None:
    """The foreground phase of the small recipe: from noise to a tenth of the error where the object is."""
    save_clip(square_clip(1), tmp_path / "clips" / "only.clip")
    updates = 600
    config = changed(recipe("adept-small"), **{
        "data.folder": str(tmp_path / "clips"), "data.batch": 1, "model.slots": 1, "model.latent": (4, 6), "warm_up": 3,
        "curriculum.updates": updates, "curriculum.foreground_until": 10**6, "curriculum.background_from": 10**6,
        "curriculum.gate_from": 10**6, "curriculum.imagine_from": 10**6, "curriculum.canvas": "black",
        "curriculum.still_steps": 0,
        "optimiser.learning_rate": 2e-3, "log_every": 15, "validation_scenes": 0,
    })
    started = time.process_time()
    with RunLog(tmp_path / "run", updates, console=Console(quiet=True)) as log:
        Trainer(config, tmp_path / "run").run(log)
    errors = [record["foreground_error"] for record in read_log(tmp_path / "run", "train")]
    assert mean(errors[-3:]) < errors[0] / 10, errors
    assert time.process_time() - started < 60
