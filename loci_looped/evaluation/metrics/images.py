"""How far is a predicted image from the true one? MSE, PSNR and SSIM, batched over everything before (C, H, W).

Images are in [0, 1]. PSNR and SSIM are scikit-image's, with the settings of SlotFormer's evaluation, as the paper's.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from loci_looped.utils.errors import LociError

PROTOCOL = "images/skimage-gaussian-1.5"
SIGMA = 1.5
RADIUS = 5                 # of the Gaussian window: scikit-image cuts it at 3.5 standard deviations


def mse(prediction: Tensor, target: Tensor) -> Tensor:
    """(..., C, H, W) -> (...) mean squared error."""
    _check(prediction, target)
    return (prediction.double() - target.double()).square().mean(dim=(-3, -2, -1))


def psnr(prediction: Tensor, target: Tensor) -> Tensor:
    """(..., C, H, W) -> (...) peak signal-to-noise ratio in decibel; infinite where the images are equal."""
    return -10 * torch.log10(mse(prediction, target))


def ssim(prediction: Tensor, target: Tensor) -> Tensor:
    """(..., C, H, W) -> (...) structural similarity: Gaussian window of sigma 1.5, population covariance."""
    _check(prediction, target)
    height, width = prediction.shape[-2:]
    if min(height, width) <= 2 * RADIUS:
        raise LociError(f"SSIM needs {2 * RADIUS + 1} pixels on either side, these images are {height} x {width}.")
    # Every channel is an image of its own; the window stays inside it, so no border is invented.
    x, y = (image.double().reshape(-1, 1, height, width) for image in (prediction, target))
    mean_x, mean_y = _blur(x), _blur(y)
    variance_x = _blur(x * x) - mean_x**2
    variance_y = _blur(y * y) - mean_y**2
    covariance = _blur(x * y) - mean_x * mean_y
    luminance, contrast = 0.01**2, 0.03**2
    similarity = ((2 * mean_x * mean_y + luminance) * (2 * covariance + contrast)) / (
        (mean_x**2 + mean_y**2 + luminance) * (variance_x + variance_y + contrast)
    )
    return similarity.mean(dim=(1, 2, 3)).reshape(prediction.shape[:-2]).mean(dim=-1)


def _blur(images: Tensor) -> Tensor:
    """(N, 1, H, W) -> (N, 1, H - 2 RADIUS, W - 2 RADIUS)"""
    offsets = torch.arange(-RADIUS, RADIUS + 1, dtype=images.dtype, device=images.device)
    window = torch.exp(-0.5 * (offsets / SIGMA) ** 2)
    window = window / window.sum()
    return functional.conv2d(functional.conv2d(images, window.view(1, 1, -1, 1)), window.view(1, 1, 1, -1))


def _check(prediction: Tensor, target: Tensor) -> None:
    if prediction.shape != target.shape or prediction.ndim < 3:
        raise LociError(
            f"Two images of the same shape (..., C, H, W) are needed, but the prediction is "
            f"{tuple(prediction.shape)} and the target {tuple(target.shape)}."
        )
    if prediction.numel() == 0:
        raise LociError("There is no image to compare: the batch is empty.")
    for name, images in (("prediction", prediction), ("target", target)):
        if not torch.isfinite(images).all():
            raise LociError(f"The {name} contains values that are not numbers: it cannot be compared.")
