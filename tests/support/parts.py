"""What the tests of the network's parts share: weights that matter, made-up codes, and slots in another order."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from loci_looped.configs.network import LociConfig
from loci_looped.model import SlotCodes


def lively_weights(module: nn.Module, seed: int = 0) -> None:
    """Gains that start near zero become one half, so that every branch matters."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("gain"):
                parameter.fill_(0.5)
            elif name.endswith("bias"):
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=draw))


def codes(config: LociConfig, batch: int = 2, seed: int = 0) -> SlotCodes:
    draw = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=draw, dtype=torch.float64)

    slots = config.slots
    return SlotCodes(
        uniform(batch, slots, config.gestalt), 2 * uniform(batch, slots, 2) - 1, 0.3 * uniform(batch, slots),
        uniform(batch, slots),
    )


def permuted(tree: Any, order: list[int]) -> Any:
    return tree[:, order] if isinstance(tree, Tensor) else tree.map(lambda leaf: leaf[:, order])
