"""Painting the frame: each object in its box, the nearer before the farther, all before the background."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.gswm import GswmConfig

from .glimpses import GlimpseDecoder, place
from .state import Objects, Rendering

EPSILON = 1e-5
"""Added to the importances' sum where no object paints."""


class Renderer(nn.Module):
    """x = Σ importance * colour + (1 - coverage) * background."""

    def __init__(self, config: GswmConfig):
        super().__init__()
        self.size = config.frame
        self.decoder = GlimpseDecoder(config)

    def forward(self, objects: Objects, background: Tensor) -> Rendering:
        colours, opacity = self.decoder(objects.what)
        placed = place(torch.cat([opacity * colours, opacity], dim=2), objects.where, self.size)
        presence = objects.presence[..., None, None]            # (B, K, 1, 1, 1)
        painted, whole = placed[:, :, :3] * presence, placed[:, :, 3:]
        opaque = whole * presence

        importance = opaque * torch.sigmoid(-objects.depth)[..., None, None]
        importance = importance / (importance.sum(1, keepdim=True) + EPSILON)
        visible = importance * opaque
        coverage = visible.sum(1)
        return Rendering(
            frame=(importance * painted).sum(1) + (1 - coverage) * background,
            coverage=coverage,
            visible_masks=visible.squeeze(2),
            object_masks=whole.squeeze(2),
        )
