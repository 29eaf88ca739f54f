"""The residual branch, conv(relu(conv(relu(x)))), with gradients by hand; and its first convolution on painted codes.

PyTorch's own gradients of this chain are the same numbers; by hand there are half as many operations, nothing is copied
where nobody else looks, and weights of another type than the maps are converted once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

CONVOLUTION_BACKWARD: Any = torch.ops.aten.convolution_backward
RELU_BACKWARD: Any = torch.ops.aten.threshold_backward


class ResidualBranch(torch.autograd.Function):
    """(x, w1, b1, w2, b2, leading ReLU, plus x itself) -> the branch, in the type of x."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, leading_relu: bool, plus_x: bool
    ) -> Tensor:
        ctx.leading_relu, ctx.plus_x = leading_relu, plus_x
        ctx.types = [weight.dtype for weight in (w1, b1, w2, b2)]
        w1, b1, w2, b2 = (weight.to(x.dtype) for weight in (w1, b1, w2, b2))
        padding = w1.shape[-1] // 2
        begun = F.relu(x) if leading_relu else x
        between = F.conv2d(begun, w1, b1, padding=padding).relu_()
        branch = F.conv2d(between, w2, b2, padding=padding)
        ctx.save_for_backward(begun, between, w1, w2)
        return branch.add_(x) if plus_x else branch

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        begun, between, w1, w2 = ctx.saved_tensors
        out = gradients[0]
        into, of_w2, of_b2 = _through(out, between, w2, True)
        RELU_BACKWARD(into, between, 0, grad_input=into)
        into, of_w1, of_b1 = _through(into, begun, w1, ctx.needs_input_grad[0])
        if into is not None:
            if ctx.leading_relu:
                RELU_BACKWARD(into, begun, 0, grad_input=into)
            if ctx.plus_x:
                into.add_(out)
        weights = (of.to(dtype) for of, dtype in zip((of_w1, of_b1, of_w2, of_b2), ctx.types, strict=True))
        return (into, *weights, None, None)


def _through(out: Tensor, x: Tensor, weight: Tensor, wanted: bool) -> Any:
    """Gradients of a convolution's input, if it is wanted, weight and bias."""
    size = weight.shape[-1] // 2
    rest = [weight.shape[0]], [1, 1], [size, size], [1, 1], False, [0, 0], 1
    # One after another: on small maps oneDNN takes a sixth more time for both in one call.
    into = CONVOLUTION_BACKWARD(out, x, weight, *rest, [True, False, False])[0] if wanted else None
    return into, *CONVOLUTION_BACKWARD(out, x, weight, *rest, [False, True, True])[1:]


def painted_convolution(maps: Tensor, codes: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A convolution of codes (n, C) painted where their maps (n, h, w) are, maps x codes (n, C, h, w) -> (n, O, h, w).

    All channels of such a picture are the same map, each times a number. So the numbers are multiplied with the weights
    first, and what is left is a convolution of one channel: C times less work, and the picture need not be painted.
    """
    (n, rows, columns), side = maps.shape, weight.shape[-1]
    dtype = codes.dtype
    around = F.unfold(maps.unsqueeze(1), side, padding=side // 2).to(dtype)         # (n, side², h w)
    kernels = codes @ weight.permute(1, 2, 3, 0).flatten(1).to(dtype)               # (n, side² O)
    result = torch.baddbmm(bias.to(dtype), around.transpose(1, 2), kernels.view(n, side**2, -1))
    return result.view(n, rows, columns, -1).permute(0, 3, 1, 2)


def plus_painted(pictures: Tensor, maps: Tensor, codes: Tensor) -> Tensor:
    """pictures (n, O, h, w), channels last, + codes (n, O) painted where their maps (n, h, w) are."""
    n, channels, rows, columns = pictures.shape
    cells = pictures.permute(0, 2, 3, 1).reshape(n, rows * columns, channels)
    result = torch.baddbmm(cells, maps.to(codes.dtype).view(n, -1, 1), codes.unsqueeze(1))
    return result.view(n, rows, columns, channels).permute(0, 3, 1, 2)
