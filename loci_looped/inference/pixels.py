"""Bytes and tensors: pictures are (H, W, 3) bytes, networks work on (3, H, W) in [0, 1]. The only way between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from loci_looped.data.clip import Clip


def to_tensor(pictures: NDArray[np.uint8]) -> Tensor:
    """(..., H, W, 3) bytes -> (..., 3, H, W) in [0, 1]."""
    return torch.tensor(pictures).movedim(-1, -3).float() / 255


def to_bytes(values: Tensor) -> Tensor:
    """Numbers in [0, 1] (others are cut off) -> bytes of the same shape."""
    return (values.clamp(0, 1) * 255).round().to(torch.uint8)


def to_picture(image: Tensor) -> NDArray[np.uint8]:
    """(1, 3, H, W) or (3, H, W) in [0, 1] -> (H, W, 3) bytes."""
    return np.asarray(to_bytes(image.reshape(image.shape[-3:]).permute(1, 2, 0)).cpu())


def frames_at(clips: Sequence[Clip], t: int) -> Tensor:
    """(B, 3, H, W) in [0, 1]: frame t of every clip."""
    return to_tensor(np.stack([np.asarray(clip.frames[t]) for clip in clips]))


def backgrounds_of(clips: Sequence[Clip]) -> Tensor:
    """(B, 3, H, W) in [0, 1]: the empty scene of every clip."""
    return to_tensor(np.stack([np.asarray(clip.background) for clip in clips]))
