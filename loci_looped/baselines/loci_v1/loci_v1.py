"""Loci-v1, one time step after the other: only the way of the eyes, no percept gate and no inner loop.

    error ──> placement ──> encoder ──> predictor ──> decoder ──> the next frame

Everything a slot knows has to pass through the picture: only the object-permanence loss holds what nobody can see.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from loci_looped.configs.loci_v1 import LociV1Config, preset
from loci_looped.model.state import SlotCodes
from loci_looped.utils.errors import LociError

from .decoder import Backdrop, Decoder
from .draws import Draws, QuietDraws
from .encoder import Encoder
from .placement import Placement
from .predictor import Predictor
from .quick import QuickDecoder, QuickEncoder, QuickPlacement, quick_start
from .state import LociV1Output, LociV1State, no_codes, nothing_painted

WARM_UP_STEPS = 10
"""Steps on the first frame before time begins."""


class LociV1(nn.Module):
    """The network of a configuration or of a preset's name."""

    def __init__(self, config: LociV1Config | str = "loci-v1-small"):
        super().__init__()
        self.config = config = preset(config) if isinstance(config, str) else config
        quick = config.perception == "quick"
        self.encoder = (QuickEncoder if quick else Encoder)(config)
        self.predictor = Predictor(config)
        self.decoder = (QuickDecoder if quick else Decoder)(config)
        self.backdrop = Backdrop(config)
        self.placement = (QuickPlacement if quick else Placement)(config)
        if quick:
            quick_start(self)

    def at_level(self, level: int) -> LociV1:
        """The same weights on frames of another level."""
        other = LociV1(dataclasses.replace(self.config, level=level)).to(self.backdrop.growth)
        other.load_state_dict(self.state_dict())
        return other

    def initial(self, background: Tensor) -> LociV1State:
        """Nothing seen but the empty scene (B, 3, H, W) in [0, 1]."""
        self._check(background, "background")
        slots, batch = self.config.slots, background.shape[0]
        nobody = no_codes(background, slots, self.config.gestalt)
        none = background.new_zeros(batch, slots)
        return LociV1State(
            background=background, predicted=nobody, next_frame=nothing_painted(background, slots),
            memory=self.predictor.initial_memory(background, batch), visibility=none, weight=none, remembered=nobody,
        )

    def step(
        self, frame: Tensor, state: LociV1State, draws: Draws | None = None, *, compared: Tensor | None = None,
        error: Tensor | None = None, weight_runs: bool = True, canvas: Tensor | None = None,
        at_once: bool | None = None,
    ) -> tuple[LociV1State, LociV1Output]:
        """Take one time step; frame (B, 3, H, W) in [0, 1].

        `compared` is the picture that the last prediction is held against, if it is not this frame; `error` the map
        itself (zero in a blackout). While `weight_runs` is False (warm-up), a slot's weight in the losses is what it
        shows now, not the most it ever showed. `canvas` (B, 3, H, W) is painted behind the slots in place of the
        background as far as it has faded in. Are all free slots sent, `at_once`, or only the first one? None: as
        configured. Without `draws` nothing is noisy.
        """
        self._check(frame, "frame")
        draws = QuietDraws(0, state.age) if draws is None else draws
        at_once = not self.config.in_turn if at_once is None else at_once
        state = dataclasses.replace(state, memory=state.memory.detach())
        first = state.age == 0
        if error is None:
            error = self.error(frame if compared is None else compared, state)
        visibility = state.visibility
        if not first:
            visibility = torch.maximum(visibility, state.next_frame.visible_masks.detach().amax((2, 3)))
        bound = visibility > self.config.bound_threshold
        masks = state.next_frame.visible_masks_with_background
        placed = self.placement(state.predicted, bound, error, masks.detach(), draws, at_once)
        faded = self.backdrop.faded(state.background) if canvas is None else canvas
        if first:
            masks = self.decoder(placed, faded.detach(), self.backdrop.logit()).visible_masks_with_background
        own_objects = self.encoder.own_objects(self.decoder, placed, state.next_frame)
        sensed = self.encoder(frame, error, masks, own_objects, placed)
        predicted, memory = self.predictor(sensed, state.memory, draws)
        painted = self.decoder(predicted, faded, self.backdrop.logit())
        shown = painted.visible_masks.detach().amax((2, 3))
        weight = torch.maximum(state.weight, shown) if weight_runs else shown
        remembered = predicted.detach() if first else _remembered(predicted.detach(), state.remembered, shown)
        output = LociV1Output(
            placed=placed, bound=bound, visibility=visibility, error=error, masks_before=masks,
            objects_before=own_objects, sensed=sensed, predicted=predicted, next_frame=painted, shown=shown,
            weight=weight, remembered=remembered, age=state.age,
        )
        return LociV1State(
            background=state.background, predicted=predicted, next_frame=painted, memory=memory, visibility=visibility,
            weight=weight, remembered=remembered, age=state.age + 1,
        ), output

    @torch.no_grad()
    def error(self, seen: Tensor, state: LociV1State) -> Tensor:
        """(B, 1, H, W) where the last prediction failed on something that is not the background."""
        if state.age == 0:
            return _rms(seen - self.backdrop.strength() * state.background)
        return _rms(seen - state.next_frame.frame).sqrt() * _rms(seen - state.background)

    def _check(self, picture: Tensor, name: str) -> None:
        height, width = self.config.frame
        if picture.ndim != 4 or tuple(picture.shape[1:]) != (3, height, width):
            raise LociError(
                f"Loci-v1's {name} must be (batch, 3, {height}, {width}) in RGB, but it is {tuple(picture.shape)}: "
                "resize it first, or choose a network of that size."
            )
        if not picture.is_floating_point():
            raise LociError(f"The {name} holds {picture.dtype}; divide by 255 to get floating-point numbers in [0, 1].")


def _rms(difference: Tensor) -> Tensor:
    """(B, 3, H, W) -> (B, 1, H, W) over the colours."""
    return difference.square().mean(1, keepdim=True).sqrt()


def _remembered(now: SlotCodes, before: SlotCodes, shown: Tensor) -> SlotCodes:
    """Look and size are remembered in so far as nothing is shown (B, K); the place is always the present one."""
    return SlotCodes(
        gestalt=shown.unsqueeze(-1) * now.gestalt + (1 - shown.unsqueeze(-1)) * before.gestalt, position=now.position,
        size=shown * now.size + (1 - shown) * before.size, priority=now.priority,
    )
