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
from loci_looped.training.rival_objectives import RivalObjective, numbers_of
from loci_looped.training.window import Window

FADED_IN = 1e-3
"""A background that has begun to fade in goes on, also in a run that starts from weights."""
INITIAL_BETA2 = 0.99


@dataclass(frozen=True)
class V1Phase:
    """The circumstances of one sequence."""

    background_learns: bool

    @property
    def name(self) -> str:
        return "background" if self.background_learns else "foreground"


class LociV1Objective(RivalObjective[LociV1Training, LociV1, V1Phase]):
    def build(self) -> LociV1:
        return LociV1(self.config.model)

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
        return model.encoder.size_growth, model.backdrop.growth

    def level(self, model: LociV1) -> int:
        return model.config.level

    def grown(self, model: LociV1) -> LociV1:
        return model.at_level(2)

    def phase(self, update: int, calls: int) -> V1Phase:
        del calls
        return V1Phase(update >= self.config.curriculum.background_from)

    def windows(
        self, model: LociV1, frames: Tensor, background: Tensor, phase: V1Phase, generator: torch.Generator
    ) -> Iterator[Window]:
        draws = RandomDraws(generator)
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
        yield Window(_weighted(parts, weights), numbers_of(told), 1, frozenset(moves))
        state = state.detach()


def _weighted(parts: dict[str, Tensor], weights: LociV1Loss) -> Tensor:
    return (
        parts["prediction"] + weights.position_change * parts["position_change"]
        + weights.object_permanence * parts["object_permanence"] + weights.gestalt_change * parts["gestalt_change"]
    )

