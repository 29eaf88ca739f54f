"""Perception that is learnt in minutes: the ideas of adept-small in Loci-v1's parts, as far as they concern seeing.

The published network needs hundreds of thousands of updates until its slots look at objects at all. None of this is
about what is hidden: there is no gate, no inner loop and no memory beyond Loci-v1's own.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.model.blocks import ResidualBlock, gaussian_map, grid
from loci_looped.model.extensions.focus import EXPLAINED_FLOOR, PRIOR_FLOOR
from loci_looped.model.recruiter import blur, pixel_position
from loci_looped.model.state import SlotCodes

from .blocks import Up
from .decoder import Decoder
from .draws import Draws
from .encoder import POSITION_MAPS, Encoder
from .placement import Placement
from .state import Painted

LARGEST_SIZE = 0.15
SUPPRESSION = 8.0
"""Radius in pixels around a placed slot in which the next one does not look."""
ENOUGH_ERROR = 0.03
"""A free slot is sent nowhere while the blurred error stays below this: it looks at the corner."""
ENOUGH_AT_USE = 0.12
"""The same once nothing is learnt any more: what is left of a screen that others paint a little blurred stays below,
a mover that nobody paints exceeds it. Of 0.12 and 0.18 it found more movers on eight validation scenes; 0.03 found none
on sixteen."""
HIDDEN = 64


class QuickEncoder(Encoder):
    """A slot begins by looking at its own place and reads look, size and the exact place there."""

    position_maps = POSITION_MAPS + 2

    def build_heads(self) -> None:
        width = 2 * self.config.encoder_channels
        self.norm = nn.LayerNorm(width)
        self.linear1, self.linear2 = nn.Linear(width, HIDDEN), nn.Linear(HIDDEN, self.config.gestalt)
        # Larger than usual, so that codes leave one half early and slots tell objects apart from the start.
        nn.init.orthogonal_(self.linear1.weight, 1.4)
        nn.init.orthogonal_(self.linear2.weight, 2.5)

    def own_objects(self, decoder: Decoder, placed: SlotCodes, painted: Painted) -> Tensor:
        """As they were painted into the prediction, which saves a decoding."""
        del decoder, placed
        return painted.object_logits.detach()

    def place_logits(self, place_map: Tensor, masks: Tensor, placed: SlotCodes) -> Tensor:
        """At its own place, and less where other slots are expected to be seen."""
        own = gaussian_map(placed.position, placed.size, self.config.latent, self.config.frame).flatten(0, 1)
        visible = masks[:, :-1]
        others = (visible.sum(1, keepdim=True) - visible).flatten(0, 1).unsqueeze(1)
        left_over = 1 - F.avg_pool2d(others, 4**self.config.level).squeeze(1).clamp(0, 1)
        return place_map + torch.log(own + PRIOR_FLOOR) + torch.log(left_over + EXPLAINED_FLOOR)

    def position(self, attention: Tensor, further: list[Tensor]) -> Tensor:
        """Cells lie on the middle of their pixels, and two maps say where between them the object is."""
        rows, columns = (
            grid(n, attention, pixels) for n, pixels in zip(self.config.latent, self.config.frame, strict=True)
        )
        cell = torch.stack([attention.sum(2) @ rows, attention.sum(1) @ columns], dim=-1)
        within = torch.stack([(attention * torch.tanh(m)).sum((1, 2)) for m in further], dim=-1)
        return cell + within * torch.stack([rows[1] - rows[0], columns[1] - columns[0]])

    def size(self, size_map: Tensor) -> Tensor:
        return LARGEST_SIZE * torch.sigmoid(size_map.mean((1, 2)) - 2)

    def gestalt(self, features: Tensor, attention: Tensor) -> Tensor:
        looked_at = (attention.unsqueeze(1) * features).sum((2, 3))
        both = self.norm(torch.cat([looked_at, features.mean((2, 3))], dim=1))
        gestalt: Tensor = self.linear2(F.relu(self.linear1(both)))
        return gestalt


class QuickDecoder(Decoder):
    """Cells lie on the middle of the pixels they cover."""

    def maps(self, codes: SlotCodes) -> Tensor:
        return gaussian_map(codes.position, codes.size, self.config.latent, self.config.frame)


class QuickPlacement(Placement):
    """Free slots are sent to places drawn by the error that is left: all of them in a step, or only the first one."""

    def places(self, error: Tensor, bound: Tensor, masks: Tensor, draws: Draws, at_once: bool = True) -> Tensor:
        slots = bound.shape[1]
        height, width = self.config.frame
        explained = (masks[:, :-1] * bound[..., None, None]).sum(1)
        left = (blur(error).squeeze(1) * (1 - explained)).detach()
        rows = torch.arange(height, dtype=error.dtype, device=error.device).view(1, -1, 1)
        columns = torch.arange(width, dtype=error.dtype, device=error.device).view(1, 1, -1)
        places, waits = [], torch.zeros_like(bound[:, 0])
        enough = ENOUGH_ERROR if self.training else ENOUGH_AT_USE
        for k in range(slots):
            index = draws.pixel(left)
            row, column = (index // width).view(-1, 1, 1), (index % width).view(-1, 1, 1)
            sent = ((left.flatten(1).amax(1) > enough) & ~waits).unsqueeze(-1)
            place = pixel_position(index, (height, width), error.dtype)
            places.append(torch.where(sent, place, -torch.ones_like(place)))
            if not at_once:
                waits = waits | ~bound[:, k]
            distance = (rows - row).square() + (columns - column).square()
            suppressed = left * (1 - torch.exp(-distance / (2 * SUPPRESSION**2)))
            left = torch.where(bound[:, k].view(-1, 1, 1), left, suppressed)
        return torch.stack(places, 1)


def quick_start(network: nn.Module) -> None:
    """Signals keep their size through many blocks, and colours are apart from the first update on."""
    for module in network.modules():
        if isinstance(module, ResidualBlock):
            module.he_initialise()
    for module in network.modules():
        if isinstance(module, Decoder):
            _tell_outputs_apart(module.object.up)


@torch.no_grad()
def _tell_outputs_apart(up: Up) -> None:
    """Channels speak for one colour each and against the others, in the cell's own 4 x 4 pixels."""
    channels, outputs = up.spread.weight.shape[:2]
    share = torch.eye(outputs)[torch.arange(channels) % outputs] - 1 / outputs
    up.conv.weight[:, :, 1, 1] += torch.eye(channels)
    up.spread.weight[:, :, 4:8, 4:8] += (4 * outputs / channels * share)[..., None, None].to(up.spread.weight)
