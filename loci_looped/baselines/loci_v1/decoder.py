"""The decoder: paints each slot's object and mask around its place. Loci-v1 has no mask of the whole object."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.loci_v1 import LociV1Config
from loci_looped.model.blocks import ResidualBlock, gaussian_map
from loci_looped.model.decoder import pushed_aside
from loci_looped.model.encoder import ForcedGain
from loci_looped.model.state import COLOUR_SHIFT, SlotCodes

from .blocks import Up
from .state import Painted


class Branch(nn.Module):
    """From trunk features to one kind of picture: the mask logits or the object's colours."""

    def __init__(self, config: LociV1Config, outputs: int, between: int):
        super().__init__()
        c = config.decoder_channels
        self.level = config.level
        self.block = ResidualBlock(c, c)
        self.up = Up(c, outputs, config.up_gain, by_cells=config.perception == "quick")
        if config.levels == 2:
            self.fine = nn.Sequential(
                ResidualBlock(c, c), ResidualBlock(c, c), Up(c, between, 1.0), Up(between, outputs, 1.0)
            )
            self.fine_gain = nn.Parameter(torch.full((1,), config.up_gain))

    def forward(self, features: Tensor) -> Tensor:
        features = self.block(features)
        picture: Tensor = self.up(features)
        if self.level == 1:
            return picture
        nearest = F.interpolate(picture, scale_factor=4, mode="nearest")
        finer: Tensor = nearest + self.fine_gain * self.fine(features)
        return finer


class Decoder(nn.Module):
    def __init__(self, config: LociV1Config):
        super().__init__()
        self.config = config
        c = config.decoder_channels
        self.trunk = nn.Sequential(
            ResidualBlock(config.gestalt, c, leading_relu=False),
            *[ResidualBlock(c, c) for _ in range(config.decoder_layers - 1)],
        )
        self.mask = Branch(config, outputs=1, between=4)
        self.object = Branch(config, outputs=3, between=12)

    def maps(self, codes: SlotCodes) -> Tensor:
        """(B, K, h, w) where each slot is."""
        return gaussian_map(codes.position, codes.size, self.config.latent)

    def features(self, codes: SlotCodes, *, prioritised: bool) -> Tensor:
        """(B K, C, h, w)"""
        maps = self.maps(codes)
        if prioritised:
            maps = pushed_aside(maps, codes.priority)
        merged = maps.flatten(0, 1).unsqueeze(1) * codes.gestalt.flatten(0, 1)[..., None, None]
        features: Tensor = self.trunk(merged)
        return features

    def objects(self, codes: SlotCodes) -> Tensor:
        """(B, K, 3, H, W) colour logits of each whole object, as if nothing stood before it."""
        logits: Tensor = self.object(self.features(codes, prioritised=False))
        apart: Tensor = logits.unflatten(0, codes.priority.shape)
        return apart

    def forward(self, codes: SlotCodes, background: Tensor, background_logit: Tensor) -> Painted:
        """Paint the scene: slots in front of one another, in front of the background (B, 3, H, W)."""
        features = self.features(codes, prioritised=True)
        mask_logits = self.mask(features).squeeze(1).unflatten(0, codes.priority.shape)         # (B, K, H, W)
        object_logits = self.object(features).unflatten(0, codes.priority.shape)                # (B, K, 3, H, W)
        behind = background_logit.expand(mask_logits.shape[0], -1, -1, -1)
        masks = torch.softmax(torch.cat([mask_logits, behind], dim=1), dim=1)
        objects = (masks[:, :-1].unsqueeze(2) * torch.sigmoid(object_logits - COLOUR_SHIFT)).sum(1)
        return Painted(objects + masks[:, -1:] * background, masks, mask_logits, object_logits)


class Backdrop(nn.Module):
    """How readily the background shows, and how much of it has faded in: it begins black."""

    def __init__(self, config: LociV1Config):
        super().__init__()
        self.shrink = 4 ** (config.levels - config.level)
        self.logit_image = nn.Parameter(torch.ones(1, 1, *config.full_frame))
        self.growth = nn.Parameter(torch.zeros(1))

    def logit(self) -> Tensor:
        """(1, 1, H, W)"""
        return F.avg_pool2d(self.logit_image, self.shrink)

    def strength(self) -> Tensor:
        """(1,) s in [0, 1), without a gradient"""
        return torch.tanh(0.5 * self.growth.detach())

    def faded(self, background: Tensor) -> Tensor:
        """s · background; the growth behind s receives a gradient of its own, whatever the loss."""
        faded: Tensor = ForcedGain.apply(background, 0.5 * self.growth)  # type: ignore[no-untyped-call]
        return faded
