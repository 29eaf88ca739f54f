"""Pictures as rows of 4 x 4 patches, and back: what a convolution with stride 4 is a matrix product of."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

SIDE = 4

WIDE: dict[torch.dtype, torch.dtype] = {torch.bfloat16: torch.int64, torch.float32: torch.complex128}
"""Four neighbours of a row move together: types as wide as four of them. It takes a third of the time."""


def to_patches(pictures: Tensor) -> Tensor:
    """(n, C, 4 h, 4 w) -> (n, h, w, C 16)"""
    if not (torch.is_grad_enabled() and pictures.requires_grad):
        return _cut(pictures)
    result: Tensor = _ToPatches.apply(pictures)  # type: ignore[no-untyped-call]
    return result


def to_pictures(patches: Tensor) -> Tensor:
    """(n, h, w, C 16) -> (n, C, 4 h, 4 w)"""
    if not (torch.is_grad_enabled() and patches.requires_grad):
        return _joined(patches)
    result: Tensor = _ToPictures.apply(patches)  # type: ignore[no-untyped-call]
    return result


class _ToPatches(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pictures: Tensor) -> Tensor:
        return _cut(pictures)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return to_pictures(gradients[0])


class _ToPictures(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, patches: Tensor) -> Tensor:
        return _joined(patches)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return to_patches(gradients[0])


def _cut(pictures: Tensor) -> Tensor:
    n, channels, height, width = pictures.shape
    rows, columns = height // SIDE, width // SIDE
    quads = _wide(pictures).view(n, channels, rows, SIDE, columns, -1)
    moved = quads.permute(0, 2, 4, 1, 3, 5).reshape(-1, quads.shape[-1])
    return _narrow(moved, pictures.dtype).view(n, rows, columns, -1)


def _joined(patches: Tensor) -> Tensor:
    n, rows, columns, width = patches.shape
    channels = width // SIDE**2
    quads = _wide(patches).view(n, rows, columns, channels, SIDE, -1)
    moved = quads.permute(0, 3, 1, 4, 2, 5).reshape(-1, quads.shape[-1])
    return _narrow(moved, patches.dtype).view(n, channels, SIDE * rows, SIDE * columns)


def _wide(x: Tensor) -> Tensor:
    """(..., n) -> (all / 4, 4), or (all / 4, 1) of a type four times as wide."""
    quads = x.reshape(-1, SIDE)
    return quads.view(WIDE[x.dtype]) if x.dtype in WIDE and not torch.compiler.is_compiling() else quads


def _narrow(quads: Tensor, dtype: torch.dtype) -> Tensor:
    return quads if quads.dtype == dtype else quads.view(dtype)
