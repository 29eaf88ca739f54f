"""What SAVi's tests share: networks that run in milliseconds, golden files, and a drawn clip."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from loci_looped.configs.savi import (
    DecoderConfig,
    EncoderConfig,
    KernelConfig,
    PredictorConfig,
    SaviConfig,
)

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = ("savi_mlp", "savi_transformer")

TINY = SaviConfig(
    frame=(16, 24), slots=3, slot_width=32, hidden_width=64,
    encoder=EncoderConfig(channels=(16, 16), token_width=32),
    decoder=DecoderConfig(channels=(16, 16), broadcast=(8, 12)),
)
TINY_TRANSFORMER = dataclasses.replace(
    TINY, predictor=PredictorConfig(kind="transformer", feed_forward=48, heads=2),
    kernel=KernelConfig(head="mlp", stochastic=False),
)
BOTH = {"mlp": TINY, "transformer": TINY_TRANSFORMER}


def golden(name: str) -> dict[str, Any]:
    with np.load(GOLDEN / f"{name}.npz", allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}


def noise_clip(config: SaviConfig, batch: int = 2, length: int = 4, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.rand(batch, length, 3, *config.frame, generator=draw)


def drawn_clip(length: int = 6) -> Tensor:
    """(1, T, 3, 16, 24): a red square goes right and a blue one goes left over a grey floor."""
    frames = torch.full((1, length, 3, 16, 24), 0.4)
    for t in range(length):
        frames[0, t, :, 2:7, 1 + t : 6 + t] = torch.tensor([0.9, 0.1, 0.1])[:, None, None]
        frames[0, t, :, 9:14, 18 - t : 23 - t] = torch.tensor([0.1, 0.2, 0.9])[:, None, None]
    return frames
