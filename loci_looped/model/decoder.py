"""The decoder: paints each slot's object and mask around its place, and composes the frame with the background."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.network import LociConfig

from .active import Active
from .blocks import PatchUp, ResidualBlock, gaussian_map, normal_like
from .state import COLOUR_SHIFT, Decoded, SlotCodes

EMPTY_LOGIT = -1e4
"""The mask logit of a slot that takes no part: exactly zero after soft-max and sigmoid."""


class PriorityOrder(nn.Module):
    """Who stands in front: slots of higher priority push the Gaussians of the others aside."""

    def __init__(self) -> None:
        super().__init__()
        self.priority_factor = nn.Parameter(torch.ones(1))
        self.index_factor = nn.Parameter(torch.ones(1))

    def forward(self, maps: Tensor, priority: Tensor, generator: torch.Generator | None) -> Tensor:
        """Q' = relu(Q - Σ_j σ(π_j - π_k) Q_j) on (B, K, h, w)."""
        slots = priority.shape[1]
        index = torch.arange(slots, dtype=priority.dtype, device=priority.device)
        spread = slots * priority
        if generator is not None:
            spread = spread + 0.1 * normal_like(priority, generator)
        return pushed_aside(maps, 25 * (spread * self.priority_factor + index * self.index_factor))


def pushed_aside(maps: Tensor, key: Tensor) -> Tensor:
    """(B, K, h, w) -> the same: what is left of each slot's map where those with a higher key (B, K) are not."""
    others = 1 - torch.eye(key.shape[1], dtype=key.dtype, device=key.device)
    in_front = torch.sigmoid(key.unsqueeze(1) - key.unsqueeze(2)) * others      # (B, k, j)
    return F.relu(maps - torch.einsum("bkj,bjhw->bkhw", in_front, maps))


class Refinement(nn.Module):
    """Level 2: detail for the level-1 picture, four times as fine, silent (gain 1e-16) until it has learnt."""

    def __init__(self, channels: int, between: int, outputs: int):
        super().__init__()
        self.blocks = nn.Sequential(ResidualBlock(channels, channels), ResidualBlock(channels, channels))
        self.up1 = PatchUp(channels, between)
        self.up2 = PatchUp(between, outputs)
        self.gain = nn.Parameter(torch.full((1,), 1e-16))

    def forward(self, coarse: Tensor, features: Tensor) -> Tensor:
        result: Tensor = self.up2(self.up1(self.blocks(features)), coarse.dtype, gain=self.gain, onto=coarse)
        return result


class PaintingTrunk(nn.Sequential):
    """Residual blocks, the first of which paints the codes (n, G) with their maps (n, h, w)."""

    def forward(self, maps: Tensor, codes: Tensor) -> Tensor:  # type: ignore[override]
        first, *blocks = self
        features: Tensor = first.painted(maps, codes)  # type: ignore[operator]
        for block in blocks:
            features = block(features)
        return features


class Branch(nn.Module):
    """From trunk features to one kind of picture: the mask logits or the object's colours."""

    def __init__(self, config: LociConfig, outputs: int, between: int):
        super().__init__()
        c = config.decoder.channels
        self.level = config.level
        self.block = ResidualBlock(c, c)
        self.up = PatchUp(c, outputs)
        if config.levels == 2:
            self.refinement = Refinement(c, between, outputs)

    def forward(self, features: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """The picture in the type `dtype`, whatever the arithmetic on the way."""
        features = self.block(features)
        picture: Tensor = self.up(features, dtype)
        return self.refinement(picture, features) if self.level == 2 else picture


class Decoder(nn.Module):
    arithmetic: torch.dtype | None = None
    """Of the convolutions, see `precision.py`; None is that of the codes."""

    def __init__(self, config: LociConfig):
        super().__init__()
        self.config = config
        c, fine = config.decoder.channels, config.decoder.fine_channels
        self.order = PriorityOrder()
        self.trunk = PaintingTrunk(
            ResidualBlock(config.gestalt, c, leading_relu=False),
            *[ResidualBlock(c, c) for _ in range(config.decoder.layers - 1)],
        )
        self.mask = Branch(config, outputs=1, between=max(1, fine // 3))
        self.object = Branch(config, outputs=3, between=fine)
        # One learnt image for all scenes: how readily the background shows.
        self.background_logit_image = nn.Parameter(torch.full((1, 1, *config.full_frame), 10.0))

    def background_logit(self) -> Tensor:
        """(1, 1, H, W)"""
        return F.avg_pool2d(self.background_logit_image, 4 ** (self.config.levels - self.config.level)) * 0.1

    def merge(
        self, codes: SlotCodes, active: Active, *, prioritised: bool, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """(n, h, w), (n, G): the slots' Gaussians, and the gestalt codes that are painted with them."""
        maps = self.maps(codes)
        maps = maps * active.mask[..., None, None].to(maps.dtype)
        if prioritised:
            maps = self.order(maps, codes.priority, generator)
        return active.fold(maps), active.fold(codes.gestalt).to(self.arithmetic or maps.dtype)

    def maps(self, codes: SlotCodes) -> Tensor:
        """Q (B, K, h, w): where each slot is, on the latent grid."""
        return gaussian_map(codes.position, codes.size, self.config.latent)

    def own_objects(self, expected: Decoded, previous: SlotCodes, bound: Tensor, active: Active) -> Tensor:
        """(B, K, 3, H, W) what the encoder sees of its own objects: whole, as if nothing stood before them."""
        del expected, bound
        return self.objects(previous, active)

    def objects_after(self, predicted: SlotCodes, active: Active) -> Tensor | None:
        """The same of a new prediction, for the gestalt-change loss."""
        return self.objects(predicted, active)

    def objects(self, codes: SlotCodes, active: Active) -> Tensor:
        """(B, K, 3, H, W) colour logits of each whole object, as if nothing stood before it; no masks are painted."""
        features = self.trunk(*self.merge(codes, active, prioritised=False, generator=None))
        return self._in_rgb(active.unfold(self.object(features, codes.gestalt.dtype)))

    def forward(
        self, codes: SlotCodes, background: Tensor, active: Active, generator: torch.Generator | None
    ) -> Decoded:
        """Paint the scene: slots in front of one another, in front of the background."""
        dtype = codes.gestalt.dtype
        features = self.trunk(*self.merge(codes, active, prioritised=True, generator=generator))
        mask_logits = active.unfold(self.mask(features, dtype).squeeze(1), fill=EMPTY_LOGIT)    # (B, K, H, W)
        object_logits = self.object(features, dtype)                                            # (n, 3, H, W)
        behind = self.background_logit().expand(mask_logits.shape[0], -1, -1, -1)
        masks = torch.softmax(torch.cat([mask_logits, behind], dim=1), dim=1)
        painted = active.fold(masks[:, :-1]).unsqueeze(1) * torch.sigmoid(object_logits - COLOUR_SHIFT)
        objects = active.sum_slots(painted)
        if self.config.colour_order == "bgr":
            objects = objects.flip(1)
        return Decoded(
            frame=objects + masks[:, -1:] * background,
            visible_masks_with_background=masks,
            object_masks=torch.sigmoid(mask_logits - behind),
            object_logits=self._in_rgb(active.unfold(object_logits.detach())),
        )

    def _in_rgb(self, object_logits: Tensor) -> Tensor:
        return object_logits.flip(2) if self.config.colour_order == "bgr" else object_logits
