"""What SAVi is trained for: the loss of one clip."""

from __future__ import annotations

import torch
from torch import Tensor

from loci_looped.utils.errors import LociError

from .losses import kernel_divergence, reconstruction_loss, weighted_reconstruction_loss
from .savi import Savi
from .state import SaviOutput


def clip_loss(
    model: Savi, frames: Tensor, generator: torch.Generator | None, *, targets: Tensor | None = None,
    weight: Tensor | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Watch a clip (B, T, 3, H, W) in [0, 1] from its start; returns the loss and its parts, unweighted and detached.

    Each frame must be painted from the slots it has corrected itself; there is no loss on the next one. `targets` are
    the frames to paint if they are not those shown (blackouts), `weight` (B, T, 1, H, W) how much each pixel of an
    object counts. Without a generator the kernels are their means.
    """
    _, output = model.observe(frames, generator=generator)
    return output_loss(model, output, frames if targets is None else targets, weight)


def output_loss(
    model: Savi, output: SaviOutput, targets: Tensor, weight: Tensor | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """The same for a clip that has been watched already."""
    reconstruction, kernel = output.decoded.reconstruction, model.config.kernel
    if targets.shape != reconstruction.shape:
        raise LociError(f"The targets are {tuple(targets.shape)}, but the clip is {tuple(reconstruction.shape)}.")
    targets = 2 * targets - 1
    parts = {"reconstruction": (
        reconstruction_loss(reconstruction, targets) if weight is None
        else weighted_reconstruction_loss(reconstruction, targets, weight)
    )}
    loss = parts["reconstruction"]
    if kernel.stochastic:
        parts["kernel_divergence"] = kernel_divergence(output.kernel.log_variance, kernel.variance)
        loss = loss + kernel.kl_weight * parts["kernel_divergence"]
    return loss, {name: part.detach() for name, part in parts.items()}
