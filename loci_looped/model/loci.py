"""Loci-Looped: the story of one time step, and the three ways of telling it on.

    step(frame, state)      one frame
    observe(frames, state)  a clip, frame by frame
    imagine(state, steps)   no frames: the gate is shut, the network lives in its own predictions
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from loci_looped.configs.network import GateKind, LociConfig, Placement, preset

from .active import Active
from .blocks import ResidualBlock, gaussian_map
from .checks import check_background, check_frame, check_switches
from .decoder import Decoder
from .displacement import IN_TRAINING, IN_USE, corrected, trust
from .encoder import Encoder
from .gate import PerceptGate, blend
from .occlusion import occlusion_state, strongest_visibility
from .recruiter import Recruiting, without_unassigned
from .state import Decoded, LociState, Registry, SlotCodes, StepOutput, stack_in_time
from .transition import Transition

WARM_UP_STEPS = 10


@dataclass(frozen=True)
class Conditions:
    """What training varies about a step; the defaults are how a trained network is used."""

    gate: GateKind = "learned"
    placement: Placement = "incremental"
    binding_strength: float = 1.0
    """Below 1 a binding must be renewed by visibility; training raises it slowly."""
    clean: bool = True
    """Until the sequence has settled, slots that are predicted to be occluded are freed."""


AS_TRAINED = Conditions()


class LociLooped(nn.Module):
    """The network of the paper's figure 2. It holds weights only; all that changes in time is in `LociState`."""

    def __init__(self, config: LociConfig | str = "adept"):
        super().__init__()
        self.config = preset(config) if isinstance(config, str) else config
        self.recruiting = Recruiting(self.config)
        self.encoder = Encoder(self.config)
        self.gate = PerceptGate(self.config.gestalt, self.config.gate)
        self.transition = Transition(self.config)
        self.decoder = Decoder(self.config)
        # Convolutions on a CPU are up to twice as fast with channels last, if the whole path is laid out so.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if self.config.initialisation == "he":
            for module in self.modules():
                if isinstance(module, ResidualBlock):
                    module.he_initialise()
            self.encoder.down.tell_inputs_apart()
            self.decoder.object.up.tell_outputs_apart()

    # ---------------------------------------------------------------- one time step

    def initial(self, background: Tensor) -> LociState:
        """A state that has seen nothing but the empty scene (B, 3, H, W)."""
        check_background(background, self.config)
        batch, (height, width), k = background.shape[0], self.config.frame, self.config.slots
        empty = background.new_zeros(batch, k)
        never = torch.zeros(batch, k, dtype=torch.bool, device=background.device)
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
            displacement=codes.position,
            evidence=empty,
            memory=self.transition.initial_memory(background, batch),
            registry=Registry(never, never, never, empty, empty, zero, zero.bool()),
            age=zero,
            fresh=True,
        )

    def step(
        self, frame: Tensor | None, state: LociState, *, warmup: bool = False, conditions: Conditions = AS_TRAINED,
        blackout: Tensor | None = None, hold: Tensor | None = None, canvas: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[LociState, StepOutput]:
        """One time step on a frame (B, 3, H, W) in [0, 1], or on none: then the network imagines.

        `warmup`: look again at the first frame; nothing moves, the next frame is expected to be the same.
        `blackout` (B,) bool: these streams get a black frame and no error map; the gate must close by itself.
        `hold` (B, K) bool: these slots' gates are held shut for this step if they hold an object.
        `canvas` (B, 3, H, W): what is painted behind the objects; the background itself unless training says otherwise.
        `generator`: where noise comes from; without one there is none.
        """
        if frame is None or conditions.gate == "closed":
            return self._imagine_step(state, conditions, generator)
        check_frame(frame, state, self.config)
        check_switches(blackout, hold, state)
        if blackout is not None:
            frame = torch.where(blackout.view(-1, 1, 1, 1), torch.zeros_like(frame), frame)
        error, surprise = self._error(frame, state, blackout)
        noise = generator if self.training or self.config.official else None
        canvas = state.background if canvas is None else canvas

        recruited = self.recruiting(
            error, state, placement=conditions.placement, binding_strength=conditions.binding_strength,
            clean=conditions.clean, generator=generator,
        )
        previous, assigned = recruited.previous, recruited.assigned
        active = Active.everything(assigned) if self.config.official else Active.of(assigned)
        visible, whole = self._expected_masks(state, previous, canvas, active, noise)
        own_objects = self._own_objects(state, previous, recruited.bound, active)

        sensed = self.encoder(frame, error, visible, own_objects, previous, whole, active, noise)
        sensed = without_unassigned(sensed, assigned)
        present = self.decoder(sensed, canvas, active, noise)
        registry, seen = self._bind(state.registry, recruited.assigned, present)
        registry = dataclasses.replace(
            registry, visibility_trace=recruited.visibility_trace, countdown=recruited.countdown,
            settled=registry.settled if warmup else torch.ones_like(registry.settled),
        )
        occlusion = self._occlusion(present, registry.bound, seen)

        if warmup:
            alpha = torch.ones_like(sensed.position)
            percept, predicted, memory = sensed, sensed, state.memory
            displacement, trusted = torch.zeros_like(sensed.position), torch.zeros_like(sensed.size)
        else:
            alpha = self._gate(state, sensed, occlusion, previous, recruited.bound, conditions.gate, hold, generator)
            percept = sensed if conditions.gate == "open" and hold is None else blend(alpha, sensed, previous)
            trusted = alpha[..., 1].detach()
            if self.config.transition.speed_from == "well_seen":
                sight = IN_TRAINING if self.training else IN_USE
                trusted = trusted * trust(percept.position, percept.size, occlusion, present.visible_masks, sight)
            unexpected = sensed.position - previous.position
            displacement = corrected(state.displacement, unexpected, trusted, state.evidence)
            displacement = displacement * recruited.bound.unsqueeze(-1)     # who has just been placed has no past
            attention_mask = None if self.config.official else assigned
            predicted, memory = self.transition(percept, 1 - alpha, displacement, state.memory, attention_mask, noise)
            if not self.config.official:
                predicted = without_unassigned(predicted, assigned)
        same_picture = warmup and not (self.config.official and noise is not None)
        next_frame = present if same_picture else self.decoder(predicted, canvas, active, noise)
        return self._finish(
            state, StepOutput(
                sensed=sensed, percept=percept, predicted=predicted, previous=previous, gate=alpha,
                displacement=displacement, present=present, next_frame=next_frame,
                occlusion=occlusion, occlusion_next=occlusion, assigned=assigned, bound=registry.bound,
                visibility=registry.visibility, error=error, surprise=surprise, objects_before=own_objects,
                objects_after=None,
            ), memory, registry, state.evidence + trusted, active, warmup=warmup,
        )

    def _imagine_step(
        self, state: LociState, conditions: Conditions, generator: torch.Generator | None
    ) -> tuple[LociState, StepOutput]:
        """The gate is shut: the percept is the prediction, the picture of the present the one made in advance."""
        noise = generator if self.training or self.config.official else None
        assigned, present = state.registry.assigned, state.next_frame
        active = Active.everything(assigned) if self.config.official else Active.of(assigned)
        registry, seen = self._bind(state.registry, assigned, present)
        registry = dataclasses.replace(registry, settled=torch.ones_like(registry.settled))
        percept, shut = state.predicted, torch.zeros_like(state.predicted.position)
        predicted, memory = self.transition(
            percept, 1 - shut, state.displacement, state.memory, None if self.config.official else assigned, noise
        )
        if not self.config.official:
            predicted = without_unassigned(predicted, assigned)
        next_frame = self.decoder(predicted, state.background, active, noise)
        occlusion = self._occlusion(present, registry.bound, seen)
        return self._finish(
            state, StepOutput(
                sensed=percept, percept=percept, predicted=predicted, previous=percept, gate=shut,
                displacement=state.displacement, present=present, next_frame=next_frame,
                occlusion=occlusion, occlusion_next=occlusion, assigned=assigned, bound=registry.bound,
                visibility=registry.visibility, error=torch.zeros_like(present.frame[:, :1]),
                surprise=torch.zeros_like(occlusion), objects_before=present.object_logits, objects_after=None,
            ), memory, registry, state.evidence, active, warmup=False,
        )

    def _finish(
        self, state: LociState, output: StepOutput, memory: Any, registry: Registry, evidence: Tensor, active: Active,
        *, warmup: bool,
    ) -> tuple[LociState, StepOutput]:
        """What the prediction implies for the next step, and the state that carries it there."""
        next_frame, predicted = output.next_frame, output.predicted
        seen_next = strongest_visibility(next_frame) > self.config.recruiting.bound_threshold
        registry = dataclasses.replace(registry, bound_next=seen_next)
        occlusion_next = self._occlusion(next_frame, registry.bound, seen_next)
        needs_objects = self.training and not warmup and self.config.own_object == "whole"
        objects_after = self.decoder.objects(predicted, active) if needs_objects else None
        output = dataclasses.replace(output, occlusion_next=occlusion_next, objects_after=objects_after)
        held = state.registry.bound & output.assigned & (not warmup)
        following = LociState(
            background=state.background,
            predicted=predicted,
            # Only the object masks carry a gradient over to the next step, as in the paper.
            next_frame=dataclasses.replace(next_frame.detach(), object_masks=next_frame.object_masks),
            occlusion=occlusion_next,
            previous=output.previous.detach(),
            displacement=output.displacement,
            evidence=evidence * held,
            memory=memory,
            registry=registry,
            age=state.age + 1,
            fresh=False,
        )
        return following, output

    # ---------------------------------------------------------------- the parts of a step

    @torch.no_grad()
    def _error(self, frame: Tensor, state: LociState, blackout: Tensor | None) -> tuple[Tensor, Tensor]:
        """E (B, 1, H, W), where the prediction failed and something is there; and each slot's share of it (B, K)."""
        from_background = _distance(frame, state.background)
        missed = frame - state.next_frame.frame
        first = (state.age == 0).view(-1, 1, 1, 1)
        error = torch.where(first, from_background, _distance(frame, state.next_frame.frame).sqrt() * from_background)
        masks = state.next_frame.visible_masks                                                           # (B, K, H, W)
        squared = (masks.square() * missed.square().mean(1, keepdim=True)).mean((2, 3))
        surprise = squared / masks.sum((2, 3)).clamp(min=1e-8) * ~first.view(-1, 1)
        if blackout is not None:
            error = torch.where(blackout.view(-1, 1, 1, 1), torch.zeros_like(error), error)
            surprise = torch.where(blackout.view(-1, 1), torch.zeros_like(surprise), surprise)
        return error, surprise

    def _expected_masks(
        self, state: LociState, previous: SlotCodes, canvas: Tensor, active: Active, noise: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """Visible and whole-object masks predicted for this frame; at the very first step those of the fresh slots."""
        next_frame = state.next_frame
        if not state.fresh:
            return next_frame.visible_masks_with_background, next_frame.object_masks
        first = (state.age == 0).view(-1, 1, 1, 1)
        fresh = self.decoder(previous, canvas, active, noise)
        return (
            torch.where(first, fresh.visible_masks_with_background, next_frame.visible_masks_with_background),
            torch.where(first, fresh.object_masks, next_frame.object_masks),
        )

    def _own_objects(self, state: LociState, previous: SlotCodes, bound: Tensor, active: Active) -> Tensor:
        if self.config.own_object == "painted":
            return state.next_frame.object_logits * bound[..., None, None, None]
        return self.decoder.objects(previous, active)

    def _bind(self, registry: Registry, assigned: Tensor, present: Decoded) -> tuple[Registry, Tensor]:
        """An object is bound when it was expected and is seen; until the sequence settles, seeing is enough."""
        strongest = strongest_visibility(present)
        seen = strongest > self.config.recruiting.bound_threshold
        settled = registry.settled.unsqueeze(1)
        seen = seen & (~settled | registry.bound_next | registry.bound)
        bound = seen | (settled & registry.bound)
        visibility = torch.where(settled, torch.maximum(registry.visibility, strongest), strongest)
        return dataclasses.replace(registry, assigned=assigned, bound=bound, visibility=visibility), seen

    def _occlusion(self, decoded: Decoded, bound: Tensor, seen: Tensor) -> Tensor:
        return occlusion_state(decoded, bound, seen, self.config.recruiting.bound_threshold, self.config.official)

    def _gate(
        self, state: LociState, sensed: SlotCodes, occlusion: Tensor, previous: SlotCodes, bound: Tensor,
        kind: GateKind, hold: Tensor | None, generator: torch.Generator | None,
    ) -> Tensor:
        if kind == "open":
            alpha = torch.ones_like(sensed.position)
        elif kind == "visibility":
            alpha = (1 - occlusion).unsqueeze(-1).expand(-1, -1, 2)
        else:
            first = (state.age == 0).unsqueeze(1).expand_as(bound)
            earlier = previous.where(first, state.previous)
            noise = generator if self.training else None
            alpha = self.gate(sensed, occlusion, previous, state.occlusion, earlier, noise)
        if self.config.gate.open_when_lost:
            holds = bound & ~self._lost(state.next_frame, previous)
            alpha = torch.where(holds.unsqueeze(-1), alpha, torch.ones_like(alpha))
        if hold is not None:
            alpha = alpha * ~(hold & bound).unsqueeze(-1)
        return alpha

    @torch.no_grad()
    def _lost(self, next_frame: Decoded, previous: SlotCodes) -> Tensor:
        """(B, K) bool: slots that are expected to show nothing although no other slot stands before them."""
        shows = next_frame.visible_masks.amax((2, 3)) > 0.5
        own = gaussian_map(previous.position, previous.size, self.config.frame)                 # (B, K, H, W)
        others = next_frame.visible_masks.sum(1, keepdim=True) - next_frame.visible_masks
        covered = (own * others).sum((2, 3)) / own.sum((2, 3)).clamp(min=1e-6)
        return ~shows & (covered < 0.5)

    # ---------------------------------------------------------------- many time steps

    def warm_up(
        self, frame: Tensor, state: LociState, steps: int = WARM_UP_STEPS, conditions: Conditions = AS_TRAINED,
        generator: torch.Generator | None = None,
    ) -> LociState:
        """Look at the first frame for a while, so that slots find their objects before time begins."""
        for _ in range(steps):
            state, _ = self.step(frame, state, warmup=True, conditions=conditions, generator=generator)
        return state

    def observe(
        self, frames: Tensor, state: LociState, *, conditions: Conditions = AS_TRAINED, blackout: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[LociState, StepOutput]:
        """A clip (B, T, 3, H, W), frame by frame. Outputs are stacked with time at axis 1. `blackout` is (B, T)."""
        if frames.ndim != 5 or frames.shape[1] < 1:
            raise ValueError(f"observe needs a clip (B, T, 3, H, W) of one frame or more, not {tuple(frames.shape)}.")
        if blackout is not None and blackout.shape != frames.shape[:2]:
            raise ValueError(f"blackout must be {tuple(frames.shape[:2])}, one truth value per stream and frame.")
        outputs = []
        for t in range(frames.shape[1]):
            dark = None if blackout is None else blackout[:, t]
            state, output = self.step(frames[:, t], state, conditions=conditions, blackout=dark, generator=generator)
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


def _distance(a: Tensor, b: Tensor) -> Tensor:
    """(B, 1, H, W): root mean square difference over the colours."""
    return (a - b).square().mean(1, keepdim=True).sqrt()
