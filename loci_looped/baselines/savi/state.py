"""What crosses a time step of SAVi, and what a step tells: frozen dataclasses of tensors.

Axes: B batch, K slots, D slot width, M hidden width, H and W the frame's. Outputs of a whole clip carry time at axis 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from loci_looped.model.state import TensorTree

Tree = TypeVar("Tree", bound=TensorTree)


@dataclass(frozen=True)
class Kernel(TensorTree):
    """Where each slot may begin: a Gaussian around the prediction."""

    mean: Tensor            # (B, K, D)
    log_variance: Tensor    # (B, K, D)

    def sample(self, generator: torch.Generator) -> Tensor:
        """(B, K, D)"""
        noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        return self.mean + torch.exp(self.log_variance / 2) * noise


@dataclass(frozen=True)
class Decoded(TensorTree):
    """A painted frame and what each slot contributes to it."""

    colours: Tensor         # (B, K, 3, H, W) -1 is black and 1 is white, but nothing confines them to that
    mask_logits: Tensor     # (B, K, H, W) before the soft-max over slots
    visible_masks: Tensor   # (B, K, H, W) sums to 1 over the slots: there is no background beside them
    reconstruction: Tensor  # (B, 3, H, W) on the scale of the colours

    @property
    def frame(self) -> Tensor:
        """(B, 3, H, W) in [0, 1]"""
        return ((self.reconstruction + 1) / 2).clamp(0, 1)


@dataclass(frozen=True)
class SaviState(TensorTree):
    """Everything that crosses a time step."""

    latents: Tensor                 # (B, K, D) the predictor's word about the frame to come; at first the learned start
    memory: tuple[Tensor, ...]      # the LSTM's hidden and cell, (B, K, M) each; empty without an LSTM

    def where(self, condition: Tensor, other: SaviState) -> SaviState:
        """This state for batch elements where `condition` (B,) holds, `other` elsewhere; resets single streams."""
        chosen = condition.view(-1, 1, 1)
        return SaviState(
            torch.where(chosen, self.latents, other.latents),
            tuple(torch.where(chosen, ours, theirs) for ours, theirs in zip(self.memory, other.memory, strict=True)),
        )


@dataclass(frozen=True)
class SaviOutput(TensorTree):
    """What one time step tells."""

    latents: Tensor     # (B, K, D) what was predicted for this frame
    kernel: Kernel      # what the kernel head made of it
    slots: Tensor       # (B, K, D) corrected by the frame
    decoded: Decoded    # the present frame, painted from the corrected slots


def stack_in_time(outputs: Sequence[Tree]) -> Tree:
    """Outputs of successive steps as one, time at axis 1."""

    def stacked(values: list[Any]) -> Any:
        first = values[0]
        if isinstance(first, Tensor):
            return torch.stack(values, dim=1)
        names = [f.name for f in dataclasses.fields(first)]
        return type(first)(**{name: stacked([getattr(value, name) for value in values]) for name in names})

    whole: Tree = stacked(list(outputs))
    return whole
