"""Loci-Looped behind the protocol that all video models of the experiments share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from loci_looped.baselines.protocol import Expectation, Slots
from loci_looped.configs.network import Placement
from loci_looped.model import WARM_UP_STEPS, GateKind, LociLooped, LociState, Regime, StepOutput
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class LociVideoModel:
    """A network with the way its gate is used: learned (Loci-Looped), open (Unlooped), visibility, or closed.

    The first frame of a stream is looked at for a while before time begins. A gate that is always closed would never
    learn what is there, so `closed` opens its eyes for that warm-up and the first frame, and dreams from then on.
    """

    network: LociLooped
    gate: GateKind = "learned"
    warm_up: int = WARM_UP_STEPS
    placement: Placement = "incremental"
    generator: torch.Generator | None = field(default=None, compare=False)
    """Where the places of stochastic placement come from."""

    def __post_init__(self) -> None:
        if self.placement != "incremental" and self.generator is None:
            raise LociError(f"{self.placement} placement draws places at random: give it a generator.")

    def initial(self, background: Tensor) -> LociState:
        return self.network.initial(background)

    def step(
        self, frame: Tensor | None, state: LociState, *, blackout: Tensor | None = None
    ) -> tuple[LociState, Slots]:
        dreams = self.gate == "closed" and not state.fresh
        gate: GateKind = "learned" if self.gate == "closed" else self.gate
        regime = Regime(gate=gate, placement=self.placement, generator=self.generator)
        if frame is not None and state.fresh:
            state = self.network.warm_up(frame, state, self.warm_up, regime)
        dark = None if dreams or frame is None else blackout
        state, output = self.network.step(None if dreams else frame, state, replace(regime, blackout=dark))
        return state, slots_of(output)


def slots_of(output: StepOutput) -> Slots:
    """One step of the network in the words of the protocol."""
    return Slots(
        positions=output.percept.position,
        presence=output.bound,
        visible_masks=output.present.visible_masks,
        object_masks=output.present.object_masks,
        occlusion=output.occlusion,
        gate=output.gate,
        expectation=Expectation(
            output.next_frame.frame, output.next_frame.visible_masks_with_background, output.next_frame.object_masks
        ),
    )
