"""Loci-v1 behind the protocol that all video models of the experiments share."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from loci_looped.baselines.protocol import Expectation, Slots
from loci_looped.utils.errors import LociError

from .loci_v1 import WARM_UP_STEPS, LociV1
from .state import LociV1State


@dataclass(frozen=True)
class LociV1VideoModel:
    """A network with the way it is used. Evaluation is repeatable: no noise, and candidate places by the step's number.

    A slot's place is the one it senses in the present frame; it has no other belief about the present. There are no
    masks of whole objects, and it does not know what is hidden.
    """

    network: LociV1
    warm_up: int = WARM_UP_STEPS

    def initial(self, background: Tensor) -> LociV1State:
        return self.network.initial(background)

    def step(
        self, frame: Tensor | None, state: LociV1State, *, blackout: Tensor | None = None
    ) -> tuple[LociV1State, Slots]:
        if frame is None:
            raise LociError(
                "Loci-v1 cannot imagine without a frame: all that it knows passes through its eyes. Give it frames "
                "(black ones for a blackout, or its own prediction), or leave this experiment out."
            )
        if state.age == 0:
            for _ in range(self.warm_up):
                state, _ = self.network.step(frame, state, weight_runs=False)
        error = None
        if blackout is not None and bool(blackout.any()):
            dark = blackout.view(-1, 1, 1, 1)
            frame = frame.masked_fill(dark, 0.0)
            error = self.network.error(frame, state).masked_fill(dark, 0.0)
        state, output = self.network.step(frame, state, error=error)
        painted = output.next_frame
        return state, Slots(
            positions=output.sensed.position,
            presence=torch.maximum(output.visibility, output.shown) > self.network.config.bound_threshold,
            visible_masks=output.masks_before[:, :-1],
            expectation=Expectation(painted.frame.clamp(0, 1), painted.visible_masks_with_background),
        )
