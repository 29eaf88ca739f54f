"""G-SWM behind the protocol that all video models of the experiments share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from loci_looped.baselines.protocol import Expectation, Slots
from loci_looped.model.state import TensorTree
from loci_looped.utils.errors import LociError

from .gswm import Gswm
from .identity import Columns
from .state import GswmOutput, GswmState, Rendering, take

SEEN = 0.5
"""A pixel belongs to a mask above this, where shares of an object are counted."""


@dataclass(frozen=True)
class WatchingState(TensorTree):
    """The network's state, and which column belongs to whom."""

    network: GswmState
    columns: Columns


@dataclass(frozen=True)
class GswmVideoModel:
    """A network with the way its objects are read off. Nothing is drawn: every latent is its mean."""

    network: Gswm
    present: float = 0.9
    """An object is there if its presence is higher."""
    solid: float = 0.95
    """A pixel belongs to an object if its opacity is higher."""
    position: Literal["mask", "box"] = "mask"
    """"mask": the middle of the solid pixels' bounding box, as published, and of the latent box where there are none;
    "box": always that of the latent box."""
    expects: bool = True
    """Also imagine the next frame, which costs half a step."""

    def initial(self, background: Tensor) -> WatchingState:
        state = self.network.initial(background)
        return WatchingState(state, Columns.empty(state.tracks.objects))

    def step(
        self, frame: Tensor | None, state: WatchingState, *, blackout: Tensor | None = None
    ) -> tuple[WatchingState, Slots]:
        if self.network.training and self.network.config.trunk_norm == "batch":
            raise LociError(
                "This G-SWM is in training mode, where the clips of a batch change what it sees of each other (batch "
                "norm): call .eval() first."
            )
        if frame is not None and blackout is not None:
            frame = darkened(frame, blackout)
        network, output = self.network.step(frame, state.network)
        columns, order = state.columns.assign(output.objects, self.present)
        objects, rendering = take(output.objects, order), reordered(output.rendering, order)
        presence = objects.presence.squeeze(-1) > self.present
        slots = Slots(
            positions=self._positions(rendering.object_masks, objects.where),
            presence=presence,
            visible_masks=rendering.visible_masks,
            object_masks=rendering.object_masks,
            occlusion=hidden_share(rendering),
            expectation=expectation(self.network.step(None, network)[1], order) if self.expects else None,
        )
        return WatchingState(network, columns), slots

    def _positions(self, masks: Tensor, where: Tensor) -> Tensor:
        """(B, K, 2) y, x in [-1, 1] from first to last pixel centre."""
        size = masks.shape[-1]
        pixels = (where[..., 2:].flip(-1) + 1) * size / 2 - 0.5
        if self.position == "mask":
            solid = masks > self.solid
            centres = torch.stack([_middle(solid.any(3)), _middle(solid.any(2))], dim=-1).to(pixels.dtype)
            pixels = torch.where(solid.any(3).any(2)[..., None], centres, pixels)
        return pixels * 2 / (size - 1) - 1


def darkened(frame: Tensor, blackout: Tensor) -> Tensor:
    """A black frame for the clips (B,) that go dark."""
    if blackout.dtype != torch.bool or tuple(blackout.shape) != (frame.shape[0],):
        raise LociError(
            f"blackout must be {frame.shape[0]} truth values, one per clip, but it is {tuple(blackout.shape)} of "
            f"{blackout.dtype}."
        )
    return frame.masked_fill(blackout[:, None, None, None], 0.0)


def reordered(rendering: Rendering, order: Tensor) -> Rendering:
    """The same picture with its masks in another order."""
    return Rendering(
        rendering.frame, rendering.coverage, take_masks(rendering.visible_masks, order),
        take_masks(rendering.object_masks, order),
    )


def take_masks(masks: Tensor, order: Tensor) -> Tensor:
    return masks.gather(1, order[:, :, None, None].expand(*order.shape, *masks.shape[2:]))


def hidden_share(rendering: Rendering) -> Tensor:
    """(B, K) in [0, 1]: how much of an object's pixels shows something else; 1 for one that has none in the frame."""
    whole = (rendering.object_masks > SEEN).sum((2, 3))
    seen = ((rendering.visible_masks > SEEN) & (rendering.object_masks > SEEN)).sum((2, 3))
    share = 1 - seen / whole.clamp(min=1)
    return share.to(rendering.frame.dtype)


def expectation(imagined: GswmOutput, order: Tensor) -> Expectation:
    """An imagined step; imagination leaves the order of objects as it is."""
    rendering = reordered(imagined.rendering, order)
    with_background = torch.cat([rendering.visible_masks, 1 - rendering.coverage], dim=1)
    return Expectation(rendering.frame.clamp(0, 1), with_background, rendering.object_masks)


def _middle(line: Tensor) -> Tensor:
    """(B, K, n) bool -> (B, K) halfway between the first and the last true one."""
    last = line.shape[-1] - 1 - line.flip(-1).long().argmax(-1)
    return (line.long().argmax(-1) + last) / 2
