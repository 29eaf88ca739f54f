"""The encoder: each slot looks at the frame through its own prediction and reports what and where."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.loci_v1 import LociV1Config
from loci_looped.model.blocks import ResidualBlock, channel_skip, gaussian_map, grid
from loci_looped.model.decoder import pushed_aside
from loci_looped.model.encoder import INPUT_CHANNELS, ForcedGain
from loci_looped.model.state import SlotCodes

from .blocks import Down, ToOneCell

POSITION_MAPS = 3       # size, place, priority


class Encoder(nn.Module):
    def __init__(self, config: LociV1Config):
        super().__init__()
        self.config = config
        c, fine, layers, gain = (
            config.encoder_channels, config.fine_channels, config.encoder_layers, config.branch_gain
        )
        if config.levels == 2:
            self.fine_down = Down(INPUT_CHANNELS, fine, gain)
            self.fine_blocks = nn.Sequential(*[ResidualBlock(fine, fine, gain=gain) for _ in range(layers)])
        self.down = Down(fine, c, gain)
        self.trunk = nn.Sequential(*[ResidualBlock(c, c) for _ in range(layers)])
        self.position_blocks = nn.Sequential(
            *[ResidualBlock(c, c) for _ in range(layers)], ResidualBlock(c, POSITION_MAPS)
        )
        wide = max(c, config.gestalt)
        self.to_one_cell = ToOneCell(c, wide, config.latent, gain)
        self.gestalt_blocks = nn.Sequential(
            *[ResidualBlock(wide, wide, kernel=1) for _ in range(layers)], ResidualBlock(wide, config.gestalt, kernel=1)
        )
        self.size_growth = nn.Parameter(torch.zeros(1))

    def forward(self, frame: Tensor, error: Tensor, masks: Tensor, own_objects: Tensor, placed: SlotCodes) -> SlotCodes:
        """What every slot senses, from masks (B, K + 1, H, W) and own-object logits (B, K, 3, H, W)."""
        batch, slots = placed.priority.shape
        x = self.inputs(frame, error, masks.detach(), own_objects, placed.detach())
        if self.config.level == 2:
            x = self.fine_blocks(self.fine_down(x))
        features = self.trunk(self.down(channel_skip(x, self.config.fine_channels)))
        size_map, place_map, priority_map = self.position_blocks(features).unbind(1)                # each (B K, h, w)
        attention = torch.softmax(place_map.flatten(1), dim=1).view_as(place_map)
        rows, columns = (grid(cells, attention) for cells in self.config.latent)
        position = torch.stack([attention.sum(2) @ rows, attention.sum(1) @ columns], dim=-1)
        size = torch.sigmoid(size_map - 10).mean((1, 2))
        grown: Tensor = ForcedGain.apply(size, self.size_growth)  # type: ignore[no-untyped-call]
        gestalt = self.gestalt_blocks(self.to_one_cell(features))
        return SlotCodes(
            gestalt=gestalt.view(batch, slots, -1), position=position.view(batch, slots, 2),
            size=grown.view(batch, slots), priority=torch.tanh(priority_map).mean((1, 2)).view(batch, slots),
        )

    def inputs(self, frame: Tensor, error: Tensor, masks: Tensor, own_objects: Tensor, placed: SlotCodes) -> Tensor:
        """(B K, 12, H, W): frame, error, own mask, others' masks, background mask; own object, own Gaussian, others'
        Gaussians as far as nothing stands before them."""
        visible, background = masks[:, :-1], masks[:, -1:]
        slots = visible.shape[1]
        own = gaussian_map(placed.position, placed.size, self.config.frame)                         # (B, K, H, W)
        in_front = pushed_aside(own, placed.priority)

        def others(maps: Tensor) -> Tensor:
            return maps.sum(1, keepdim=True) - maps

        of_scene = torch.cat([frame, error], dim=1).unsqueeze(1).expand(-1, slots, -1, -1, -1)
        return torch.cat([
            of_scene, visible.unsqueeze(2), others(visible).unsqueeze(2),
            background.unsqueeze(1).expand(-1, slots, -1, -1, -1), own_objects, own.unsqueeze(2),
            others(in_front).unsqueeze(2),
        ], dim=2).flatten(0, 1)
