"""The curriculum: which circumstances the network learns under, as a function of the number of updates.

Three phases, as in the paper. *foreground*: all slots look for objects on a black background. *recruiting*: one slot at a time,
while the background fades in. *imagination*: the percept gate learns, and slots are sometimes made to live in their predictions.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from typing import Literal

from loci_looped.model import Conditions
from loci_looped.model.recruiting import Placement

Phase = Literal["foreground", "recruiting", "imagination"]


@dataclass(frozen=True)
class Curriculum:
    updates: int = 1_150_000
    """Training ends here."""
    foreground_until: int = 30_000
    still_until: int = 0
    """Beyond the paper: so long every step is a warm-up on its frame; nothing is predicted, slots learn to draw."""
    placement: Placement = "stochastic"
    """How free slots are placed in the foreground phase."""
    settle_stochastically: bool = False
    """Place slots stochastically during every warm-up, also after the foreground phase (the released CLEVRER recipe)."""
    background_from: int = 30_000
    background_over: int = 30_000
    """Updates over which the background fades in."""
    canvas: Literal["black", "colours", "released"] = "released"
    """What stands for the background while it fades in. "black": black in the picture and in its target. "colours": a random
    colour per scene and step, in both, so that only opaque objects fit. "released": black in the target alone."""
    gate_from: int = 60_000
    """The percept gate learns from here on; beyond `updates` the network stays Loci-Unlooped."""
    binding: Literal["slow", "hard"] = "slow"
    """"slow": bindings harden over 100 000 forward calls (the paper); "hard": at once when the foreground phase ends."""
    window_from: int = 1
    window_to: int = 2
    window_every: int = 200_000
    """Back-propagation goes through so many steps; one more every `window_every` updates."""
    gate_window: int = 0
    """Once the gate learns, back-propagation goes through so many steps; 0 leaves it at the schedule above."""
    blackout_from: float = 0.0
    blackout_to: float = 0.0
    blackout_every: int = 10_000
    """Share of black frames once the gate learns; it rises by 0.01 every so many updates."""
    hold: float = 0.0
    """Beyond the paper: probability per frame and slot that a window of forced imagination begins."""
    hold_from: int = 2
    hold_to: int = 8
    """Shortest and longest window of forced imagination, in frames."""
    error_dropout: float = 0.0
    """Share of steps whose error map is withheld."""

    def __post_init__(self) -> None:
        if self.updates < 1:
            raise ValueError(f"curriculum.updates is {self.updates}; training needs at least one update.")
        if not 1 <= self.window_from <= self.window_to:
            raise ValueError(f"curriculum.window_from {self.window_from} and window_to {self.window_to} must be 1 <= from <= to.")
        for name in ("blackout_from", "blackout_to", "hold", "error_dropout"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"curriculum.{name} is {getattr(self, name)}, but it is a probability.")

    def at(self, update: int, calls: int) -> Stage:
        """The circumstances after so many updates and forward calls."""
        foreground, imagination = update < self.foreground_until, update >= self.gate_from
        fade = min(1.0, max(0.0, (update - self.background_from) / max(1, self.background_over)))
        hard = self.binding == "hard" and not foreground
        strength = 1.0 if hard else math.tanh(-1 + 1e-4 * calls) if self.binding == "slow" else 0.0
        # In single precision tanh reaches 1 at 9.0109, and the binding is then permanent.
        strength = 1.0 if self.binding == "slow" and -1 + 1e-4 * calls > 9.0109 else strength
        scheduled = min(self.window_to, self.window_from + update // self.window_every)
        blackout = min(self.blackout_to, self.blackout_from + 0.01 * ((update - self.gate_from) // self.blackout_every))
        return Stage(
            phase="foreground" if foreground else "imagination" if imagination else "recruiting",
            placement=self.placement if foreground else "incremental",
            settle_placement="stochastic" if self.settle_stochastically else self.placement if foreground else "incremental",
            clean=not foreground,
            binding_strength=strength,
            fade=fade,
            canvas=self.canvas,
            gate_learns=imagination,
            window=self.gate_window if imagination and self.gate_window else scheduled,
            blackout=max(0.0, blackout) if imagination else 0.0,
            hold=self.hold if imagination else 0.0,
            still=update < self.still_until,
        )

    def describe(self) -> list[str]:
        """The named events in the order in which they happen, for the first screen of a run."""
        events = [
            (0, f"foreground: slots placed by {self.placement.replace('_', ' ')}, background black"),
            (self.foreground_until, "recruiting: one slot at a time"),
            (self.background_from, f"background fades in over {self.background_over} updates"),
            (self.gate_from, "imagination: the percept gate learns"),
            (self.updates, "end"),
        ]
        events.sort(key=lambda event: event[0])
        last = bisect.bisect_right([update for update, _ in events], self.updates)
        return [f"{update:>9}  {text}" for update, text in events[:last]]


@dataclass(frozen=True)
class Stage:
    """The circumstances of one training sequence."""

    phase: Phase
    placement: Placement
    settle_placement: Placement
    clean: bool
    binding_strength: float
    fade: float                 # β: how much of the background is there yet
    canvas: Literal["black", "colours", "released"]
    gate_learns: bool
    window: int
    blackout: float
    hold: float
    still: bool = False

    def conditions(self, *, settling: bool) -> Conditions:
        return Conditions(
            gate="learned" if self.gate_learns else "open",
            placement=self.settle_placement if settling else self.placement,
            binding_strength=self.binding_strength,
            clean=self.clean,
        )
