"""What a network is made of: one class per box of the paper's figure 2, chosen by the configuration.

The paper's parts are in this room, ideas beyond the paper in `extensions/`, the released code's quirks in `released/`.
An idea is a small class that overrides one method of a part; `made_of` puts several of them before the part they
change, the last named first, so that each can call the next with `super()`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor, nn

from loci_looped.configs.network import LociConfig

from .bookkeeping import Bookkeeping
from .decoder import Decoder
from .encoder import Encoder
from .extensions.alignment import AlignedDecoder, AlignedEncoder
from .extensions.binding import binds_in_sight
from .extensions.drift import DriftTransition
from .extensions.focus import ExplainingAway, OwnPlace
from .extensions.he_start import he_start
from .extensions.heads import AttendedGestaltHead, BoundedSize, Offsets
from .extensions.innovation import InnovationTransition
from .extensions.letting_go import letting_go
from .extensions.opening import OpenUntilBound
from .extensions.painted_objects import PaintedObjects
from .extensions.recruiting import EagerRecruiter
from .extensions.relation import RelationTransition
from .extensions.rules import RuleGate, RuleTransition
from .gate import PerceptGate
from .losses import position_change
from .recruiter import Recruiter
from .released.parts import (
    ReleasedBookkeeping,
    ReleasedRecruiter,
    ReleasedTransition,
    released_position_change,
)
from .state import StepOutput
from .transition import Transition

Part = TypeVar("Part")


def as_pytorch_does(network: nn.Module) -> None:
    """Leave the weights as their modules made them."""


@dataclass(frozen=True)
class Parts:
    recruiter: type[Recruiter] = Recruiter
    encoder: type[Encoder] = Encoder
    gate: type[PerceptGate] = PerceptGate
    transition: type[Transition] = Transition
    decoder: type[Decoder] = Decoder
    bookkeeping: type[Bookkeeping] = Bookkeeping
    position_change: Callable[[StepOutput], Tensor] = position_change
    start: Callable[[nn.Module], None] = as_pytorch_does
    """What is done to fresh weights."""


PAPER = Parts()
RELEASED = Parts(
    recruiter=ReleasedRecruiter, transition=ReleasedTransition, bookkeeping=ReleasedBookkeeping,
    position_change=released_position_change,
)


def parts_of(config: LociConfig) -> Parts:
    """The parts a configuration asks for."""
    if config.released:
        return RELEASED
    beyond = config.extensions
    if not beyond.used():
        return PAPER
    return Parts(
        recruiter=EagerRecruiter,
        encoder=made_of(
            Encoder,
            (beyond.aligned_grid, AlignedEncoder), (beyond.attended_gestalt, AttendedGestaltHead),
            (beyond.bounded_size > 0, BoundedSize), (beyond.offsets, Offsets), (beyond.own_place, OwnPlace),
            (beyond.explaining_away, ExplainingAway),
        ),
        gate=made_of(
            PerceptGate, (beyond.rules.of_the_gate, RuleGate), (beyond.open_until_bound, OpenUntilBound),
        ),
        transition=made_of(
            Transition, (beyond.rules.of_motion, RuleTransition), (beyond.drift > 0, DriftTransition),
            (beyond.learns_motion, InnovationTransition), (beyond.relation > 0, RelationTransition),
        ),
        decoder=made_of(
            Decoder, (beyond.aligned_grid, AlignedDecoder), (beyond.painted_objects, PaintedObjects),
        ),
        bookkeeping=made_of(
            Bookkeeping, (beyond.binds_in_sight > 0, binds_in_sight(beyond.binds_in_sight)),
            (beyond.patience > 0, letting_go(beyond.patience, beyond.border)),
        ),
        start=he_start if beyond.he_start else as_pytorch_does,
    )


def made_of(part: type[Part], *ideas: tuple[bool, type[Part]]) -> type[Part]:
    """The part with those ideas whose switch is on, each wrapped around the ones before it."""
    chosen = tuple(idea for switched_on, idea in reversed(ideas) if switched_on)
    return type(part.__name__, (*chosen, part), {}) if chosen else part
