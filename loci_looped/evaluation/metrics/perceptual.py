"""LPIPS: how different do two images look? (Zhang et al., 2018, version 0.1, with VGG16 or AlexNet.)

Both images go through a network trained on photographs; the distance of their features, normalised at each place and
weighted by channel, is averaged over the image and summed over five depths. The paper reports VGG. The weights come
from `loci fetch lpips`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from loci_looped.utils.cache import cache_folder
from loci_looped.utils.errors import LociError

Backbone = Literal["vgg", "alex"]
PROTOCOL = "lpips/0.1"
AT_ONCE = 64               # images that go through the network together

# The statistics of the photographs, for images in [-1, 1].
SHIFT = (-0.030, -0.088, -0.188)
SCALE = (0.458, 0.448, 0.450)


@dataclass(frozen=True)
class Convolution:
    """One convolution with its rectifier; `tap`: its output is one of the five that are compared."""

    inputs: int
    outputs: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    pool: int | None = None          # before it: the largest of `pool` x `pool` places, at every second one
    tap: bool = False


ALEX = (
    Convolution(3, 64, kernel=11, stride=4, padding=2, tap=True),
    Convolution(64, 192, kernel=5, padding=2, pool=3, tap=True),
    Convolution(192, 384, pool=3, tap=True),
    Convolution(384, 256, tap=True),
    Convolution(256, 256, tap=True),
)
VGG = (
    Convolution(3, 64), Convolution(64, 64, tap=True),
    Convolution(64, 128, pool=2), Convolution(128, 128, tap=True),
    Convolution(128, 256, pool=2), Convolution(256, 256), Convolution(256, 256, tap=True),
    Convolution(256, 512, pool=2), Convolution(512, 512), Convolution(512, 512, tap=True),
    Convolution(512, 512, pool=2), Convolution(512, 512), Convolution(512, 512, tap=True),
)
ARCHITECTURES: dict[Backbone, tuple[Convolution, ...]] = {"vgg": VGG, "alex": ALEX}
SMALLEST_SIDE: dict[Backbone, int] = {"vgg": 16, "alex": 31}


def weight_shapes(backbone: Backbone) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor the network needs."""
    layers = ARCHITECTURES[backbone]
    shapes: dict[str, tuple[int, ...]] = {}
    for index, layer in enumerate(layers):
        shapes[f"convolution.{index}.weight"] = (layer.outputs, layer.inputs, layer.kernel, layer.kernel)
        shapes[f"convolution.{index}.bias"] = (layer.outputs,)
    for index, layer in enumerate(layer for layer in layers if layer.tap):
        shapes[f"head.{index}"] = (layer.outputs,)
    return shapes


@dataclass(frozen=True)
class PerceptualDistance:
    """Call it with two batches of images in [0, 1]."""

    backbone: Backbone
    weights: dict[str, Tensor]

    def __post_init__(self) -> None:
        found = {name: tuple(tensor.shape) for name, tensor in self.weights.items()}
        if found != weight_shapes(self.backbone):
            raise LociError(f"These are not the weights of LPIPS with {self.backbone}: run `loci fetch lpips --again`.")

    def to(self, device: torch.device | str) -> PerceptualDistance:
        return PerceptualDistance(self.backbone, {name: tensor.to(device) for name, tensor in self.weights.items()})

    def __call__(self, prediction: Tensor, target: Tensor) -> Tensor:
        """(..., 3, H, W) twice -> (...)"""
        if prediction.shape != target.shape or prediction.ndim < 3 or prediction.shape[-3] != 3:
            raise LociError(
                f"LPIPS compares colour images of one shape (..., 3, H, W), but they are {tuple(prediction.shape)} and "
                f"{tuple(target.shape)}."
            )
        if prediction.numel() == 0:
            raise LociError("There is no image to compare: the batch is empty.")
        if min(prediction.shape[-2:]) < SMALLEST_SIDE[self.backbone]:
            raise LociError(
                f"LPIPS with {self.backbone} needs {SMALLEST_SIDE[self.backbone]} pixels on either side, these images "
                f"are {prediction.shape[-2]} x {prediction.shape[-1]}: enlarge them, or use the other network."
            )
        if not (torch.isfinite(prediction).all() and torch.isfinite(target).all()):
            raise LociError("An image contains values that are not numbers: it cannot be compared.")
        first, second = (images.reshape(-1, *images.shape[-3:]) for images in (prediction, target))
        pairs = zip(torch.split(first, AT_ONCE), torch.split(second, AT_ONCE), strict=True)
        chunks = [self._distance(a, b) for a, b in pairs]
        return torch.cat(chunks).reshape(prediction.shape[:-3])

    def _distance(self, first: Tensor, second: Tensor) -> Tensor:
        """(N, 3, H, W) twice -> (N,)"""
        distance = first.new_zeros(len(first))
        for index, (a, b) in enumerate(zip(self._features(first), self._features(second), strict=True)):
            gap = (_directions(a) - _directions(b)).square()                               # (N, C, h, w)
            distance = distance + torch.einsum("nchw,c->nhw", gap, self.weights[f"head.{index}"]).mean(dim=(1, 2))
        return distance

    def _features(self, images: Tensor) -> Iterator[Tensor]:
        """The five compared layers, each (N, C, h, w)."""
        shift, scale = (images.new_tensor(values).view(1, 3, 1, 1) for values in (SHIFT, SCALE))
        x = (images * 2 - 1 - shift) / scale
        for index, layer in enumerate(ARCHITECTURES[self.backbone]):
            if layer.pool is not None:
                x = functional.max_pool2d(x, layer.pool, stride=2)
            weight, bias = self.weights[f"convolution.{index}.weight"], self.weights[f"convolution.{index}.bias"]
            x = functional.conv2d(x, weight, bias, stride=layer.stride, padding=layer.padding).relu()
            if layer.tap:
                yield x


def _directions(features: Tensor) -> Tensor:
    """(N, C, h, w) with length 1 at each place; where nothing fires it stays 0."""
    return features / (features.square().sum(dim=1, keepdim=True).sqrt() + 1e-10)


def weights_file(backbone: Backbone) -> Path:
    return cache_folder() / "lpips" / f"{backbone}.safetensors"


def load_perceptual(backbone: Backbone = "vgg") -> PerceptualDistance:
    """LPIPS with the fetched weights."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = weights_file(backbone)
    if not path.exists():
        raise LociError(
            f"LPIPS needs its weights, which are not in {path.parent}: run `loci fetch lpips` once (64 MB), or "
            "leave LPIPS out."
        )
    try:
        return PerceptualDistance(backbone, load_file(path))
    except SafetensorError as error:
        raise LociError(f"{path} is damaged ({error}): run `loci fetch lpips --again`.") from error
