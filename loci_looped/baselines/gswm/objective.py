"""The loss of a clip. In some steps no new objects are looked for, so that old ones must be followed."""

from __future__ import annotations

import torch
from torch import Tensor

from .checks import check_clip
from .gswm import Gswm
from .losses import Terms, step_terms


def clip_loss(
    model: Gswm, frames: Tensor, update: int, generator: torch.Generator | None = None,
    *, background: Tensor | None = None,
) -> tuple[Tensor, Terms]:
    """(loss, its terms without gradient), summed over pixels and time, averaged over clips.

    frames (B, T, 3, H, H) in [0, 1]. The generator makes the draws of training: discovery dropout and latents. Without
    one, for validation, no discovery is left out, and draws are means.
    """
    check_clip(frames, background, model.config)
    terms = per_clip(model, frames, update, generator, background=background)
    loss = torch.stack(list(terms.values())).sum(0).mean()
    return loss, {name: value.detach().mean() for name, value in terms.items()}


def per_clip(
    model: Gswm, frames: Tensor, update: int, generator: torch.Generator | None = None,
    *, background: Tensor | None = None,
) -> Terms:
    """Terms of the loss (B,), summed over all frames."""
    state = model.initial(torch.zeros_like(frames[:, 0]) if background is None else background)
    terms: Terms = {}
    for t in range(frames.shape[1]):
        discover = t == 0 or not _heads(model.config.discovery_dropout, generator)
        state, output = model.step(frames[:, t], state, discover=discover, generator=generator)
        for name, value in step_terms(output, frames[:, t], model.config, update).items():
            terms[name] = terms[name] + value if name in terms else value
    return terms


def _heads(probability: float, generator: torch.Generator | None) -> bool:
    """A coin for the whole batch; never heads without a generator."""
    if generator is None:
        return False
    return float(torch.rand((), generator=generator, device=generator.device)) < probability
