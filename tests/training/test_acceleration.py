"""bfloat16 and compilation touch the convolution stacks only, and a run keeps the precision it began with."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from squares import square_clip
from torch import Tensor, nn

from loci_looped.configs.recipes import EVERY_RECIPE
from loci_looped.configs.training import TrainConfig
from loci_looped.model import LociLooped, blocks
from loci_looped.model.precision import use_precision
from loci_looped.training import acceleration
from loci_looped.training.acceleration import compile_stacks, convolution_stacks, settled
from loci_looped.training.curriculum import phase_at
from loci_looped.training.loop import Trainer
from loci_looped.training.resume import resumed_config
from loci_looped.training.sequence import unroll
from loci_looped.utils.checkpoint import newest_checkpoint
from loci_looped.utils.errors import LociError, LociWarning


def _gradients(model: LociLooped, config: TrainConfig) -> tuple[list[float], dict[str, torch.Tensor]]:
    clip = square_clip(0, frames=6)
    frames = torch.from_numpy(clip.frames)[None].permute(0, 1, 4, 2, 3) / 255
    background = torch.from_numpy(clip.background)[None].permute(0, 3, 1, 2) / 255
    generator = torch.Generator().manual_seed(0)
    losses = []
    model.train()
    for window in unroll(model, frames, background, phase_at(config.curriculum, 10**6, 10**6), config, generator):
        window.loss.backward()
        losses.append(float(window.loss.detach()))
    return losses, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("recipe", ["tiny", "tiny_paper"])
def test_half_precision_is_nearly_the_same_and_compilation_is_the_same(
    recipe: str, request: pytest.FixtureRequest
) -> None:
    config: TrainConfig = request.getfixturevalue(recipe)
    torch.manual_seed(0)
    plain = LociLooped(config.model)
    half, compiled = copy.deepcopy(plain), copy.deepcopy(plain)
    use_precision(half, "bfloat16")
    compile_stacks(compiled, backend="eager")
    expected, gradients = _gradients(plain, config)
    losses, rough = _gradients(half, config)
    assert losses == pytest.approx(expected, rel=0.02) and losses != expected
    assert set(rough) == set(gradients) and all(value.dtype == torch.float32 for value in rough.values())
    losses, same = _gradients(compiled, config)
    assert losses == expected
    for name, value in same.items():        # compiled, the gradients of a block's branches are added in another order
        assert float((value - gradients[name]).norm()) <= 1e-4 * float(gradients[name].norm()) + 1e-8, name
    assert list(half.state_dict()) == list(plain.state_dict())


def _hash_of_a_run(config: TrainConfig, folder: Path) -> str:
    """Of all weights after the whole of a short curriculum, in single precision."""
    trainer = Trainer(config, folder)
    trainer.run()
    digest = hashlib.sha256()
    for value in trainer.model.state_dict().values():
        digest.update(value.contiguous().numpy().tobytes())
    return digest.hexdigest()


def test_kept_constants_do_not_change_a_bit_of_a_training_run(
    tiny: TrainConfig, changed: Callable[..., TrainConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = changed(tiny, precision="single", **{"curriculum.updates": 4})
    kept = _hash_of_a_run(config, tmp_path / "kept")
    assert kept != _hash_of_a_run(changed(config, seed=1), tmp_path / "another seed")
    made: list[str] = []

    def make_anew(module: nn.Module, name: str, constant: Tensor) -> None:
        """In place of a buffer: the constant is made whenever somebody asks for it."""
        def anew(self: nn.Module) -> Tensor:
            made.append(name)
            return constant.clone()

        module.__class__ = type(type(module).__name__, (type(module),), {name: property(anew)})

    monkeypatch.setattr(blocks, "_keep", make_anew)
    assert _hash_of_a_run(config, tmp_path / "anew") == kept
    assert {"groups", "mean", "plain"} <= set(made)


def test_the_stacks_hold_nearly_all_convolutions() -> None:
    model = LociLooped("adept")
    inside = {p for stack in convolution_stacks(model) for p in stack.parameters()}
    outside = [n for n, p in model.named_parameters() if p.ndim == 4 and p not in inside]
    assert outside == [
        "encoder.gestalt_head.conv1.weight", "encoder.gestalt_head.conv2.weight", "transition.bottleneck.conv1.weight",
        "transition.bottleneck.conv2.weight", "decoder.background_logit_image",
    ]


def test_a_cpu_refuses_compilation(
    tiny: TrainConfig, changed: Callable[..., TrainConfig], tmp_path: Path
) -> None:
    with pytest.raises(LociError, match="--compile is for GPUs"):
        Trainer(changed(tiny, compile=True), tmp_path)


def test_a_precision_is_chosen_once_and_kept(
    tiny: TrainConfig, changed: Callable[..., TrainConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undecided = changed(tiny, precision="auto")
    monkeypatch.setattr(acceleration, "has_bfloat16", lambda device: True)
    begun = Trainer(undecided, tmp_path)
    begun.save()
    assert begun.config.precision == "bfloat16"
    monkeypatch.setattr(acceleration, "has_bfloat16", lambda device: False)
    assert settled(undecided, torch.device("cpu")).precision == "single"
    found = newest_checkpoint(tmp_path / "checkpoints")
    again = resumed_config(found, undecided, tmp_path)
    assert again.precision == "bfloat16", "a run goes on as it began, also elsewhere"
    with pytest.warns(LociWarning, match="has no instructions"):
        Trainer(again, tmp_path).restore(found)


def test_a_rival_stays_in_single_precision(tmp_path: Path) -> None:
    undecided = dataclasses.replace(EVERY_RECIPE["savi-small"], precision="auto")
    assert settled(undecided, torch.device("cpu")).precision == "single"
