"""The curriculum at work: the circumstances a network learns under, as a function of the number of updates.

Circumstances are looked up at the beginning of each sequence and hold until its end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from loci_looped.configs.curriculum import Canvas, Curriculum, PhaseName
from loci_looped.configs.network import GateKind, Placement
from loci_looped.model import Regime

HARDENED = 100_059
"""After so many forward calls the released schedule's single-precision tanh is exactly 1: bindings are permanent."""


def binding_strength(calls: int) -> float:
    """The paper's schedule: below 0 nothing is remembered, below 1 a binding fades unless it is renewed."""
    return 1.0 if calls >= HARDENED else math.tanh(-1 + 1e-4 * calls)


@dataclass(frozen=True)
class Phase:
    """The circumstances of one training sequence."""

    name: PhaseName
    placement: Placement
    settle_placement: Placement
    clean: bool
    binding_strength: float
    fade: float                 # β: how much of the background is there yet
    canvas: Canvas
    gate_learns: bool
    window: int
    blackout: float
    hold: float
    still: bool = False
    looks: bool = False         # films are looked at frame by frame, nothing is predicted
    glimpse: int = 0            # frames a film is cut to; 0 is not at all

    @property
    def gate(self) -> GateKind:
        return "learned" if self.gate_learns else "open"

    def regime(self, *, settling: bool) -> Regime:
        """How a step is taken in this phase; what changes from step to step is added by the sequence."""
        return Regime(
            gate=self.gate,
            placement=self.settle_placement if settling else self.placement,
            binding_strength=self.binding_strength,
            clean=self.clean,
            learning=True,
        )


def phase_at(curriculum: Curriculum, update: int, calls: int) -> Phase:
    """The circumstances after so many updates and forward calls."""
    foreground, imagination = update < curriculum.foreground_until, update >= curriculum.gate_from
    imagines = update >= (curriculum.imagine_from or curriculum.gate_from)
    fade = min(1.0, max(0.0, (update - curriculum.background_from) / max(1, curriculum.background_over)))
    hard = curriculum.binding == "hard" and not foreground
    strength = 1.0 if hard else binding_strength(calls) if curriculum.binding == "slow" else 0.0
    scheduled = min(curriculum.window_to, curriculum.window_from + update // curriculum.window_every)
    for start, length in curriculum.window_steps:
        scheduled = length if update >= start else scheduled
    risen = 0.01 * ((update - curriculum.gate_from) // curriculum.blackout_every)
    blackout = min(curriculum.blackout_to, curriculum.blackout_from + risen)
    return Phase(
        name="imagination" if imagination else "foreground" if foreground else "recruiting",
        placement=curriculum.placement if foreground else "incremental",
        settle_placement=(
            "stochastic" if curriculum.settle_stochastically else curriculum.placement if foreground else "incremental"
        ),
        clean=not foreground,
        binding_strength=strength,
        fade=fade,
        canvas="black" if curriculum.canvas == "colours" and update < curriculum.colours_from else curriculum.canvas,
        gate_learns=imagination,
        window=curriculum.gate_window if imagines and curriculum.gate_window else scheduled,
        blackout=max(0.0, blackout) if imagination else 0.0,
        hold=curriculum.hold if imagines else 0.0,
        still=update < curriculum.still_until,
        looks=update < curriculum.look_until,
        glimpse=0 if imagination else curriculum.glimpse,
    )
