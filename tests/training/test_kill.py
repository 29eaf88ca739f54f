"""kill -9 at random moments: every resume succeeds, and the losses are those of the uninterrupted run, bit for bit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from squares import flags_of

from loci_looped.configs.recipes import recipe
from loci_looped.configs.training import TrainConfig
from loci_looped.training.log import RunLog, read_log
from loci_looped.training.loop import CHECKPOINTS, Trainer
from loci_looped.utils.checkpoint import checkpoints

Change = Callable[..., TrainConfig]


def _losses(folder: Path) -> list[tuple[int, float, float]]:
    return [(r["update"], r["loss"], r["gradient_norm"]) for r in read_log(folder, "train")]


def _reached(folder: Path) -> int:
    """The last update in the log, -1 before the first checkpoint."""
    done = read_log(folder, "train")
    return done[-1]["update"] if done else 0 if checkpoints(folder / CHECKPOINTS) else -1


def _train(config: TrainConfig, folder: Path) -> None:
    trainer = Trainer(config, folder)
    if checkpoints(folder / CHECKPOINTS):
        trainer.restore()
    with RunLog(folder, config.curriculum.updates, trainer.update, Console(quiet=True)) as log:
        trainer.run(log)


def _forked(config: TrainConfig, folder: Path) -> int:
    """A child process that trains; returns its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _train(config, folder)
            code = 0
        finally:
            os._exit(code)
    return child


def test_a_killed_run_goes_on_bit_for_bit(tiny: TrainConfig, changed: Change, tmp_path: Path) -> None:
    config = changed(tiny, **{"curriculum.updates": 34})
    _train(config, tmp_path / "whole")
    folder, luck = tmp_path / "killed", random.Random(1)
    for moment in (luck.randrange(2, 12), luck.randrange(18, 30)):
        child = _forked(config, folder)
        while _reached(folder) < moment:
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the run ended by itself"
            time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    child = _forked(config, folder)
    assert os.waitpid(child, 0)[1] == 0
    assert _losses(folder) == _losses(tmp_path / "whole") and len(_losses(folder)) == 34


@pytest.mark.slow
def test_twenty_kills_of_the_real_program(tiny: TrainConfig, changed: Change, tmp_path: Path) -> None:
    config = changed(tiny, **{"curriculum.updates": 200, "curriculum.gate_from": 60, "curriculum.foreground_until": 40})
    words = flags_of(config, recipe("adept-small"))
    program = [sys.executable, "-m", "loci_looped.cli.main", "train"]
    subprocess.run([*program, "adept-small", *words, "--out", str(tmp_path / "whole")], check=True, capture_output=True)
    folder, luck, kills = tmp_path / "killed", random.Random(7), 0
    while kills < 20:
        start = _reached(folder)
        begin = ["--resume", str(folder)] if start >= 0 else ["adept-small", *words, "--out", str(folder)]
        child = subprocess.Popen([*program, *begin], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # At some update a little further on, and then anywhere within the next few milliseconds: also in a checkpoint.
        goal = max(0, start) + luck.randrange(0, 14)
        while _reached(folder) < goal and child.poll() is None:
            time.sleep(0.005)
        time.sleep(luck.uniform(0, 0.3))
        assert child.poll() is None, "the run ended before it could be killed twenty times"
        child.kill()
        child.wait()
        kills += 1
    subprocess.run([*program, "--resume", str(folder)], check=True, capture_output=True)
    assert _losses(folder) == _losses(tmp_path / "whole") and len(_losses(folder)) == 200
