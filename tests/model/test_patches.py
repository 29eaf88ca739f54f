"""Pictures are cut into patches and put together again without a change; gradients go the same way."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from loci_looped.model.patches import to_patches, to_pictures


def by_hand(pictures: Tensor) -> Tensor:
    n, channels, height, width = pictures.shape
    cut = pictures.reshape(n, channels, height // 4, 4, width // 4, 4).permute(0, 2, 4, 1, 3, 5)
    return cut.reshape(n, height // 4, width // 4, -1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("channels", [1, 3, 12])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_patches_are_squares_of_four_pixels(dtype: torch.dtype, channels: int, layout: torch.memory_format) -> None:
    pictures = torch.randn(2, channels, 8, 12, dtype=dtype).contiguous(memory_format=layout)
    patches = to_patches(pictures)
    assert torch.equal(patches, by_hand(pictures))
    assert torch.equal(to_pictures(patches), pictures)


def test_a_product_of_patches_is_a_convolution_with_stride_four() -> None:
    pictures, weight = torch.randn(2, 3, 8, 12, dtype=torch.float64), torch.randn(5, 3, 4, 4, dtype=torch.float64)
    product = (to_patches(pictures) @ weight.flatten(1).T).permute(0, 3, 1, 2)
    assert torch.allclose(product, F.conv2d(pictures, weight, stride=4), atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_gradients_come_back_to_their_pixels(dtype: torch.dtype) -> None:
    pictures = torch.randn(2, 3, 8, 12, dtype=dtype, requires_grad=True)
    factor = torch.randn(2, 2, 3, 48, dtype=dtype)
    (to_patches(pictures) * factor).sum().backward()
    assert pictures.grad is not None and torch.equal(pictures.grad, to_pictures(factor))


def test_gradients_are_those_of_finite_differences() -> None:
    torch.autograd.gradcheck(to_patches, torch.randn(1, 2, 4, 8, dtype=torch.float64, requires_grad=True))
    torch.autograd.gradcheck(to_pictures, torch.randn(1, 1, 2, 16, dtype=torch.float64, requires_grad=True))
