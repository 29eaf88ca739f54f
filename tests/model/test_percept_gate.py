"""The percept gate: the rectified tanh and its injected gradient, the blend, the controller's input."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from loci_looped.configs.network import GateConfig, LociConfig
from loci_looped.model.gate import PerceptGate, blend, rectified_tanh
from loci_looped.model.regime import USE, Regime
from loci_looped.model.state import Sight, SlotCodes


def codes(batch: int = 2, slots: int = 3, gestalt: int = 4, seed: int = 0) -> SlotCodes:
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=draw, dtype=torch.float64)

    return SlotCodes(normal(batch, slots, gestalt), normal(batch, slots, 2), normal(batch, slots), normal(batch, slots))


def a_gate(gestalt: int, config: GateConfig | None = None) -> PerceptGate:
    return PerceptGate(LociConfig(gestalt=gestalt, gate=config or GateConfig()))


def a_sight(sensed: SlotCodes, occlusion: Tensor, expected: SlotCodes) -> Sight:
    return Sight(sensed, expected, occlusion, torch.ones_like(occlusion).bool(), None)


def test_rectified_tanh_and_its_gradient() -> None:
    z = torch.tensor([-2.0, -1e-9, 0.0, 0.3, 2.0], dtype=torch.float64, requires_grad=True)
    l0, upstream = 0.01, torch.tensor([1.0, -2.0, 3.0, -0.5, 0.25], dtype=torch.float64)
    alpha = rectified_tanh(z, l0)
    assert torch.equal(alpha.detach(), torch.tanh(z.detach()).clamp(min=0))
    alpha.backward(upstream)
    is_open = (z.detach() > 0).double()
    expected = (upstream + l0 * is_open) * (1 - torch.tanh(z.detach()) ** 2) * is_open
    assert z.grad is not None
    torch.testing.assert_close(z.grad, expected, rtol=1e-14, atol=0)
    assert z.grad[:3].tolist() == [0.0, 0.0, 0.0], "a shut gate feels nothing"


def test_the_pressure_is_there_without_any_loss() -> None:
    """L0 exists only as a gradient: an upstream gradient of zero still presses open gates down."""
    z = torch.tensor([0.5, -0.5], requires_grad=True)
    rectified_tanh(z, 0.1).backward(torch.zeros(2))
    assert z.grad is not None
    assert z.grad[0].item() == pytest.approx(0.1 * (1 - torch.tanh(torch.tensor(0.5)).item() ** 2))
    assert z.grad[1] == 0


def test_without_gradients_it_is_the_same_function() -> None:
    z = torch.linspace(-3, 3, 13)
    assert torch.equal(rectified_tanh(z, 0.1), rectified_tanh(z.clone().requires_grad_(), 0.1).detach())


def test_blend_uses_gate_0_for_the_gestalt_and_gate_1_for_the_rest() -> None:
    sensed, previous = codes(seed=1), codes(seed=2)
    gate = torch.zeros(2, 3, 2, dtype=torch.float64)
    gate[..., 0] = 1
    mixed = blend(gate, sensed, previous)
    assert torch.equal(mixed.gestalt, sensed.gestalt) and torch.equal(mixed.position, previous.position)
    assert torch.equal(mixed.size, previous.size) and torch.equal(mixed.priority, previous.priority)
    mixed = blend(1 - gate, sensed, previous)
    assert torch.equal(mixed.gestalt, previous.gestalt) and torch.equal(mixed.position, sensed.position)
    assert torch.equal(mixed.size, sensed.size) and torch.equal(mixed.priority, sensed.priority)
    half = blend(torch.full_like(gate, 0.25), sensed, previous)
    torch.testing.assert_close(half.position, 0.25 * sensed.position + 0.75 * previous.position)


def test_the_controller_sees_205_numbers_and_starts_open() -> None:
    torch.manual_seed(0)
    gate = a_gate(96)
    assert gate.layers[0].in_features == 205
    now, before, earlier = (codes(4, 7, 96, seed).to(dtype=torch.float32) for seed in range(3))
    alpha = gate.learned(a_sight(now, torch.zeros(4, 7), before), torch.zeros(4, 7), earlier, USE)
    assert alpha.shape == (4, 7, 2) and alpha.min() > 0.95 and alpha.max() < 1


def test_order_of_the_controllers_input() -> None:
    gate = a_gate(4).double()
    seen: list[Tensor] = []
    gate.layers[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    now, before, earlier = codes(seed=1), codes(seed=2), codes(seed=3)
    occlusion, predicted = torch.full((2, 3), 0.25).double(), torch.full((2, 3), 0.75).double()
    gate.learned(a_sight(now, occlusion, before), predicted, earlier, USE)
    row = seen[0][1, 2]
    expected = [
        *now.position[1, 2], now.size[1, 2], *now.gestalt[1, 2], now.priority[1, 2], 0.25,
        *before.position[1, 2], before.size[1, 2], *before.gestalt[1, 2], before.priority[1, 2], 0.75,
        *earlier.position[1, 2], earlier.size[1, 2],
    ]
    assert row.tolist() == [float(value) for value in expected]


def test_noise_comes_with_a_generator_only() -> None:
    gate = a_gate(4, GateConfig(output_bias=0.5, hidden_bias=0.0)).double()
    none = torch.zeros(2, 3).double()
    sight, earlier = a_sight(codes(), none, codes(seed=1)), codes(seed=2)
    quiet = gate.learned(sight, none, earlier, USE)
    assert torch.equal(quiet, gate.learned(sight, none, earlier, USE))
    noisy = gate.learned(sight, none, earlier, Regime(generator=torch.Generator().manual_seed(0)))
    assert 0 < (noisy - quiet).abs().max() < 1
    in_use = gate.eval().learned(sight, none, earlier, Regime(generator=torch.Generator().manual_seed(0)))
    assert torch.equal(in_use, quiet), "only training is noisy"


def test_occlusion_and_the_earlier_place_carry_no_gradient() -> None:
    gate = a_gate(4).double()
    occlusion = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    earlier = codes(seed=3).map(lambda leaf: leaf.requires_grad_())
    now = codes(seed=1).map(lambda leaf: leaf.requires_grad_())
    gate.learned(a_sight(now, occlusion, codes(seed=2)), occlusion, earlier, USE).sum().backward()
    assert occlusion.grad is None and earlier.position.grad is None
    assert now.position.grad is not None and now.position.grad.any()
