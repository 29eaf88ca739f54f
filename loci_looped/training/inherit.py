"""A new run that begins with what a network has learnt elsewhere, instead of noise.

Unlike a branch (training/branch.py) nothing but weights is taken over: the curriculum, the optimiser and all counters
begin anew. Thirty films of one's own are few; who has seen other things knows already how to draw and to hold one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from loci_looped.inference.network_kinds import kind_of
from loci_looped.inference.networks import load_any
from loci_looped.training.branch import LISTED
from loci_looped.utils.errors import LociError

ENOUGH = 0.5
"""Share of the parameters of eyes and painter that must fit; with less, little is taken over but confusion. How things
move is learnt anew from a few films where it does not fit; how to draw is not."""
PERCEPTION = ("encoder.", "decoder.")
WHOLE = {"transition", "gate"}
BEGINS_AS_NOTHING = ("transition.added.",)
"""What changes nothing before it is learnt (model/extensions/drift.py) may be new beside inherited weights."""


@dataclass(frozen=True)
class Inheritance:
    """Weights for the network of a run, and what there is to tell about them."""

    name: str                       # of the network they are from
    weights: dict[str, Tensor]
    sentence: str


def inheritance(name: str, fresh: Mapping[str, Tensor], kind: str) -> Inheritance:
    """The weights of a network (by its name or folder) where they fit those of an untrained one, `fresh`."""
    network = load_any(name)
    own = kind_of(network).name
    if own.lower() != f"{kind} network":
        raise LociError(f"{name} is a {own}, but this recipe trains a {kind} network: its weights do not fit.")
    theirs = network.state_dict()
    same = {key for key, value in fresh.items() if key in theirs and theirs[key].shape == value.shape}
    fits = _whole_parts(same, fresh)
    perception = {key: value.numel() for key, value in fresh.items() if key.startswith(PERCEPTION)}
    if sum(size for key, size in perception.items() if key in fits) < ENOUGH * sum(perception.values()):
        raise LociError(
            f"Too little of {name} fits the network of this run: it is of another make. Use the recipe that {name} was "
            "trained with, and the same --model fields."
        )
    rest = sorted(set(fresh) - fits)
    listed = f"{', '.join(rest[:LISTED])}{' ...' if len(rest) > LISTED else ''}"
    told = f"It begins with the weights of {name}; its curriculum begins anew."
    weights = {key: theirs[key] if key in fits else value for key, value in fresh.items()}
    return Inheritance(name, weights, f"{told} Untrained as yet: {listed}." if rest else told)


def _whole_parts(fits: set[str], fresh: Mapping[str, Tensor]) -> set[str]:
    """Of a transition or a gate all weights are taken or none: half of what has been learnt about motion is noise."""
    missing = {key for key in set(fresh) - fits if not key.startswith(BEGINS_AS_NOTHING)}
    broken = {key.partition(".")[0] for key in missing} & WHOLE
    return {key for key in fits if key.partition(".")[0] not in broken}
