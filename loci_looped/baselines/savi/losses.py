"""SAVi's two losses: paint the frame just seen, and (StoSAVi) keep the kernels as wide as agreed."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def reconstruction_loss(reconstruction: Tensor, target: Tensor) -> Tensor:
    """Mean squared error over everything; both on the scale from -1 (black) to 1 (white)."""
    return (reconstruction - target).square().mean()


def weighted_reconstruction_loss(reconstruction: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Mean squared error where there is weight, by weight, plus that of the rest; weight (B, T, 1, H, W)."""
    error = (reconstruction - target).square().mean(2, keepdim=True)
    rest = (weight == 0).to(error.dtype)
    means = [(error * w).sum((2, 3, 4)) / (w.sum((2, 3, 4)) + 1) for w in (weight, rest)]
    return (means[0] + means[1]).mean() / 2


def kernel_divergence(log_variance: Tensor, variance: float) -> Tensor:
    """KL(N(μ, σ²) ‖ N(μ, s²)) with s² = `variance`: summed over the slot's width, averaged over all else.

    (..., D) -> (). The prior has the kernel's own mean, so only the variance is held, never the mean.
    """
    ratio = torch.exp(log_variance) / (2 * variance)
    log_ratio = (math.log(variance) - log_variance) / 2
    return (log_ratio + ratio - 0.5).sum(dim=-1).mean()
