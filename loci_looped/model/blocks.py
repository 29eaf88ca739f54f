"""The bricks: residual convolutions with parameter-free skips, and the Gaussian that says where a slot is."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .patches import to_patches, to_pictures
from .residual import ResidualBranch, painted_convolution, plus_painted

EXACT = torch.ones((), dtype=torch.float64)
"""Constants of a network are kept in double precision, so that they are exact in any."""


def channel_skip(x: Tensor, channels: int) -> Tensor:
    """Change the number of channels (N, C, H, W) without parameters: repeat consecutively, or average groups."""
    have = x.shape[1]
    return x if have == channels else regrouped(x, channel_groups(have, channels, x))


def regrouped(x: Tensor, groups: Tensor) -> Tensor:
    """(N, C, H, W) -> (N, C', H, W): channels mixed by a matrix (C, C')."""
    # One matrix product, which leaves maps and their gradients in the layout they had, channels last.
    return (x.permute(0, 2, 3, 1) @ groups.to(x.dtype)).permute(0, 3, 1, 2)


def channel_groups(have: int, channels: int, like: Tensor) -> Tensor:
    """(have, channels): how much each of the channels there are has in each of those that there will be."""
    common = math.gcd(have, channels)
    groups = torch.eye(common, dtype=like.dtype, device=like.device) * (common / have)
    return groups.repeat_interleave(have // common, 0).repeat_interleave(channels // common, 1)


def grid(cells: int, like: Tensor, pixels: int | None = None) -> Tensor:
    """(cells,) coordinates of cell centres, where -1 is the first pixel's centre and +1 the last one's.

    Without `pixels` the outermost cells are put on the outermost pixels, as the paper does; with it each cell is put
    on the middle of the pixels it covers.
    """
    edge = 1.0 if pixels is None else (pixels - pixels / cells) / (pixels - 1)
    return torch.linspace(-edge, edge, cells, dtype=like.dtype, device=like.device)


def gaussian_map(
    position: Tensor, size: Tensor, shape: tuple[int, int], frame: tuple[int, int] | None = None
) -> Tensor:
    """Q: (..., 2), (...) -> (..., rows, columns), peak 1. A size of 0 is about half a pixel wide at any resolution.

    `frame` is the picture's size in pixels if the cells of `shape` are to lie where their pixels are.
    """
    rows, columns = shape
    spread = 1 + max(shape) * size.clamp(0, 1)
    y, x = position.clamp(-1, 1).unbind(-1)
    ys, xs = (grid(n, position, pixels) for n, pixels in zip(shape, frame or (None, None), strict=True))
    vertical = (ys - y.unsqueeze(-1)) / (spread / rows).unsqueeze(-1)               # (..., rows)
    horizontal = (xs - x.unsqueeze(-1)) / (spread / columns).unsqueeze(-1)          # (..., columns)
    return torch.exp(-vertical.square() / 2).unsqueeze(-1) * torch.exp(-horizontal.square() / 2).unsqueeze(-2)


def _keep(module: nn.Module, name: str, constant: Tensor) -> None:
    """Constants are made once; they go with the module to any device, but not into its weights' file."""
    module.register_buffer(name, constant, persistent=False)


