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
from .decoder import Decoder
from .state import Painted

POSITION_MAPS = 3       # size, place, priority


class Encoder(nn.Module):
    position_maps = POSITION_MAPS

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
            *[ResidualBlock(c, c) for _ in range(layers)], ResidualBlock(c, self.position_maps)
        )
        self.build_heads()

    def build_heads(self) -> None:
        """The parts that read look and size off the features."""
        config = self.config
        wide = max(config.encoder_channels, config.gestalt)
        self.to_one_cell = ToOneCell(config.encoder_channels, wide, config.latent, config.branch_gain)
        self.gestalt_blocks = nn.Sequential(
            *[ResidualBlock(wide, wide, kernel=1) for _ in range(config.encoder_layers)],
            ResidualBlock(wide, config.gestalt, kernel=1),
        )
        self.size_growth = nn.Parameter(torch.zeros(1))

    def forward(self, frame: Tensor, error: Tensor, masks: Tensor, own_objects: Tensor, placed: SlotCodes) -> SlotCodes:
        """What every slot senses, from masks (B, K + 1, H, W) and own-object logits (B, K, 3, H, W)."""
        batch, slots = placed.priority.shape
        x = self.inputs(frame, error, masks.detach(), own_objects, placed.detach())
        if self.config.level == 2:
            x = self.fine_blocks(self.fine_down(x))
        features = self.trunk(self.down(channel_skip(x, self.config.fine_channels)))
        size_map, place_map, priority_map, *further = self.position_blocks(features).unbind(1)      # each (B K, h, w)
        place_map = self.place_logits(place_map, masks.detach(), placed.detach())
        attention = torch.softmax(place_map.flatten(1), dim=1).view_as(place_map)
        return SlotCodes(
            gestalt=self.gestalt(features, attention).view(batch, slots, -1),
            position=self.position(attention, further).view(batch, slots, 2),
            size=self.size(size_map).view(batch, slots),
            priority=torch.tanh(priority_map).mean((1, 2)).view(batch, slots),
        )

    def own_objects(self, decoder: Decoder, placed: SlotCodes, painted: Painted) -> Tensor:
        """(B, K, 3, H, W) colour logits of what each slot expects of itself, decoded once more as if nothing stood
        before it."""
        del painted
        return decoder.objects(placed)

    def place_logits(self, place_map: Tensor, masks: Tensor, placed: SlotCodes) -> Tensor:
        """(B K, h, w) where each slot looks, before the soft-max."""
        del masks, placed
        return place_map

    def position(self, attention: Tensor, further: list[Tensor]) -> Tensor:
        """(B K, 2) the middle of what a slot looks at."""
        del further
        rows, columns = (grid(cells, attention) for cells in self.config.latent)
        return torch.stack([attention.sum(2) @ rows, attention.sum(1) @ columns], dim=-1)

    def size(self, size_map: Tensor) -> Tensor:
        """(B K,), times a gain that grows by itself."""
        grown: Tensor = ForcedGain.apply(  # type: ignore[no-untyped-call]
            torch.sigmoid(size_map - 10).mean((1, 2)), self.size_growth
        )
        return grown

    def gestalt(self, features: Tensor, attention: Tensor) -> Tensor:
        """(B K, G) any real numbers, read off the whole map."""
        del attention
        gestalt: Tensor = self.gestalt_blocks(self.to_one_cell(features)).flatten(1)
        return gestalt

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
