"""Half precision and compilation on a GPU, for the convolution stacks only, where nearly all arithmetic is.

Codes, gates, memories, masks and losses stay in single precision: they are small, and small differences matter there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from loci_looped.configs.training import TrainConfig
from loci_looped.model import LociLooped
from loci_looped.utils.errors import LociError


def accelerate(model: LociLooped, config: TrainConfig, device: torch.device) -> None:
    """Prepare the network as the configuration asks; its weights and their names stay as they are."""
    if config.precision == "single" and not config.compile:
        return
    if device.type == "cpu":
        asked = "--precision bfloat16" if config.precision != "single" else "--compile"
        raise LociError(f"{asked} is for GPUs; on a CPU it saves nothing. Leave it out, or train with --device cuda.")
    prepare(model, in_bfloat16=config.precision == "bfloat16", compiled=config.compile)


def prepare(model: LociLooped, *, in_bfloat16: bool, compiled: bool, backend: str = "inductor") -> None:
    """Exchange the forward pass of each convolution stack, (n, C, h, w) -> (n, C', h', w')."""
    for stack in convolution_stacks(model):
        forward: Callable[[Tensor], Tensor] = stack.forward
        if in_bfloat16:
            forward = _half(forward)
        if compiled:
            # The number of slots in use varies from step to step.
            forward = torch.compile(forward, dynamic=True, backend=backend)
        stack.forward = forward


def convolution_stacks(model: LociLooped) -> Iterator[nn.Module]:
    """The parts of encoder and decoder that map feature maps to feature maps."""
    names: list[tuple[Any, tuple[str, ...]]] = [
        (model.encoder, ("fine_down", "fine_blocks", "down", "trunk", "position_blocks", "gestalt_blocks")),
        (model.decoder, ("trunk", "mask", "object")),
    ]
    for part, stacks in names:
        for name in stacks:
            if hasattr(part, name):
                yield getattr(part, name)


def _half(forward: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def in_half(x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            y = forward(x)
        return y.float()

    return in_half
