"""The encoder (outer loop): each slot looks at the frame through its own prediction and reports what and where."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.network import LociConfig

from .active import Active
from .blocks import PatchDown, ResidualBlock, binarise, channel_skip, gaussian_map, grid
from .state import SlotCodes

INPUT_CHANNELS = 12

PRIOR_FLOOR = 1e-5
"""How much a slot may look far away from its place. With 1e-3 a large object draws all slots to itself."""

OTHERS_CHANNEL = 5
"""Where the inputs hold the visible masks of all other slots together."""

EXPLAINED_FLOOR = 0.05
"""How much a slot may look where others are expected: enough to see itself come to the front."""


class _ForcedGain(torch.autograd.Function):
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
        self.conv1 = nn.Conv2d(config.encoder.channels, config.gestalt, 5, stride=3, padding=3)
        self.conv2 = nn.Conv2d(config.gestalt, config.gestalt, ((h + 1) // 3 + 1, (w + 1) // 3 + 1))

    def forward(self, features: Tensor, attention: Tensor) -> Tensor:
        del attention  # this head reads the whole map, wherever the slot looks
        mean = features.mean((2, 3), keepdim=True)
        skip = channel_skip(mean, self.conv2.out_channels)
        return (self.conv2(F.relu(self.conv1(features))) + skip).flatten(1)


class AttendedGestalt(nn.Module):
    """(n, C, h, w) -> (n, G): features where the slot looks, beside their mean over the image."""

    def __init__(self, config: LociConfig):
        super().__init__()
        width = 2 * config.encoder.channels
        self.norm = nn.LayerNorm(width)
        self.linear1 = nn.Linear(width, 64)
        self.linear2 = nn.Linear(64, config.gestalt)
        # Larger than usual, so that codes leave one half early and slots tell objects apart from the start.
        nn.init.orthogonal_(self.linear1.weight, 1.4)
        nn.init.orthogonal_(self.linear2.weight, 2.5)

    def forward(self, features: Tensor, attention: Tensor) -> Tensor:
        looked_at = (attention.unsqueeze(1) * features).sum((2, 3))
        both = torch.cat([looked_at, features.mean((2, 3))], dim=1)
        return self.linear2(F.relu(self.linear1(self.norm(both))))


class Encoder(nn.Module):
    def __init__(self, config: LociConfig):
        super().__init__()
        self.config = config
        c, fine, layers = config.encoder.channels, config.encoder.fine_channels, config.encoder.layers
        if config.levels == 2:
            self.fine_down = PatchDown(INPUT_CHANNELS, fine, gain=1e-16)
            self.fine_blocks = nn.Sequential(*[ResidualBlock(fine, fine, gain=1e-12) for _ in range(layers)])
        self.down = PatchDown(fine, c, gain=1.0)
        self.trunk = nn.Sequential(*[ResidualBlock(c, c) for _ in range(layers)])
        maps = 5 if config.encoder.offsets else 3      # size, place, priority, and where in its cell the middle lies
        self.position_blocks = nn.Sequential(*[ResidualBlock(c, c) for _ in range(layers)], ResidualBlock(c, maps))
        self.gestalt_blocks = nn.Sequential(*[ResidualBlock(c, c) for _ in range(layers)])
        whole = config.encoder.gestalt_head == "global"
        self.gestalt_head = GlobalGestalt(config) if whole else AttendedGestalt(config)
        if config.encoder.size_head == "forced":
            self.size_growth = nn.Parameter(torch.zeros(1))

    def forward(
        self, frame: Tensor, error: Tensor, visible_masks_with_background: Tensor, own_objects: Tensor,
        previous: SlotCodes, object_masks: Tensor, active: Active, generator: torch.Generator | None,
    ) -> SlotCodes:
        """What every slot senses. Slots that take no part come back as zeros."""
        x = self._inputs(frame, error, visible_masks_with_background, own_objects, previous, object_masks, active)
        features = self.trunk(self._to_latent(x))
        gestalt_features = self.gestalt_blocks(features)
        size_map, place_map, priority_map, *offset_maps = self.position_blocks(features).unbind(1)    # each (n, h, w)

        if self.config.encoder.position_prior:
            place, size = active.fold(previous.position), active.fold(previous.size)
            own = gaussian_map(place, size, self.config.latent, self.config.aligned_frame)
            place_map = place_map + torch.log(own + PRIOR_FLOOR)
        if self.config.encoder.explaining_away:
            place_map = place_map + torch.log(self._left_over(x) + EXPLAINED_FLOOR)
        attention = torch.softmax(place_map.flatten(1), dim=1).view_as(place_map)
        frame_size = self.config.aligned_frame or (None, None)
        rows, columns = (grid(n, place_map, pixels) for n, pixels in zip(self.config.latent, frame_size, strict=True))
        position = torch.stack([attention.sum(2) @ rows, attention.sum(1) @ columns], dim=-1)
        if offset_maps:
            within = torch.stack([(attention * torch.tanh(m)).sum((1, 2)) for m in offset_maps], dim=-1)
            position = position + within * torch.stack([rows[1] - rows[0], columns[1] - columns[0]])

        logits = self.gestalt_head(gestalt_features, attention)
        binary = self.config.bottleneck == "binary"
        gestalt = binarise(logits, self.training, generator) if binary else torch.sigmoid(logits)
        return SlotCodes(
            gestalt=active.unfold(gestalt),
            position=active.unfold(position),
            size=active.unfold(self._size(size_map)),
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
        return torch.cat([
            active.of_scenes(torch.cat([frame, error], dim=1)),
            active.fold(visible).unsqueeze(1),
            active.fold(visible.sum(1, keepdim=True) - visible).unsqueeze(1),
            active.of_scenes(background),
            active.fold(own_objects),
            own_gaussian.unsqueeze(1),
            active.fold(object_masks).unsqueeze(1),
        ], dim=1).contiguous(memory_format=torch.channels_last)

    def _left_over(self, x: Tensor) -> Tensor:
        """(n, h, w): the share of each cell that no other slot is expected to fill."""
        others = x[:, OTHERS_CHANNEL].unsqueeze(1)
        return 1 - F.avg_pool2d(others, 4**self.config.level).squeeze(1).clamp(0, 1)

    def _to_latent(self, x: Tensor) -> Tensor:
        if self.config.level == 2:
            x = self.fine_blocks(self.fine_down(x))
        return self.down(channel_skip(x, self.config.encoder.fine_channels))

    def _size(self, size_map: Tensor) -> Tensor:
        """(n, h, w) -> (n,)"""
        if self.config.encoder.size_head == "bounded":
            return self.config.encoder.size_limit * torch.sigmoid(size_map.mean((1, 2)) - 2)
        size = torch.sigmoid(size_map - 10).mean((1, 2))
        if torch.is_grad_enabled() and self.training:
            return _ForcedGain.apply(size, self.size_growth)
        return size * torch.tanh(self.size_growth)
