"""Gradients by hand are PyTorch's, and painted codes need not be painted."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from loci_looped.model.blocks import ResidualBlock
from loci_looped.model.residual import ResidualBranch, painted_convolution, plus_painted

LAST = torch.channels_last


def by_pytorch(
    x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, *, leading_relu: bool, plus_x: bool
) -> Tensor:
    """The same chain, its gradients left to PyTorch."""
    w1, b1, w2, b2 = (weight.to(x.dtype) for weight in (w1, b1, w2, b2))
    padding = w1.shape[-1] // 2
    between = F.conv2d(F.relu(x) if leading_relu else x, w1, b1, padding=padding).relu()
    branch = F.conv2d(between, w2, b2, padding=padding)
    return branch + x if plus_x else branch


def ingredients(dtype: torch.dtype, inputs: int, outputs: int, kernel: int) -> list[Tensor]:
    torch.manual_seed(0)
    shapes: list[tuple[int, ...]] = [
        (2, inputs, 4, 5), (outputs, inputs, kernel, kernel), (outputs,), (outputs, outputs, kernel, kernel), (outputs,)
    ]
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("leading_relu", [True, False])
@pytest.mark.parametrize(("inputs", "outputs", "kernel"), [(3, 3, 3), (3, 2, 3), (4, 4, 1)])
def test_the_branch_has_the_gradients_it_should(leading_relu: bool, inputs: int, outputs: int, kernel: int) -> None:
    given = ingredients(torch.float64, inputs, outputs, kernel)
    plus_x = inputs == outputs
    assert torch.equal(
        ResidualBranch.apply(*given, leading_relu, plus_x), by_pytorch(*given, leading_relu=leading_relu, plus_x=plus_x)
    )
    assert torch.autograd.gradcheck(lambda *g: ResidualBranch.apply(*g, leading_relu, plus_x), given)


def test_in_single_precision_gradients_by_hand_have_the_same_bits() -> None:
    given = ingredients(torch.float32, 8, 8, 3)
    x, *weights = (part.detach().contiguous(memory_format=LAST) if part.ndim == 4 else part for part in given)
    leaves = [part.detach().requires_grad_() for part in (x, *weights)]
    out = torch.randn(x.shape).contiguous(memory_format=LAST)
    by_hand = torch.autograd.grad(ResidualBranch.apply(*leaves, True, True), leaves, out)
    theirs = torch.autograd.grad(by_pytorch(*leaves, leading_relu=True, plus_x=True), leaves, out)
    assert all(torch.equal(one, other) for one, other in zip(by_hand, theirs, strict=True))


def test_an_input_without_gradient_gets_none() -> None:
    x, *weights = ingredients(torch.float64, 3, 3, 3)
    x = x.detach()
    ResidualBranch.apply(x, *weights, True, True).sum().backward()
    assert x.grad is None and all(weight.grad is not None for weight in weights)


def test_weights_keep_their_type_and_so_do_their_gradients() -> None:
    x, *weights = ingredients(torch.float32, 3, 3, 3)
    made = ResidualBranch.apply(x.bfloat16(), *weights, True, True)
    made.float().square().mean().backward()
    assert made.dtype == torch.bfloat16
    assert all(weight.grad is not None and weight.grad.dtype == torch.float32 for weight in weights)


def test_painted_codes_need_not_be_painted() -> None:
    torch.manual_seed(1)
    block = ResidualBlock(6, 4, leading_relu=False).double()
    maps = torch.rand(3, 5, 7, dtype=torch.float64, requires_grad=True)
    codes = torch.rand(3, 6, dtype=torch.float64, requires_grad=True)
    picture = maps.unsqueeze(1) * codes[..., None, None]
    at_once, painted = block.painted(maps, codes), block(picture)
    torch.testing.assert_close(at_once, painted, atol=1e-12, rtol=0)
    ingredients = [maps, codes, *block.parameters()]
    weight = torch.rand_like(painted)
    for one, other in zip(
        torch.autograd.grad((weight * at_once).sum(), ingredients),
        torch.autograd.grad((weight * painted).sum(), ingredients), strict=True,
    ):
        torch.testing.assert_close(one, other, atol=1e-11, rtol=0)
    torch.testing.assert_close(
        painted_convolution(maps, codes, block.conv1.weight, block.conv1.bias),     # type: ignore[arg-type]
        block.conv1(picture), atol=1e-12, rtol=0,
    )
    colours = torch.rand(3, 4, dtype=torch.float64)
    torch.testing.assert_close(
        plus_painted(painted, maps, colours), painted + maps.unsqueeze(1) * colours[..., None, None]
    )


def test_a_gain_is_a_factor_of_the_branch() -> None:
    torch.manual_seed(2)
    block, bare = (ResidualBlock(4, 4, gain=gain).double() for gain in (0.25, None))
    bare.load_state_dict({name: value for name, value in block.state_dict().items() if name != "gain"})
    x = torch.randn(2, 4, 5, 6, dtype=torch.float64)
    torch.testing.assert_close(block(x), x + 0.25 * (bare(x) - x), atol=1e-12, rtol=0)
    block(x).square().sum().backward()
    assert block.gain is not None and block.gain.grad is not None and bool(block.gain.grad.any())