class Convolution(nn.Conv2d):
    """Works in the arithmetic of the maps it is given; its weights are kept as they are, and so are their gradients."""

    def forward(self, input: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(input.dtype)
        result: Tensor = self._conv_forward(input, self.weight.to(input.dtype), bias)
        return result


class ResidualBlock(nn.Module):
    """skip(x) + [gain ·] conv(relu(conv(relu(x)))); the first ReLU can be left out, the gain is optional."""

    groups: Tensor      # (inputs, outputs) of the skip

    def __init__(
        self, inputs: int, outputs: int, kernel: int = 3, *, leading_relu: bool = True, gain: float | None = None
    ):
        super().__init__()
        self.conv1 = Convolution(inputs, outputs, kernel, padding=kernel // 2)
        self.conv2 = Convolution(outputs, outputs, kernel, padding=kernel // 2)
        self.gain = None if gain is None else nn.Parameter(torch.full((1,), gain))
        self.leading_relu = leading_relu
        _keep(self, "groups", channel_groups(inputs, outputs, EXACT))

    def forward(self, x: Tensor) -> Tensor:
        w1, b1, w2, b2 = self._weights()
        same = self.conv1.in_channels == self.conv2.out_channels
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            branch: Tensor = ResidualBranch.apply(  # type: ignore[no-untyped-call]
                x, w1, b1, w2, b2, self.leading_relu, same
            )
        else:
            branch = self._convolved(self._convolved(F.relu(x) if self.leading_relu else x, w1, b1).relu_(), w2, b2)
            # In place where nobody else looks: feature maps are larger than the cache, and every copy costs.
            branch = branch.add_(x) if same else branch
        return branch if same else branch.add_(regrouped(x, self.groups))

    def painted(self, maps: Tensor, codes: Tensor) -> Tensor:
        """The same of codes (n, C) painted where their maps (n, h, w) are; without the leading ReLU."""
        w1, b1, w2, b2 = self._weights()
        branch = self._convolved(F.relu(painted_convolution(maps, codes, w1, b1)), w2, b2)
        return plus_painted(branch, maps, codes @ self.groups.to(codes.dtype))

    def _weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Those of the two convolutions, the gain in the second ones: a factor of the branch is one of its weights."""
        assert self.conv1.bias is not None and self.conv2.bias is not None
        second = self.conv2.weight, self.conv2.bias
        w2, b2 = second if self.gain is None else (self.gain * weight for weight in second)
        return self.conv1.weight, self.conv1.bias, w2, b2

    def _convolved(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv2d(x, weight.to(x.dtype), bias.to(x.dtype), padding=weight.shape[-1] // 2)

    def he_initialise(self) -> None:
        """Keep signals at their size through many blocks: He's scale, the second convolution at a third of it."""
        for conv, scale in ((self.conv1, 1.0), (self.conv2, 0.3)):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            conv.weight.data.mul_(scale)
            if conv.bias is not None:
                nn.init.zeros_(conv.bias)


class PatchDown(nn.Module):
    """Four times smaller: block mean with repeated channels + gain · convolution of 4x4 patches."""

    mean: Tensor        # (outputs, inputs, 1, 1) of the skip

    def __init__(self, inputs: int, outputs: int, gain: float):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 4, stride=4)
        self.gain = nn.Parameter(torch.full((1,), gain))
        _keep(self, "mean", channel_groups(inputs, outputs, EXACT).T[..., None, None] / 16)

    def forward(self, x: Tensor, repeated: int = 1) -> Tensor:
        """`repeated`: each channel of `x` stands for so many equal ones."""
        # Both summands are linear, so they are one convolution: the mean's kernel is added to the learnt one.
        weight = self.gain * self.conv.weight + self.mean.to(self.gain.dtype)
        if repeated > 1:        # equal channels see the sum of their weights
            weight = weight.unflatten(1, (-1, repeated)).sum(2)
        # Patches do not overlap, so that they are one matrix product; its gradients are several times faster than a
        # convolution's.
        patches = to_patches(x)
        bias = None if self.conv.bias is None else (self.gain * self.conv.bias).to(x.dtype)
        return F.linear(patches, weight.flatten(1).to(x.dtype), bias).permute(0, 3, 1, 2)

    def tell_inputs_apart(self) -> None:
        """Begin with block means of the inputs in turn, each output one of them.

        Where the numbers of channels do not divide, the skip averages inputs: red, green and blue become grey, and a
        network that starts without colours takes a thousand updates to find them.
        """
        outputs, inputs = self.conv.weight.shape[:2]
        with torch.no_grad():
            averaged = channel_groups(inputs, outputs, torch.ones(())).T[..., None, None]
            in_turn = torch.eye(inputs)[torch.arange(outputs) % inputs][..., None, None]
            self.conv.weight += ((in_turn - averaged) / 16 / self.gain).to(self.conv.weight)


class PatchUp(nn.Module):
    """Four times larger: averaged channels, each cell a 4x4 patch, + gain · a learnt patch."""

    plain: Tensor       # (inputs, 16 outputs) of the skip
    larger: Tensor      # (outputs, 16 outputs) of an enlargement

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.conv = Convolution(inputs, inputs, 3, padding=1)
        self.spread = nn.ConvTranspose2d(inputs, outputs, 4, stride=4)
        self.gain = nn.Parameter(torch.ones(1))
        _keep(self, "plain", channel_groups(inputs, outputs, EXACT).repeat_interleave(16, dim=1))
        _keep(self, "larger", channel_groups(outputs, 16 * outputs, EXACT))

    def tell_outputs_apart(self) -> None:
        """Begin with channels that speak for one output each and against the others, in turn.

        The skip gives all outputs the same average: without this a picture begins grey, and colours are found late.
        """
        channels, outputs = self.spread.weight.shape[:2]
        share = torch.eye(outputs)[torch.arange(channels) % outputs] - 1 / outputs              # (channels, outputs)
        with torch.no_grad():
            self.conv.weight[:, :, 1, 1] += torch.eye(channels)
            self.spread.weight += (4 * outputs / channels * share)[..., None, None].to(self.spread.weight)

    def forward(
        self, x: Tensor, dtype: torch.dtype | None = None, *, gain: Tensor | None = None, onto: Tensor | None = None
    ) -> Tensor:
        """(n, C, h, w) -> (n, outputs, 4 h, 4 w), in the type `dtype` if it is given.

        `onto`: a picture of the same scene (n, outputs, h, w) it is added to, times the factor `gain`.
        """
        (n, channels, rows, columns), outputs = x.shape, self.spread.out_channels
        cells = F.relu(self.conv(F.relu(x)), inplace=True)
        # Patches do not overlap, so they are one matrix product of the cells: several times faster than a transposed
        # convolution; another gives the averaged channels.
        plain = self.plain.to(self.gain.dtype)
        weight = self.gain * self.spread.weight.reshape(channels, -1)
        offset = weight.new_zeros(outputs) if self.spread.bias is None else self.gain * self.spread.bias
        if gain is not None:
            plain, weight, offset = gain * plain, gain * weight, gain * offset
        patches = torch.addmm(offset.repeat_interleave(16).to(x.dtype), _cells(cells), weight.to(x.dtype))
        patches = torch.addmm(patches, _cells(x), plain.to(x.dtype))
        if onto is not None:
            patches = torch.addmm(patches, _cells(onto.to(x.dtype)), self.larger.to(x.dtype))
        return to_pictures(patches.view(n, rows, columns, -1)).to(dtype or x.dtype)


def _cells(x: Tensor) -> Tensor:
    """(n, C, h, w), channels last -> (n h w, C), the same memory."""
    return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])


def binarise(logits: Tensor, training: bool, generator: torch.Generator | None) -> Tensor:
    """The binary bottleneck: noisy around one half while training, so that codes flee to 0 and 1; then rounded."""
    probability = torch.sigmoid(logits)
    if not training:
        return probability.round()
    return noisy_bits(probability, generator)


def noisy_bits(probability: Tensor, generator: torch.Generator | None) -> Tensor:
    """s + s(1-s)ε; without a generator there is no noise."""
    if generator is None:
        return probability
    return probability + probability * (1 - probability) * normal_like(probability, generator)


def normal_like(x: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)
