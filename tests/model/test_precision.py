"""bfloat16 convolutions say what single precision says, within stated tolerances; codes and losses stay as they are."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch
from torch import Tensor

from loci_looped.model import LociLooped, LociState, StepOutput, losses, preset
from loci_looped.model.blocks import PatchDown, PatchUp, ResidualBlock, channel_skip
from loci_looped.model.precision import has_bfloat16, use_precision

ROUNDING = 2.0**-8
"""Of bfloat16, relative."""


def in_mid_sequence(model: LociLooped, batch: int = 2) -> tuple[Tensor, LociState]:
    """A frame, and a state in which two slots of every stream hold an object."""
    torch.manual_seed(0)
    background = torch.rand(batch, 3, *model.config.frame)
    frame = torch.rand_like(background)
    with torch.no_grad():
        state, _ = model.step(frame, model.initial(background))
    held = torch.zeros(batch, model.config.slots, dtype=torch.bool)
    held[:, :2] = True
    registry = dataclasses.replace(
        state.registry, assigned=held, bound=held, countdown=torch.full((batch,), 10**6)
    )
    return frame, dataclasses.replace(state, registry=registry)


def both(name: str) -> tuple[LociLooped, LociLooped]:
    torch.manual_seed(1)
    plain = LociLooped(preset(name)).eval()
    return plain, use_precision(copy.deepcopy(plain), "bfloat16")


def relative(rough: Tensor, exact: Tensor) -> float:
    return float((rough - exact).norm() / exact.norm().clamp(min=1e-12))


@pytest.mark.parametrize("name", ["adept-small", "adept-learnt", "balls"])
def test_a_step_in_bfloat16_is_nearly_the_one_in_single(name: str) -> None:
    plain, half = both(name)
    frame, state = in_mid_sequence(plain)
    with torch.no_grad():
        outputs: list[StepOutput] = [model.step(frame, state)[1] for model in (plain, half)]
    exact, rough = outputs
    assert rough.next_frame.frame.dtype == rough.sensed.gestalt.dtype == rough.gate.dtype == torch.float32
    assert float((rough.sensed.position - exact.sensed.position).abs().max()) < 0.02, "of a picture that is 2 wide"
    assert float((rough.present.frame - exact.present.frame).abs().max()) < 0.03
    assert float((rough.next_frame.frame - exact.next_frame.frame).abs().mean()) < 0.01
    assert not torch.equal(rough.present.frame, exact.present.frame)


def test_gradients_in_bfloat16_point_the_same_way() -> None:
    plain, half = both("adept-small")
    frame, state = in_mid_sequence(plain)
    found = []
    for model in (plain, half):
        model.train()
        _, output = model.step(frame, state)
        loss = losses.picture_loss(output.next_frame.frame, frame) + losses.picture_loss(output.present.frame, frame)
        loss.backward()
        found.append({name: p.grad for name, p in model.named_parameters() if p.grad is not None and p.ndim == 4})
    exact, rough = found
    assert exact.keys() == rough.keys() and len(exact) > 20
    for name, gradient in exact.items():
        assert rough[name].dtype == torch.float32
        if float(gradient.norm()) > 1e-6:
            cosine = torch.nn.functional.cosine_similarity(gradient.flatten(), rough[name].flatten(), dim=0)
            assert float(cosine) > 0.98, name


@pytest.mark.parametrize("brick", [
    ResidualBlock(8, 8), ResidualBlock(8, 3, gain=0.3), PatchDown(8, 16, 1.0), PatchUp(8, 3),
], ids=["residual", "residual with a gain", "down", "up"])
def test_a_brick_works_in_the_arithmetic_of_its_maps(brick: torch.nn.Module) -> None:
    torch.manual_seed(2)
    x = torch.randn(3, 8, 8, 12).contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        exact, rough = brick(x), brick(x.bfloat16())
    assert rough.dtype == torch.bfloat16
    assert relative(rough.float(), exact) < 4 * ROUNDING
    assert all(p.dtype == torch.float32 for p in brick.parameters())


def test_equal_channels_can_be_given_once() -> None:
    torch.manual_seed(3)
    down = PatchDown(24, 48, 0.7).double()
    x = torch.randn(2, 12, 8, 12, dtype=torch.float64)
    assert torch.allclose(down(x, repeated=2), down(channel_skip(x, 24)), atol=1e-12)


def test_single_precision_can_be_taken_back() -> None:
    plain, half = both("adept-small")
    frame, state = in_mid_sequence(plain)
    use_precision(half, "single")
    with torch.no_grad():
        assert torch.equal(half.step(frame, state)[1].next_frame.frame, plain.step(frame, state)[1].next_frame.frame)


def test_the_processor_is_asked_for_its_instructions() -> None:
    try:
        with open("/proc/cpuinfo") as file:
            flags = file.read().split()
    except OSError:
        pytest.skip("there is no /proc/cpuinfo here")
    assert has_bfloat16() == ("avx512_bf16" in flags or "amx_tile" in flags)
