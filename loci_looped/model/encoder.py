"""The encoder (outer loop): each slot looks at the frame through its own prediction and reports what and where."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.network import LociConfig

from .active import Active
from .blocks import Convolution, PatchDown, ResidualBlock, binarise, channel_skip, gaussian_map, grid
from .state import SlotCodes

INPUT_CHANNELS = 12

class ForcedGain(torch.autograd.Function):
    """tanh(u) · x, where u receives the gradient -1 whatever the loss: a gain that grows by itself during training."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, u: Tensor) -> Tensor:
        gain = torch.tanh(u)
        ctx.save_for_backward(gain)
        return x * gain

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (gain,) = ctx.saved_tensors
        return gradients[0] * gain, -torch.ones_like(gain)


class GlobalGestalt(nn.Module):
    """(n, C, h, w) -> (n, G): two large convolutions that shrink the map to one cell, plus its spatial mean."""

    def __init__(self, config: LociConfig):
        super().__init__()
        h, w = config.latent
        self.conv1 = Convolution(config.encoder.channels, config.gestalt, 5, stride=3, padding=3)
        self.conv2 = Convolution(config.gestalt, config.gestalt, ((h + 1) // 3 + 1, (w + 1) // 3 + 1))

    def forward(self, features: Tensor, attention: Tensor) -> Tensor:
        del attention  # this head reads the whole map, wherever the slot looks
        mean = features.mean((2, 3), keepdim=True)
        skip = channel_skip(mean, self.conv2.out_channels)
        result: Tensor = (self.conv2(F.relu(self.conv1(features))) + skip).flatten(1)
        return result


class PositionBlocks(nn.Sequential):
    """The last block works in the arithmetic of its weights: it is cheap, and places are read off its maps by a
    soft-max, where rounded logits would blur them."""

    def forward(self, input: Tensor) -> Tensor:
        *blocks, last = self
        for block in blocks:
            input = block(input)
        assert isinstance(last, ResidualBlock)
        result: Tensor = last(input.to(last.conv1.weight.dtype))
        return result


class Encoder(nn.Module):
    position_maps = 3       # size, place, priority
    arithmetic: torch.dtype | None = None
    """Of the convolutions, see `precision.py`; None is that of the frames."""

    def __init__(self, config: LociConfig):
        super().__init__()
        self.config = config
        c, fine, layers = config.encoder.channels, config.encoder.fine_channels, config.encoder.layers
        if config.levels == 2:
            self.fine_down = PatchDown(INPUT_CHANNELS, fine, gain=1e-16)
            self.fine_blocks = nn.Sequential(*[ResidualBlock(fine, fine, gain=1e-12) for _ in range(layers)])
        self.down = PatchDown(fine, c, gain=1.0)
        self.trunk = nn.Sequential(*[ResidualBlock(c, c) for _ in range(layers)])
        self.position_blocks = PositionBlocks(
            *[ResidualBlock(c, c) for _ in range(layers)], ResidualBlock(c, self.position_maps)
        )
        self.gestalt_blocks = nn.Sequential(*[ResidualBlock(c, c) for _ in range(layers)])
        self.gestalt_head = self.build_gestalt_head()
        self.build_size_head()

    def build_gestalt_head(self) -> nn.Module:
        return GlobalGestalt(self.config)

    def build_size_head(self) -> None:
        self.size_growth = nn.Parameter(torch.zeros(1))

    def forward(
        self, frame: Tensor, error: Tensor, visible_masks_with_background: Tensor, own_objects: Tensor,
        previous: SlotCodes, object_masks: Tensor, active: Active, generator: torch.Generator | None,
    ) -> SlotCodes:
        """What every slot senses. Slots that take no part come back as zeros."""
        x = self._inputs(frame, error, visible_masks_with_background, own_objects, previous, object_masks, active)
        features = self.trunk(self._to_latent(x))
        gestalt_features = self.gestalt_blocks(features)
        position_maps = self.position_blocks(features)
        size_map, place_map, priority_map, *further_maps = position_maps.unbind(1)      # each (n, h, w)
        place_map = self.place_logits(place_map, x, previous, active)
        attention = torch.softmax(place_map.flatten(1), dim=1).view_as(place_map)
        position = self.position(attention, further_maps)

        logits = self.gestalt_head(gestalt_features, attention).to(frame.dtype)
        binary = self.config.bottleneck == "binary"
        gestalt = binarise(logits, self.training, generator) if binary else torch.sigmoid(logits)
        return SlotCodes(
            gestalt=active.unfold(gestalt),
            position=active.unfold(position),
            size=active.unfold(self.size(size_map)),
            priority=active.unfold(torch.tanh(priority_map).mean((1, 2))),
        )

    def _inputs(
        self, frame: Tensor, error: Tensor, visible_with_background: Tensor, own_objects: Tensor, previous: SlotCodes,
        object_masks: Tensor, active: Active,
    ) -> Tensor:
        """(n, 12, H, W): frame, error, own mask, others' masks, background mask; own object, Gaussian, object mask."""
        visible, background = visible_with_background[:, :-1], visible_with_background[:, -1:]
        if self.config.colour_order == "bgr":
            frame, own_objects = frame.flip(1), own_objects.flip(2)
        own_gaussian = gaussian_map(active.fold(previous.position), active.fold(previous.size), self.config.frame)
        dtype = self.arithmetic or frame.dtype
        return torch.cat([
            active.of_scenes(torch.cat([frame, error], dim=1).to(dtype)),
            active.fold(visible.to(dtype)).unsqueeze(1),
            active.fold((visible.sum(1, keepdim=True) - visible).to(dtype)).unsqueeze(1),
            active.of_scenes(background.to(dtype)),
            active.fold(own_objects).to(dtype),
            own_gaussian.unsqueeze(1).to(dtype),
            active.fold(object_masks).unsqueeze(1).to(dtype),
        ], dim=1)

    def _to_latent(self, x: Tensor) -> Tensor:
        if self.config.level == 2:
            x = self.fine_blocks(self.fine_down(x))
        result: Tensor = self.down(x, self.config.encoder.fine_channels // x.shape[1])
        return result

    def place_logits(self, place_map: Tensor, x: Tensor, previous: SlotCodes, active: Active) -> Tensor:
        """(n, h, w) where each slot looks, before the soft-max; `x` are all inputs."""
        del x, previous, active
        return place_map

    def cell_centres(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """(h,), (w,) the coordinates of the latent grid's rows and columns."""
        rows, columns = self.config.latent
        return grid(rows, like), grid(columns, like)

    def position(self, attention: Tensor, further_maps: list[Tensor]) -> Tensor:
        """(n, 2) the middle of what a slot looks at."""
        del further_maps
        rows, columns = self.cell_centres(attention)
        return torch.stack([attention.sum(2) @ rows, attention.sum(1) @ columns], dim=-1)

    def size(self, size_map: Tensor) -> Tensor:
        """(n, h, w) -> (n,), times a gain that grows by itself."""
        size = torch.sigmoid(size_map - 10).mean((1, 2))
        if torch.is_grad_enabled() and self.training:
            result: Tensor = ForcedGain.apply(size, self.size_growth)  # type: ignore[no-untyped-call]
            return result
        return size * torch.tanh(self.size_growth)
