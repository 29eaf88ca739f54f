"""The spatial broadcast decoder: each slot paints a frame of its own, and a soft-max decides who is seen where."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.savi import SaviConfig

from .blocks import PositionEmbedding
from .state import Decoded


class BroadcastDecoder(nn.Module):
    """A slot tiled over a small grid, told its place, and grown to a frame by transposed convolutions."""

    def __init__(self, config: SaviConfig):
        super().__init__()
        decoder, doublings = config.decoder, config.doublings
        assert doublings is not None    # checked by the configuration
        widths = (config.slot_width, *decoder.channels)
        self.broadcast = decoder.broadcast
        self.position = PositionEmbedding(config.slot_width)
        self.convolutions = nn.ModuleList(
            nn.ConvTranspose2d(
                widths[i], widths[i + 1], decoder.kernel_size, stride=2 if i < doublings else 1,
                padding=decoder.kernel_size // 2, output_padding=1 if i < doublings else 0,
            )
            for i in range(len(decoder.channels))
        )
        self.paint = nn.Conv2d(widths[-1], 4, 1)    # three colours and the mask's logit

    def forward(self, slots: Tensor) -> Decoded:
        """(B, K, D)"""
        maps = slots.flatten(0, 1)[:, :, None, None].expand(-1, -1, *self.broadcast)
        maps = self.position(maps)
        for convolution in self.convolutions:
            maps = torch.relu(convolution(maps))
        colours, logits = self.paint(maps).unflatten(0, slots.shape[:2]).split((3, 1), dim=2)
        masks = logits.softmax(dim=1)                                                   # (B, K, 1, H, W)
        return Decoded(
            colours=colours,
            mask_logits=logits.squeeze(2),
            visible_masks=masks.squeeze(2),
            reconstruction=(masks * colours).sum(dim=1),
        )
