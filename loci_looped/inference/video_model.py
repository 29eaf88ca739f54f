"""Loci-Looped behind the protocol that all video models of the experiments share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from loci_looped.baselines.protocol import Expectation, Slots
from loci_looped.configs.network import Placement
from loci_looped.inference.belief import believe_now
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
    paints_beliefs: bool = False
    """Also say `believed_masks`, which costs a second decoding per step."""

    def __post_init__(self) -> None:
        if self.placement != "incremental" and self.generator is None:
            raise LociError(f"{self.placement} placement draws places at random: give it a generator.")

    def initial(self, background: Tensor) -> LociState:
        return self.network.initial(background.to(next(self.network.parameters()).device))

    def step(
        self, frame: Tensor | None, state: LociState, *, blackout: Tensor | None = None
    ) -> tuple[LociState, Slots]:
        state, output = self.observe(frame, state, blackout=blackout)
        slots = slots_of(output)
        if self.paints_beliefs:
            belief = believe_now(self.network, output, state.background)
            slots = replace(slots, believed_masks=belief.whole_masks)
        return state, slots

    def observe(
        self, frame: Tensor | None, state: LociState, *, blackout: Tensor | None = None
    ) -> tuple[LociState, StepOutput]:
        """The same time step with everything the network says; `Slots` is what all video models have in common."""
        device = state.background.device
        frame = None if frame is None else frame.to(device)
        state = self.settled(frame, state)
        dreams = self.gate == "closed" and int(state.age.max()) > self.warm_up
        dark = None if dreams or frame is None or blackout is None else blackout.to(device)
        return self.network.step(None if dreams else frame, state, replace(self._regime, blackout=dark))

    def settled(self, frame: Tensor | None, state: LociState) -> LociState:
        """A new stream after a while with its first frame; a stream under way as it is."""
        if frame is None or not state.fresh:
            return state
        return self.network.warm_up(frame.to(state.background.device), state, self.warm_up, self._regime)

    @property
    def _regime(self) -> Regime:
        gate: GateKind = "learned" if self.gate == "closed" else self.gate
        return Regime(gate=gate, placement=self.placement, generator=self.generator)


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
