"""LPIPS against a second forward pass in numpy, and, once the weights are fetched, against the original program."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from loci_looped.evaluation.metrics.perceptual import (
    Backbone,
    PerceptualDistance,
    load_perceptual,
    weight_shapes,
    weights_file,
)
from loci_looped.utils.errors import LociError


def random_weights(backbone: Backbone, seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in weight_shapes(backbone).items():
        spread = (2 / np.prod(shape[1:])) ** 0.5 if len(shape) == 4 else 0.1
        weights[name] = spread * torch.randn(shape, generator=generator)
    return {name: values.abs() if name.startswith("head") else values for name, values in weights.items()}


# ---------------------------------------------------------------- the second forward pass, channels last, in numpy

STAGES: dict[str, list] = {          # written down once more: stages of (kernel, stride, padding), pooling windows
    "alex": [[(11, 4, 2)], 3, [(5, 1, 2)], 3, [(3, 1, 1)], [(3, 1, 1)], [(3, 1, 1)]],
    "vgg": [[(3, 1, 1)] * 2, 2, [(3, 1, 1)] * 2, 2, [(3, 1, 1)] * 3, 2, [(3, 1, 1)] * 3, 2, [(3, 1, 1)] * 3],
}


def windows(image: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    """(H, W, C) -> (h, w, C, kernel, kernel)"""
    return np.lib.stride_tricks.sliding_window_view(image, (kernel, kernel), axis=(0, 1))[::stride, ::stride]


def numpy_lpips(backbone: str, weights: dict[str, torch.Tensor], first: np.ndarray, second: np.ndarray) -> float:
    def features(image: np.ndarray) -> list[np.ndarray]:
        x = (image.transpose(1, 2, 0) * 2 - 1 - [-0.030, -0.088, -0.188]) / [0.458, 0.448, 0.450]
        compared, number = [], 0
        for stage in STAGES[backbone]:
            if isinstance(stage, int):
                x = windows(x, stage, 2).max(axis=(3, 4))
                continue
            for kernel, stride, padding in stage:
                x = np.pad(x, ((padding, padding), (padding, padding), (0, 0)))
                weight = weights[f"convolution.{number}.weight"].double().numpy()
                bias = weights[f"convolution.{number}.bias"].double().numpy()
                x = np.tensordot(windows(x, kernel, stride), weight, axes=((2, 3, 4), (1, 2, 3))) + bias
                x = np.maximum(x, 0)
                number += 1
            compared.append(x)
        return compared

    total = 0.0
    for index, (a, b) in enumerate(zip(features(first), features(second), strict=True)):
        a, b = (f / (np.linalg.norm(f, axis=2, keepdims=True) + 1e-10) for f in (a, b))
        total += float((((a - b) ** 2) @ weights[f"head.{index}"].double().numpy()).mean())
    return total


@pytest.mark.parametrize("backbone", ["alex", "vgg"])
def test_equals_an_independent_forward_pass(backbone: Backbone) -> None:
    weights = random_weights(backbone)
    distance = PerceptualDistance(backbone, weights)
    first, second = torch.rand(2, 2, 3, 35, 40, generator=torch.Generator().manual_seed(1))
    ours = distance(first, second)
    for index in range(2):
        expected = numpy_lpips(backbone, weights, first[index].double().numpy(), second[index].double().numpy())
        assert ours[index].item() == pytest.approx(expected, rel=1e-4)
    assert torch.equal(distance(first, first), torch.zeros(2))
    assert torch.allclose(distance(second, first), ours)


def test_any_leading_axes_and_any_number_of_images() -> None:
    distance = PerceptualDistance("alex", random_weights("alex"))
    first, second = torch.rand(2, 5, 14, 3, 31, 31, generator=torch.Generator().manual_seed(2))
    many = distance(first, second)                                  # 70 images, more than go at once
    assert many.shape == (5, 14)
    assert torch.allclose(many[4, 13], distance(first[4, 13], second[4, 13]), rtol=1e-4)


def picture(shift: float) -> torch.Tensor:
    y, x = torch.meshgrid(torch.linspace(0, 1, 64), torch.linspace(0, 1, 96), indexing="ij")
    disc = ((x - 0.5 - shift) ** 2 + (y - 0.5) ** 2 < 0.05).float()
    return torch.stack([0.5 + 0.5 * torch.sin(9 * x + 3 * y + shift), 0.5 + 0.5 * torch.cos(23 * x * y + shift), disc])


@pytest.mark.parametrize(
    ("backbone", "expected"), [("alex", (0.106458, 0.324016)), ("vgg", (0.140830, 0.384789))]
)
def test_fetched_weights_give_the_original_programs_values(backbone: Backbone, expected: tuple[float, float]) -> None:
    """The expected values were computed with the package lpips 0.1.4 itself, its own heads and code."""
    if not weights_file(backbone).exists():
        pytest.skip("the weights are not here; `loci fetch lpips` gets them")
    reference = picture(0.0)
    ours = load_perceptual(backbone)(torch.stack([reference] * 2), torch.stack([picture(0.1), picture(0.5)]))
    assert ours.tolist() == pytest.approx(expected, abs=2e-6)


def test_weights_come_from_the_cache_or_a_sentence_says_how_to_get_them(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path))
    with pytest.raises(LociError, match="run `loci fetch lpips` once"):
        load_perceptual("alex")
    path = weights_file("alex")
    path.parent.mkdir()
    weights = random_weights("alex")
    save_file(weights, path)
    first, second = torch.rand(2, 3, 32, 32)
    assert torch.equal(load_perceptual("alex")(first, second), PerceptualDistance("alex", weights)(first, second))
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(LociError, match="is damaged"):
        load_perceptual("alex")
    save_file({"other": torch.zeros(1)}, path)
    with pytest.raises(LociError, match="not the weights of LPIPS with alex"):
        load_perceptual("alex")


def test_bad_images_are_told_in_a_sentence() -> None:
    distance = PerceptualDistance("alex", random_weights("alex"))
    image = torch.zeros(1, 3, 32, 32)
    with pytest.raises(LociError, match="31 pixels on either side, these images are 32 x 30"):
        distance(image[..., :30], image[..., :30])
    with pytest.raises(LociError, match="colour images of one shape"):
        distance(image[:, :1], image[:, :1])
    with pytest.raises(LociError, match="not numbers"):
        distance(image + float("nan"), image)
    with pytest.raises(LociError, match="batch is empty"):
        distance(image[:0], image[:0])
