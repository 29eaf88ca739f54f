"""How transition and gate rehearse."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RehearsalConfig:
    """Beyond the paper: transition and gate learn in code space (rehearsal.py), perception alone from pictures.

    A round records diaries of the network in use, then rehearses them. In the first round the gate is open while the
    diaries are recorded and for a part of the updates; later rounds record with the gate that has been learnt.
    """

    rounds_at: tuple[int, ...] = ()
    """A round takes place whenever so many updates have been made with pictures; an update that is named twice is
    followed by two rounds. Without any there is no rehearsal."""
    inherited: bool = False
    """Transition and gate were learnt elsewhere: pictures leave them as they are, and the first round is like all later
    ones, as who can imagine already loses nothing that is hidden. Only for a run that begins with a network."""
    clips: int = 208
    """Clips whose diaries each round records; each records others."""
    remembered: int = 0
    """Clips whose diaries are rehearsed, at most: the newest, those of earlier rounds included. What was recorded in
    the first round is not kept, as nobody could imagine then, unless that was inherited. 0 is those of the present
    round alone."""
    updates: int = 500
    """Rehearsals per round."""
    batch: int = 24
    """Clips per rehearsal, over all processes together."""
    learning_rate: float = 3e-3
    last_learning_rate: float = 1e-3
    """Of the first round and of the last; between them it falls by the same share from round to round, and within each
    round to a hundredth along a cosine."""
    averaged: int = 1
    """The weights that so many of the last rounds ended with are averaged in the end: a single round scatters."""
    window: int = 0
    """Frames of each diary that are lived through at a time, beginning anywhere; 0 is all of them."""
    backward: int = 0
    """Back-propagation goes through so many frames; 0 is from the last one lived through to the first."""
    clip: float = 1.0
    """Largest gradient norm."""
    gate_open: float = 0.33
    """Share of the first round's updates in which the gate is still open."""
    unlooped: bool = False
    """Loci-Unlooped, for comparison: the gate stays open in all rounds, in the dark too, and no slot ever imagines.
    Pictures must not teach it either: set `curriculum.gate_from` to the end."""
    hold: float = 0.08
    """Probability per frame and slot that a window of forced imagination begins."""
    hold_from: int = 2
    hold_to: int = 24
    together: float = 0.0
    """In this share of the clips all slots imagine, from some frame on until the end, instead of each for a while."""
    recorded_hold: float = 0.12
    """The same while diaries are recorded, from the second round on."""
    dark: float = 0.0
    """Share of black frames in the diaries, from the second round on: what is sensed then is no word about anything,
    and the gate may learn so."""
    dark_cost: float = 0.0
    """What an open gate costs in a black frame. With it slots imagine in the dark while they rehearse, whatever their
    gates say, and only the gates learn from it. With 0 what they let in goes on into what is expected, and a memory
    that adds up may not recover from that."""
    noise: float = 0.01
    """Standard deviation of noise on sensed places, in half images."""
    well_seen: float = 0.1
    """What is more occluded than this is not compared with."""
    explained: float = 0.2
    """What a slot shows must be there to more than this share, or it saw its own imagination: not compared with."""
    alike: float = 0.25
    """What differs by more than this share of its bits from what the slot saw first is another object: not compared
    with."""
    turns: bool = False
    """Looks may change little by little, as things turn and come nearer: compare with what the slot last saw of its
    object instead of with its first look. Otherwise a look that is kept for good is always right, and the gestalt gate
    shuts."""
    recognised: float = 0.12
    """A slot that has lost its object is told what another one senses that began later and differs from the object's
    first look by less than this share of its bits. 0 leaves it out."""
    longest_gap: int = 1
    """A target counts for all the frames since the last one, up to so many: what is seen of a thing that comes out
    again is the only word about the time it was hidden. 1 counts all targets alike."""
    follows: bool = True
    """Move the readings of hidden things to where the slot looks now."""
    mirrored: bool = True
    """Exchange left and right in half of the clips."""
    repainted: float = 0.0
    """Share of the bits of a thing's look that is exchanged for a whole clip; 0 leaves looks as they were."""
    square: bool = False
    """The world has all symmetries of the square: also exchange top and bottom, and rows and columns."""
    corner: float = 0.05
    """Place errors count squared up to this, in half images, and linearly beyond."""
    doubtful: float = 0.0
    """Place errors beyond so many corners count less and less (their logarithm): what is that far off is mostly another
    thing that was taken for the same one. 0 believes all targets."""
    position_weight: float = 1.0
    size_weight: float = 0.3
    gestalt_weight: float = 0.3
    priority_weight: float = 0.1
    position_cost: float = 0.15
    """What an open position gate costs, besides the pressure of `gate.l0_weight` on every open gate."""
    gestalt_cost: float = 0.005
    """The same for the gestalt gate."""
    gate_rate: float = 1.0
    """Learning rate of the gate, as a share: a gate that has shut for good feels no gradient any more."""

    def __post_init__(self) -> None:
        if list(self.rounds_at) != sorted(self.rounds_at) or any(update < 0 for update in self.rounds_at):
            raise ValueError(f"rehearsal.rounds_at {self.rounds_at} must be numbers of updates in rising order.")
        for name in ("clips", "updates", "batch", "hold_from", "longest_gap", "averaged"):
            if getattr(self, name) < 1:
                raise ValueError(f"rehearsal.{name} is {getattr(self, name)}, but it must be at least 1.")
        for name in ("window", "backward", "remembered", "doubtful"):
            if getattr(self, name) < 0:
                raise ValueError(f"rehearsal.{name} is {getattr(self, name)}, but it must not be negative.")
        for name in ("hold", "together", "recorded_hold", "repainted", "dark"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"rehearsal.{name} is {getattr(self, name)}, but it is a share.")
        if self.hold_to < self.hold_from:
            raise ValueError(f"rehearsal.hold_to {self.hold_to} is smaller than hold_from {self.hold_from}.")

    @property
    def rounds(self) -> int:
        return len(self.rounds_at)
