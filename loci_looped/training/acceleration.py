"""Arithmetic and compilation of the convolution stacks, where nearly all of the work is.

Codes, gates, memories, masks and losses stay in single precision: they are small, and small differences matter there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from loci_looped.configs.training import RunConfig, TrainConfig
from loci_looped.model import LociLooped
from loci_looped.model.precision import has_bfloat16, use_precision
from loci_looped.utils.errors import LociError, warn

Config = TypeVar("Config", bound=RunConfig)


def settled(config: Config, device: torch.device) -> Config:
    """The configuration with a precision in place of "auto": what a run begins with it keeps, wherever it goes on."""
    if config.precision != "auto":
        return config
    fast = isinstance(config, TrainConfig) and has_bfloat16(device)
    return dataclasses.replace(config, precision="bfloat16" if fast else "single")


def accelerate(model: LociLooped, config: TrainConfig, device: torch.device) -> None:
    """Prepare the network as the configuration asks; its weights and their names stay as they are."""
    if config.compile and device.type == "cpu":
        raise LociError("--compile is for GPUs; on a CPU it saves nothing. Leave it out, or train with --device cuda.")
    if config.precision == "bfloat16" and not has_bfloat16(device):
        warn(
            "This run computes its convolutions in bfloat16, for which this processor has no instructions: it goes on "
            "as it began, but slowly. A run that begins with --start-from RUN --precision single is faster here."
        )
    use_precision(model, "bfloat16" if config.precision == "bfloat16" else "single")
    if config.compile:
        compile_stacks(model)


def compile_stacks(model: LociLooped, backend: str = "inductor") -> None:
    """Exchange the forward pass of each convolution stack, (n, C, h, w) -> (n, C', h', w'), for a compiled one."""
    for stack in convolution_stacks(model):
        forward: Callable[[Tensor], Tensor] = stack.forward
        # The number of slots in use varies from step to step.
        stack.forward = torch.compile(forward, dynamic=True, backend=backend)


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
