"""A run that an earlier version of the package began goes on in this one, and becomes what it would have become."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file

import loci_looped
from loci_looped.cli.main import main as loci
from loci_looped.utils.checkpoint import newest_checkpoint

STORED = Path(__file__).parents[1] / "golden" / "run-of-version-0.1"
"""A tiny network after 53 of 60 updates, and the weights that version 0.1 came to."""


def a_copy(folder: Path) -> Path:
    shutil.copytree(STORED / "checkpoints", folder / "checkpoints")
    (folder / "log.jsonl").touch()
    return folder


def test_an_earlier_run_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    run = a_copy(tmp_path / "run")
    assert loci(["train", "--resume", str(run)]) == 0
    ours = newest_checkpoint(run / "checkpoints").tensors["weights"]
    theirs = load_file(STORED / "weights-after-60-updates.safetensors")
    assert ours.keys() == theirs.keys()
    worst = max(float((ours[name] - theirs[name]).abs().max()) for name in theirs)
    assert worst < 1e-5, "bit for bit on the same processor, nearly so on another"


def test_an_earlier_runs_network_can_be_used(tmp_path: Path) -> None:
    network = loci_looped.load(a_copy(tmp_path / "run"))
    assert network.config.extensions.rules.inertia == 1.0
    frame = torch.rand(1, 3, *network.config.frame)
    with torch.no_grad():
        _, output = network.step(frame, network.initial(torch.zeros_like(frame)))
    assert bool(torch.isfinite(output.next_frame.frame).all())
