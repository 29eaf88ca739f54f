"""The schedule of a training run as numbers: when its phases begin and what each of them does.

Three phases, as in the paper. *foreground*: all slots look for objects on a black background. *recruiting*: one slot at
a time, while the background fades in. *imagination*: the percept gate learns, and slots are sometimes made to live in
their predictions.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Literal

from loci_looped.configs.network import Placement

Canvas = Literal["black", "colours", "released"]
PhaseName = Literal["foreground", "recruiting", "imagination", "rehearsal"]


@dataclass(frozen=True)
class Curriculum:
    updates: int = 1_150_000
    """Training ends here."""
    foreground_until: int = 30_000
    still_until: int = 0
    """Beyond the paper: so long every step is a warm-up on its frame; nothing is predicted, slots learn to draw."""
    still_steps: int = 0
    """Beyond the paper: so long a sequence is one frame of each clip, drawn at random and looked at so many times; then
    other clips come. With 0 it is the whole clip, and the network sees little else for as many updates."""
    look_until: int = 0
    """Beyond the paper: so long films are only looked at: every frame is settled on, nothing is predicted, and a slot
    whose object is being hidden is freed instead of clinging to what hides it. Slots learn to see before they imagine.
    """
    glimpse: int = 0
    """Beyond the paper: until the gate learns, films are cut to so many frames, beginning anywhere. Who cannot imagine
    yet loses what is hidden, and its slot learns to cling to something else; a glimpse is over before that. With 0
    films are watched to their end."""
    placement: Placement = "stochastic"
    """How free slots are placed in the foreground phase."""
    settle_stochastically: bool = False
    """Place slots stochastically during every warm-up, also after the foreground phase (the released CLEVRER recipe).
    """
    background_from: int = 30_000
    background_over: int = 30_000
    """Updates over which the background fades in."""
    canvas: Canvas = "released"
    """What stands for the background while it fades in. "black": black in the picture and in its target. "colours": a
    random colour per scene and step, in both, so that only opaque objects fit. "released": black in the target alone.
    """
    colours_from: int = 0
    """Before this update the canvas of random colours is still black: slots learn to draw first, then to cover."""
    colours_share: float = 0.0
    """Share of the sequences that keep random colours behind the objects for good, so that masks stay opaque."""
    gate_from: int = 60_000
    """The percept gate learns from here on; beyond `updates` the network stays Loci-Unlooped."""
    binding: Literal["slow", "hard"] = "slow"
    """"slow": bindings harden over 100 000 forward calls (the paper); "hard": at once after the foreground phase."""
    window_from: int = 1
    window_to: int = 2
    window_every: int = 200_000
    """Back-propagation goes through so many steps; one more every `window_every` updates."""
    window_steps: tuple[tuple[int, int], ...] = ()
    """(update, length): through so many steps from that update on, instead of the regular growth above."""
    drop_rest: bool = False
    """Leave out the last steps of a clip that do not fill a window, as the released code does."""
    gate_window: int = 0
    """Once the gate learns, back-propagation goes through so many steps; 0 leaves it at the schedule above."""
    blackout_from: float = 0.0
    blackout_to: float = 0.0
    blackout_every: int = 10_000
    """Share of black frames once the gate learns; it rises by 0.01 every so many updates."""
    hold: float = 0.0
    """Beyond the paper: probability per frame and slot that a window of forced imagination begins."""
    imagine_from: int = 0
    """Forced imagination (and `gate_window`) begins here, before the gate learns, so that there is something worth
    imagining when it may close; 0 begins with the gate."""
    hold_from: int = 2
    hold_to: int = 8
    """Shortest and longest window of forced imagination, in frames."""
    error_dropout: float = 0.0
    """Share of steps whose error map is withheld."""

    def __post_init__(self) -> None:
        if self.updates < 1:
            raise ValueError(f"curriculum.updates is {self.updates}; training needs at least one update.")
        if not 1 <= self.window_from <= self.window_to:
            raise ValueError(
                f"curriculum.window_from {self.window_from} and window_to {self.window_to} must be 1 <= from <= to."
            )
        if any(length < 1 for _, length in self.window_steps):
            raise ValueError(f"curriculum.window_steps {self.window_steps} has a window without a step.")
        if self.still_steps < 0:
            raise ValueError(f"curriculum.still_steps is {self.still_steps}, but it must not be negative.")
        for name in ("window_every", "blackout_every", "hold_from"):
            if getattr(self, name) < 1:
                raise ValueError(f"curriculum.{name} is {getattr(self, name)}, but it must be at least 1.")
        if self.hold_to < self.hold_from:
            raise ValueError(f"curriculum.hold_to {self.hold_to} is smaller than hold_from {self.hold_from}.")
        for name in ("blackout_from", "blackout_to", "hold", "error_dropout", "colours_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"curriculum.{name} is {getattr(self, name)}, but it is a probability.")

    def describe(self) -> list[str]:
        """The named events in the order in which they happen, for the first screen of a run."""
        behind = {"black": "on black", "colours": "on random colours", "released": "background black in the target"}
        placed = {"stochastic": "at random", "error_sampled": "drawn by the error", "incremental": "one by one"}
        gate = ["the percept gate learns"]
        if self.gate_window:
            gate.append(f"back-propagation through {self.gate_window} steps")
        if self.hold:
            gate.append(f"slots held shut for {self.hold_from} to {self.hold_to} frames")
        if self.blackout_to:
            gate.append(f"{100 * self.blackout_from:.0f} to {100 * self.blackout_to:.0f} % of the frames black")
        events = [
            (0, f"foreground: slots placed {placed[self.placement]}, {behind[self.canvas]}"),
            (self.foreground_until, "recruiting: one slot at a time"),
            (self.background_from, f"background fades in over {self.background_over} updates"),
            (self.gate_from, "imagination: " + ", ".join(gate)),
            (self.updates, "end"),
        ]
        more = range(1, self.window_to - self.window_from + 1)
        windows = self.window_steps or tuple((self.window_every * n, self.window_from + n) for n in more)
        events += [(start, f"back-propagation through {n} steps") for start, n in windows]
        if self.still_until:
            events.append((self.still_until, "from single frames to films"))
        events.sort(key=lambda event: event[0])
        last = bisect.bisect_right([update for update, _ in events], self.updates)
        return [f"{update:>9}  {text}" for update, text in events[:last]]
