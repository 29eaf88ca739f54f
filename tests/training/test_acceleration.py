"""Half precision and compilation touch the convolution stacks only; here on the CPU, where the program refuses them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from squares import square_clip

from loci_looped.configs.training import TrainConfig
from loci_looped.model import LociLooped
from loci_looped.training.acceleration import convolution_stacks, prepare
from loci_looped.training.curriculum import phase_at
from loci_looped.training.loop import Trainer
from loci_looped.training.sequence import unroll
from loci_looped.utils.errors import LociError


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
    prepare(half, in_bfloat16=True, compiled=False)
    prepare(compiled, in_bfloat16=False, compiled=True, backend="eager")
    expected, gradients = _gradients(plain, config)
    losses, rough = _gradients(half, config)
    assert losses == pytest.approx(expected, rel=0.02) and losses != expected
    assert set(rough) == set(gradients) and all(value.dtype == torch.float32 for value in rough.values())
    losses, same = _gradients(compiled, config)
    assert losses == expected
    assert all(torch.equal(value, gradients[name]) for name, value in same.items())
    assert list(half.state_dict()) == list(plain.state_dict())


def test_the_stacks_hold_nearly_all_convolutions() -> None:
    model = LociLooped("adept")
    inside = {p for stack in convolution_stacks(model) for p in stack.parameters()}
    outside = [n for n, p in model.named_parameters() if p.ndim == 4 and p not in inside]
    assert outside == [
        "encoder.gestalt_head.conv1.weight", "encoder.gestalt_head.conv2.weight", "transition.bottleneck.conv1.weight",
        "transition.bottleneck.conv2.weight", "decoder.background_logit_image",
    ]


@pytest.mark.parametrize(("fields", "flag"), [
    ({"precision": "bfloat16"}, "--precision bfloat16"), ({"compile": True}, "--compile"),
])
def test_a_cpu_refuses_both(
    fields: dict[str, object], flag: str, tiny: TrainConfig, changed: Callable[..., TrainConfig], tmp_path: Path
) -> None:
    with pytest.raises(LociError, match=f"{flag} is for GPUs"):
        Trainer(changed(tiny, **fields), tmp_path)
