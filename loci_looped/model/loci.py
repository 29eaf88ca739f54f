"""Loci-Looped: the story of one time step, and the ways of telling it on.

    initial(background)            a state that has seen nothing but the empty scene
    settle(frame, state)           look once more at a frame in which nothing moves
    step(frame, state)             one time step; without a frame the network imagines
    observe(frames, state)         a clip, frame by frame
    imagine(state, steps)          no frames: the gate is shut, the network lives in its own predictions
"""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import torch
from torch import Tensor, nn

from loci_looped.configs.network import LociConfig
from loci_looped.configs.presets import preset
from loci_looped.configs.surprise import SurpriseScale

from .checks import check_background, check_frame, check_regime
from .gate import blend
from .look import Look, expected_masks, prediction_error
from .parts import Parts, parts_of
from .regime import USE, Regime
from .state import Decoded, LociState, Memory, Sight, SlotCodes, StepOutput, stack_in_time

WARM_UP_STEPS = 10


class LociLooped(nn.Module):
    """The network of the paper's figure 2. It holds weights only; all that changes in time is in `LociState`."""

    surprise_scale: SurpriseScale | None = None     # what is ordinary to it, if that has been measured

    def __init__(self, config: LociConfig | str = "adept", parts: Parts | None = None):
        super().__init__()
        self.config = preset(config) if isinstance(config, str) else config
        self.parts = parts or parts_of(self.config)
        self.recruiting = self.parts.recruiter(self.config)
        self.encoder = self.parts.encoder(self.config)
        self.gate = self.parts.gate(self.config)
        self.transition = self.parts.transition(self.config)
        self.decoder = self.parts.decoder(self.config)
        self.bookkeeping = self.parts.bookkeeping(self.config.recruiting.bound_threshold)
        # Convolutions on a CPU are up to twice as fast with channels last, if the whole path is laid out so.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.parts.start(self)
        self.transition.begin()

    # ---------------------------------------------------------------- one time step

    def step(self, frame: Tensor | None, state: LociState, regime: Regime = USE) -> tuple[LociState, StepOutput]:
        """One time step on a frame (B, 3, H, W) in [0, 1], or on none: then the network imagines."""
        if frame is None or regime.gate == "closed":
            look = self._eyes_shut(state)
        else:
            look = self._look(frame, state, regime)
            alpha = self.gate(look.sight, state, regime)                                    # α_G, α_P
            unlooped = regime.gate == "open" and regime.hold is None
            percept = look.sight.sensed if unlooped else blend(alpha, look.sight.sensed, look.sight.expected)
            look = dataclasses.replace(look, gate=alpha, percept=percept)                   # G, P
        return self._predict(look, state, regime)

    def settle(self, frame: Tensor, state: LociState, regime: Regime = USE) -> tuple[LociState, StepOutput]:
        """Look at a frame in which nothing moves: the percept is what is sensed, and the next frame is this one."""
        look = self._look(frame, state, regime, settling=True)
        predicted, next_frame = look.percept, look.present
        noise = self.bookkeeping.noise(regime.generator, self.training)
        if self.bookkeeping.repaints(noise):
            canvas = state.background if regime.canvas is None else regime.canvas
            next_frame = self.decoder(predicted, canvas, look.active, noise)
        return self._advance(look, predicted, next_frame, state.memory, state, objects_after=None)

    def _look(self, frame: Tensor, state: LociState, regime: Regime, *, settling: bool = False) -> Look:
        """What the eyes tell: every slot looks at the frame through its own prediction (outer loop)."""
        check_frame(frame, state, self.config)
        check_regime(regime, state)
        if regime.blackout is not None:
            frame = torch.where(regime.blackout.view(-1, 1, 1, 1), torch.zeros_like(frame), frame)
        noise = self.bookkeeping.noise(regime.generator, self.training)
        canvas = state.background if regime.canvas is None else regime.canvas

        state = self.bookkeeping.freed(state)
        error, slot_error = prediction_error(frame, state, regime.blackout)                 # E, S
        recruited = self.recruiting(error, state, regime)
        expected, assigned = recruited.previous, recruited.assigned
        active = self.bookkeeping.active(assigned)
        masks = expected_masks(self.decoder, state, expected, canvas, active, noise)
        own_objects = self.decoder.own_objects(state.next_frame, expected, recruited.bound, active)

        sensed = self.encoder(frame, error, masks.visible, own_objects, expected, masks.whole, active, noise)
        sensed = recruited.only_assigned(sensed)                                            # G̃, P̃
        present = self.decoder(sensed, canvas, active, noise)
        registry, seen = self.bookkeeping.bind(state.registry, assigned, present, learning=regime.learning)
        registry = recruited.recorded(registry, settled=not settling)
        if not settling:
            registry = self.bookkeeping.reviewed(registry, state, expected, seen, present, frame)
        occlusion = self.bookkeeping.occlusion(present, registry.bound, seen)               # O
        return Look(
            sight=Sight(sensed, expected, occlusion, recruited.bound, present), percept=sensed,
            gate=torch.ones_like(sensed.position), present=present, registry=registry, active=active, error=error,
            slot_error=slot_error, own_objects=own_objects,
        )

    def _eyes_shut(self, state: LociState) -> Look:
        """Imagination: the percept is the prediction, the picture of the present the one made in advance."""
        present, assigned = state.next_frame, state.registry.assigned
        registry, seen = self.bookkeeping.bind(state.registry, assigned, present)
        registry = dataclasses.replace(registry, settled=torch.ones_like(registry.settled))
        occlusion = self.bookkeeping.occlusion(present, registry.bound, seen)
        return Look(
            sight=Sight(state.predicted, state.predicted, occlusion, registry.bound, present), percept=state.predicted,
            gate=torch.zeros_like(state.predicted.position), present=present, registry=registry,
            active=self.bookkeeping.active(assigned), error=torch.zeros_like(present.frame[:, :1]),
            slot_error=torch.zeros_like(occlusion), own_objects=present.object_logits, dreams=True,
        )

    def _predict(self, look: Look, state: LociState, regime: Regime) -> tuple[LociState, StepOutput]:
        """From the percept to the next frame as imagined."""
        noise = self.bookkeeping.noise(regime.generator, self.training)
        assigned = look.registry.assigned
        predicted, memory = self.transition(
            look.percept, look.gate, None if look.dreams else look.sight, state.memory,
            self.bookkeeping.attention_mask(assigned), regime, noise,
        )
        predicted = self.bookkeeping.kept(predicted, assigned)                              # Ĝ, P̂
        canvas = state.background if regime.canvas is None or look.dreams else regime.canvas
        next_frame = self.decoder(predicted, canvas, look.active, noise)
        after = self.decoder.objects_after(predicted, look.active) if self.training else None
        return self._advance(look, predicted, next_frame, memory, state, objects_after=after)

    def _advance(
        self, look: Look, predicted: SlotCodes, next_frame: Decoded, memory: Memory, state: LociState, *,
        objects_after: Tensor | None,
    ) -> tuple[LociState, StepOutput]:
        """What the prediction implies for the next step, and the state that carries it there."""
        seen_next = self.bookkeeping.seen_next(next_frame)
        registry = dataclasses.replace(look.registry, bound_next=seen_next)
        occlusion_next = self.bookkeeping.occlusion(next_frame, registry.bound, seen_next)  # Ô
        following = LociState(
            background=state.background,
            predicted=predicted,
            # Only the object masks carry a gradient over to the next step, as in the paper.
            next_frame=dataclasses.replace(next_frame.detach(), object_masks=next_frame.object_masks),
            occlusion=occlusion_next,
            previous=look.sight.expected.detach(),
            memory=memory,
            registry=registry,
            age=state.age + 1,
            fresh=False,
        )
        return following, look.output(predicted, next_frame, occlusion_next, objects_after)

    # ---------------------------------------------------------------- many time steps

    def initial(self, background: Tensor) -> LociState:
        """A state that has seen nothing but the empty scene (B, 3, H, W)."""
        check_background(background, self.config)
        batch, (height, width), k = background.shape[0], self.config.frame, self.config.slots
        empty = background.new_zeros(batch, k)
        gestalt, position = background.new_zeros(batch, k, self.config.gestalt), background.new_zeros(batch, k, 2)
        codes = SlotCodes(gestalt, position, empty, empty)
        masks = background.new_zeros(batch, k, height, width)
        only_background = torch.cat([masks, torch.ones_like(masks[:, :1])], dim=1)
        logits = background.new_zeros(batch, k, 3, height, width)
        zero = torch.zeros(batch, dtype=torch.long, device=background.device)
        return LociState(
            background=background,
            predicted=codes,
            next_frame=Decoded(background, only_background, masks, logits),
            occlusion=empty,
            previous=codes,
            memory=self.transition.initial_memory(background, batch),
            registry=self.bookkeeping.initial(batch, k, background),
            age=zero,
            fresh=True,
        )

    def warm_up(
        self, frame: Tensor, state: LociState, steps: int = WARM_UP_STEPS, regime: Regime = USE
    ) -> LociState:
        """Settle on the first frame for a while, so that slots find their objects before time begins."""
        for _ in range(steps):
            state, _ = self.settle(frame, state, regime)
        return state

    def observe(
        self, frames: Tensor, state: LociState, regime: Regime = USE, *, blackout: Tensor | None = None
    ) -> tuple[LociState, StepOutput]:
        """A clip (B, T, 3, H, W), frame by frame. Outputs are stacked with time at axis 1. `blackout` is (B, T)."""
        if frames.ndim != 5 or frames.shape[1] < 1:
            raise ValueError(f"observe needs a clip (B, T, 3, H, W) of one frame or more, not {tuple(frames.shape)}.")
        if blackout is not None and blackout.shape != frames.shape[:2]:
            raise ValueError(f"blackout must be {tuple(frames.shape[:2])}, one truth value per stream and frame.")
        outputs = []
        for t in range(frames.shape[1]):
            state, output = self.step(frames[:, t], state, regime.at(t, blackout))
            outputs.append(output)
        return state, stack_in_time(outputs)

    def imagine(self, state: LociState, steps: int) -> tuple[LociState, StepOutput]:
        """`steps` time steps without input: the encoder rests, the gate is shut."""
        if steps < 1:
            raise ValueError(f"imagine needs at least one step, but got {steps}.")
        outputs = []
        for _ in range(steps):
            state, output = self.step(None, state)
            outputs.append(output)
        return state, stack_in_time(outputs)

    # ---------------------------------------------------------------- variants of a network

    def at_level(self, level: int) -> LociLooped:
        """The same weights at another working resolution; level 2 starts as an enlargement of what level 1 does."""
        grown = LociLooped(dataclasses.replace(self.config, level=level)).to(next(self.parameters()))
        grown.load_state_dict(copy.deepcopy(self.state_dict()))
        return grown.train(self.training)

    @staticmethod
    def from_official(path: str | Path, config: LociConfig | str) -> LociLooped:
        """The authors' checkpoint as a network of ours, with the released behaviour switched on."""
        from .released.checkpoint import read_official

        return read_official(path, config).model
