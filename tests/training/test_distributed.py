"""Two processes learn what one learns from the same batch, and stop and go on together."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from loci_looped.configs.training import TrainConfig
from loci_looped.training.distributed import ProcessGroup, join
from loci_looped.training.log import read_log
from loci_looped.training.loop import Trainer
from loci_looped.utils.checkpoint import newest_checkpoint
from loci_looped.utils.errors import LociError

Change = Callable[..., TrainConfig]


def _torchrun(runs: list[dict[str, Any]], where: Path) -> None:
    plan = where / "runs.json"
    plan.write_text(json.dumps(runs))
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         str(Path(__file__).with_name("two_processes.py")), str(plan)],
        capture_output=True, text=True, timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    return newest_checkpoint(folder / "checkpoints").tensors["weights"]


def test_two_processes_equal_one_with_the_double_batch(
    tiny: TrainConfig, tiny_paper: TrainConfig, changed: Change, tmp_path: Path
) -> None:
    """The small recipe after five updates, the paper's after eight (rectified Adam begins at the sixth), gate included.

    Gradients that are injected without a loss (the two L0 pressures, the growing gain on sizes) must add up, too.
    """
    plain = {
        "data.batch": 4, "noise": False, "curriculum.foreground_until": 0, "curriculum.background_from": -30,
        "curriculum.gate_from": 0, "curriculum.hold": 0.0, "curriculum.error_dropout": 0.0, "checkpoint_minutes": 1e3,
        "curriculum.blackout_from": 0.0, "curriculum.blackout_to": 0.0, "model.gate.l0_weight": 1e-3,
    }
    # Adam divides by the gradient's own size; where that is nothing but rounding, any two computations differ.
    sober = {"optimiser.epsilon": 1e-5}
    small = changed(tiny, **plain, **sober, **{"curriculum.updates": 5})
    paper = changed(tiny_paper, **plain, **sober, **{
        "curriculum.updates": 8, "optimiser.learning_rate": 1e-2, "optimiser.initial_factor": 1.0,
        "optimiser.steps": (),
    })
    runs = {"small": small, "paper": paper}
    _torchrun([{"config": c.to_json(), "folder": str(tmp_path / f"two-{n}")} for n, c in runs.items()], tmp_path)
    for name, config in runs.items():
        alone = Trainer(config, tmp_path / f"one-{name}")
        start = {key: value.clone() for key, value in alone.model.state_dict().items()}
        alone.run()
        together = _weights(tmp_path / f"two-{name}")
        assert newest_checkpoint(tmp_path / f"two-{name}" / "checkpoints").update == config.curriculum.updates
        moved = {}
        for key, value in alone.model.state_dict().items():
            assert float((value - together[key]).abs().max()) < 1e-6, (name, key)
            moved[key] = float((value - start[key]).abs().max())
        assert sum(distance > 1e-5 for distance in moved.values()) > len(moved) / 3, moved


@pytest.mark.slow
def test_two_processes_stop_and_go_on_bit_for_bit(tiny: TrainConfig, changed: Change, tmp_path: Path) -> None:
    """Each with its own noise, held slots and blackouts; checkpoints hold the random numbers of both."""
    dark = {"curriculum.blackout_from": 0.5, "curriculum.blackout_to": 0.5}
    config = changed(tiny, **dark, checkpoint_minutes=1e3)
    whole, parts = ({"config": config.to_json(), "folder": str(tmp_path / name)} for name in ("whole", "parts"))
    _torchrun([whole, {**parts, "stop_at": 3}, {**parts, "stop_at": 22}], tmp_path)
    halfway = newest_checkpoint(tmp_path / "parts" / "checkpoints")
    assert 22 < halfway.update < 40
    ours, theirs = (halfway.tensors["random"][f"generator-{rank}"] for rank in (0, 1))
    assert not torch.equal(ours, theirs)
    _torchrun([parts], tmp_path)
    losses = [[(r["update"], r["loss"]) for r in read_log(tmp_path / name, "train")] for name in ("whole", "parts")]
    assert losses[0] == losses[1] and len(losses[0]) == 40
    uninterrupted = _weights(tmp_path / "whole")
    assert all(torch.equal(value, uninterrupted[key]) for key, value in _weights(tmp_path / "parts").items())


def test_a_run_of_two_processes_may_go_on_in_one_but_says_so(
    tiny: TrainConfig, changed: Change, tmp_path: Path
) -> None:
    config = changed(tiny, **{"curriculum.updates": 1})
    Trainer(config, tmp_path).run()
    found = newest_checkpoint(tmp_path / "checkpoints")
    state = found.tensors["random"]["generator-0"]
    two = dataclasses.replace(found, tensors={**found.tensors, "random": {"generator-0": state, "generator-1": state}})
    with pytest.warns(UserWarning, match="had 2 processes and now has 1"):
        Trainer(config, tmp_path).restore(two)


def test_a_batch_that_cannot_be_shared_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(LociError, match="A batch of 8 cannot be shared evenly by 3 processes"):
        join(8)


def test_shares_make_up_the_batch() -> None:
    batch = torch.arange(12).view(6, 2)
    shares = [ProcessGroup(rank, 3).share(batch) for rank in range(3)]
    assert all(share.shape == (2, 2) for share in shares)
    assert sorted(torch.cat(shares)[:, 0].tolist()) == batch[:, 0].tolist()
