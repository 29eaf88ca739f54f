"""PSNR and SSIM equal scikit-image with SlotFormer's settings; bad images are told in a sentence."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio, structural_similarity

from loci_looped.evaluation.metrics.images import mse, psnr, ssim
from loci_looped.utils.errors import LociError


def pair(seed: int, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    first = torch.rand(*shape, generator=generator)
    return first, (first + 0.2 * torch.randn(*shape, generator=generator)).clamp(0, 1)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), height=st.integers(11, 40), width=st.integers(11, 40), channels=st.integers(1, 4))
def test_each_image_of_a_batch_equals_scikit_image(seed: int, height: int, width: int, channels: int) -> None:
    prediction, target = pair(seed, 2, 3, channels, height, width)
    scores = [metric(prediction, target) for metric in (mse, psnr, ssim)]
    for index in np.ndindex(2, 3):
        ours, theirs = prediction[index].numpy(), target[index].numpy()
        assert scores[0][index].item() == pytest.approx(mean_squared_error(theirs, ours), rel=1e-6)
        assert scores[1][index].item() == pytest.approx(peak_signal_noise_ratio(theirs, ours, data_range=1), rel=1e-6)
        expected = structural_similarity(
            255.0 * theirs.astype(np.float64), 255.0 * ours.astype(np.float64), channel_axis=0, gaussian_weights=True,
            sigma=1.5, use_sample_covariance=False, data_range=255,
        )
        assert scores[2][index].item() == pytest.approx(expected, abs=1e-9)


def test_equal_images_are_perfect() -> None:
    image, _ = pair(0, 3, 16, 16)
    assert mse(image, image) == 0 and torch.isinf(psnr(image, image)) and ssim(image, image) == pytest.approx(1)


@pytest.mark.parametrize("metric", [mse, psnr, ssim])
def test_bad_images_are_told_in_a_sentence(metric) -> None:
    image = torch.zeros(1, 3, 16, 16)
    with pytest.raises(LociError, match=r"prediction is \(1, 3, 16, 16\) and the target \(1, 3, 16, 15\)"):
        metric(image, image[..., :15])
    with pytest.raises(LociError, match="batch is empty"):
        metric(image[:0], image[:0])
    with pytest.raises(LociError, match="prediction contains values that are not numbers"):
        metric(image + float("nan"), image)
    with pytest.raises(LociError, match="target contains"):
        metric(image, image + float("inf"))


def test_ssim_of_a_tiny_image_is_told_in_a_sentence() -> None:
    with pytest.raises(LociError, match="11 pixels on either side, these images are 16 x 10"):
        ssim(torch.zeros(3, 16, 10), torch.zeros(3, 16, 10))
