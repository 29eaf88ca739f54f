"""How Loci-v1 learns: whole clips, an update after every time step, credit for the past by e-prop alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from loci_looped.baselines.loci_v1 import LociV1
from loci_looped.baselines.loci_v1.draws import Draws, RandomDraws
from loci_looped.baselines.loci_v1.losses import faded_target, step_losses
from loci_looped.configs.rivals import LociV1Loss, LociV1Training
from loci_looped.model.losses import foreground
from loci_looped.training.rival_objectives import RivalObjective, numbers_of
from loci_looped.training.sequence import crop
from loci_looped.training.window import Window

FADED_IN = 1e-3
"""A background that has begun to fade in goes on, also in a run that starts from weights."""
INITIAL_BETA2 = 0.99
WHOLLY_THERE = 40.0
"""The growth at which a background has faded in to the last bit."""


@dataclass(frozen=True)
class V1Phase:
    """The circumstances of one sequence."""

    background_learns: bool
    fade: float = 0.0       # β, where the background fades in by a schedule
    still: bool = False
    coloured: bool = False  # is what has not faded in a random colour, or black?

    @property
    def name(self) -> str:
        if self.still:
            return "stills"
        return "background" if self.background_learns else "foreground"


class LociV1Objective(RivalObjective[LociV1Training, LociV1, V1Phase]):
    def build(self) -> LociV1:
        model = LociV1(self.config.model)
        if self.config.curriculum.background_over:
            model.backdrop.growth.data.fill_(WHOLLY_THERE)      # what stands before it is told by the schedule
        return model

    def groups(self, model: LociV1) -> list[dict[str, Any]]:
        """Initial states (by plain Adam, in the first step of a sequence alone), the background, and the rest."""
        apart = {id(p) for part in (model.placement, model.backdrop) for p in part.parameters()}
        optimiser = self.config.optimiser
        return [
            {"params": list(model.placement.parameters()), "role": "initial", "rectified": False,
             "betas": (optimiser.beta1, INITIAL_BETA2)},
            {"params": list(model.backdrop.parameters()), "role": "background",
             "factor": self.config.background_factor},
            {"params": [p for p in model.parameters() if id(p) not in apart], "role": "network"},
        ]

    def injected(self, model: LociV1) -> Sequence[nn.Parameter]:
        grown = getattr(model.encoder, "size_growth", None)
        return (model.backdrop.growth,) if grown is None else (grown, model.backdrop.growth)

    def level(self, model: LociV1) -> int:
        return model.config.level

    def grown(self, model: LociV1) -> LociV1:
        return model.at_level(2)

    def phase(self, update: int, calls: int) -> V1Phase:
        del calls
        taught = self.config.curriculum
        past = update - taught.background_from
        fade = min(1.0, max(0.0, past / taught.background_over)) if taught.background_over else 0.0
        return V1Phase(past >= 0, fade, update < taught.still_until, update >= taught.colours_from)

    def is_worth_a_look(self, phase: V1Phase) -> bool:
        """The background must be there."""
        return phase.fade >= 1 or not self.config.curriculum.background_over

    def windows(
        self, model: LociV1, frames: Tensor, background: Tensor, phase: V1Phase, generator: torch.Generator
    ) -> Iterator[Window]:
        draws = RandomDraws(generator)
        if self.config.curriculum.background_over:
            return unroll_lesson(model, frames, background, phase, self.config, generator)
        return unroll_v1(
            model, frames, background, itertools.repeat(draws), self.config.curriculum.warm_up, self.config.loss,
            background_learns=phase.background_learns,
        )


def unroll_v1(
    model: LociV1, frames: Tensor, background: Tensor, draws: Iterator[Draws], warm_up: int, weights: LociV1Loss, *,
    background_learns: bool,
) -> Iterator[Window]:
    """A window per time step of one sequence (B, T, 3, H, W). Update the network between them.

    In warm-up the target is faded again and again, as the released loop does; with a background that is either black
    or wholly there this makes no difference.
    """
    state = model.initial(background)
    target = compared = frames[:, 0]
    for t, drawn in zip(range(-warm_up, frames.shape[1] - 1), draws, strict=False):
        state, output = model.step(frames[:, max(t, 0)], state, drawn, compared=compared, weight_runs=t >= 0)
        compared = target = frames[:, t + 1].clamp(0, 1) if t >= 0 else target
        target = faded_target(target, background, model.backdrop.strength())
        parts = step_losses(model, output, target, warm=t < 0)
        learns = background_learns or float(model.backdrop.strength()) > FADED_IN
        moves = {"initial"} if t == -warm_up else {"network", "background"} if learns else {"network"}
        told = parts | {
            "bound_slots": output.bound.to(target.dtype).sum(1).mean(), "background": model.backdrop.strength(),
        }
        yield Window(weighted(parts, weights), numbers_of(told), 1, frozenset(moves))
        state = state.detach()


def unroll_lesson(
    model: LociV1, frames: Tensor, background: Tensor, phase: V1Phase, config: LociV1Training,
    generator: torch.Generator,
) -> Iterator[Window]:
    """The same for a short training: single frames or crops, and as much of the background as the schedule says.

    On single frames all slots are sent at once, also if later they are sent in turn: all of them then learn to paint.
    """
    taught, draws, fade = config.curriculum, RandomDraws(generator), phase.fade
    if phase.still or taught.crop:
        frames = crop(frames, 1 if phase.still else taught.crop, generator)
    if fade >= 1 and float(torch.rand((), generator=generator, device=generator.device)) < taught.colours_share:
        fade = 0.0
    state = model.initial(background)
    for t in range(-taught.warm_up, frames.shape[1] - 1):
        frame, coming = frames[:, max(t, 0)], frames[:, max(t + 1, 0)]
        colour = torch.rand((frames.shape[0], 3, 1, 1), generator=generator, device=frames.device)
        colour = colour.expand_as(frame) * phase.coloured
        front = foreground(coming, background)
        state, output = model.step(
            frame, state, draws, weight_runs=t >= 0, canvas=torch.lerp(colour, background, fade),
            at_once=True if phase.still else None,
        )
        target = torch.where(front > 0, coming, torch.lerp(colour, coming, fade))
        parts = step_losses(
            model, output, target, warm=t < 0, front=front if config.loss.balanced else None, outlines=not phase.still
        )
        yield Window(weighted(parts, config.loss), numbers_of(parts | {
            "bound_slots": output.bound.to(target.dtype).sum(1).mean(), "background": colour.new_tensor(fade),
            "foreground_error": ((output.next_frame.frame - target).square() * front).sum() / 3 / front.sum().clamp(1),
        }), 1)
        state = state.detach()


def weighted(parts: dict[str, Tensor], weights: LociV1Loss) -> Tensor:
    return (
        parts["prediction"] + weights.position_change * parts["position_change"]
        + weights.object_permanence * parts["object_permanence"] + weights.gestalt_change * parts["gestalt_change"]
    )

