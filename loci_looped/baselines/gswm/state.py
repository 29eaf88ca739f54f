"""Everything that crosses a time step of G-SWM, and everything a step tells: frozen dataclasses of tensors.

Axes: B clips, K objects, N any number of objects, H frame size. A box (`where`) is width, height, x, y, in the
coordinates of the spatial transformer: 1 is the whole frame wide, x and y are its centre in [-1, 1] between the frame's
outer edges, x to the right and y down.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from loci_looped.model.state import TensorTree

from .distributions import Gaussian

Tree = TypeVar("Tree", bound=TensorTree)

NO_ID = -1
"""The id of an empty place."""
SHIFT = slice(4, 6)
"""Where x and y stand in an object's vector."""


@dataclass(frozen=True)
class Objects(TensorTree):
    """N objects per clip. They stand in the order of presence, which changes: an object is known by its id."""

    presence: Tensor    # (B, N, 1) in [0, 1]
    depth: Tensor       # (B, N, 1) the smaller is in front
    where: Tensor       # (B, N, 4) width, height, x, y
    what: Tensor        # (B, N, what)
    dynamics: Tensor    # (B, N, dynamics)
    ids: Tensor         # (B, N) whole numbers, -1 for an empty place

    @property
    def vector(self) -> Tensor:
        """(B, N, V) all of it."""
        return torch.cat([self.presence, self.depth, self.where, self.what, self.dynamics], dim=-1)

    @property
    def exist(self) -> Tensor:
        """(B, N) bool: the place is not empty. An object may exist and yet have a presence near zero."""
        return self.ids != NO_ID


@dataclass(frozen=True)
class Recurrent(TensorTree):
    """The memory of an LSTM cell."""

    hidden: Tensor      # (..., hidden)
    cell: Tensor        # (..., hidden)


@dataclass(frozen=True)
class Memory(TensorTree):
    """What has been seen, twice: for inference, which also looks, and for the prior, which can go on alone."""

    posterior: Recurrent
    prior: Recurrent


@dataclass(frozen=True)
class Tracks(TensorTree):
    """Objects with all that belongs to them."""

    objects: Objects
    memory: Memory      # (B, N, hidden)
    proposal: Tensor    # (B, N, 4) the box in which the object was looked for


@dataclass(frozen=True)
class BackgroundState(TensorTree):
    """The background."""

    image: Tensor               # (B, 3, H, H) in [0, 1]
    context: Tensor | None      # (B, context) what a learned background is
    memory: Memory | None       # (B, hidden) of a learned background


@dataclass(frozen=True)
class GswmState(TensorTree):
    """Everything that crosses a time step. Any batch size; per-element reset with `where`."""

    tracks: Tracks
    background: BackgroundState

    def where(self, condition: Tensor, other: GswmState) -> GswmState:
        """This state for clips where `condition` (B,) holds, `other` elsewhere; resets single streams."""
        return _zip(
            [self, other], lambda pair: torch.where(condition.view(-1, *[1] * (pair[0].ndim - 1)), pair[0], pair[1])
        )


@dataclass(frozen=True)
class Rendering(TensorTree):
    """A painted frame and what each object contributes to it."""

    frame: Tensor           # (B, 3, H, H) in [0, 1]
    coverage: Tensor        # (B, 1, H, H) how much of a pixel is objects, α in the paper
    visible_masks: Tensor   # (B, K, H, H) sums to the coverage
    object_masks: Tensor    # (B, K, H, H) the whole object, as if it were present and nothing stood before it


@dataclass(frozen=True)
class DiscoveryBelief(TensorTree):
    """What discovery believes about its cells, for the KL terms."""

    objects: Objects            # one per cell, row by row; rejected ones have presence 0
    presence: Tensor            # (B, N, 1) drawn presence before rejection
    probability: Tensor         # (B, N, 1) of presence
    rejected: Tensor            # (B, N) bool
    depth: Gaussian
    scale: Gaussian             # (B, N, 2) before the sigmoid
    shift: Gaussian             # (B, N, 2) before the tanh
    what: Gaussian
    dynamics: Gaussian


@dataclass(frozen=True)
class PropagationBelief(TensorTree):
    """What propagation believes about the objects of the last step, for the KL terms."""

    exist: Tensor               # (B, N) bool: an empty place costs nothing
    probability: Tensor         # (B, N, 1) of still being present
    dynamics: Gaussian          # with the frame
    dynamics_prior: Gaussian    # without


@dataclass(frozen=True)
class ContextBelief(TensorTree):
    """What a learned background believes with and without the frame."""

    posterior: Gaussian         # (B, context)
    prior: Gaussian


@dataclass(frozen=True)
class GswmOutput(TensorTree):
    """What one time step tells. Beliefs are None where a step did not form them (imagination, no discovery)."""

    tracks: Tracks
    rendering: Rendering
    background: BackgroundState
    discovery: DiscoveryBelief | None = None
    propagation: PropagationBelief | None = None
    context: ContextBelief | None = None

    @property
    def objects(self) -> Objects:
        return self.tracks.objects


def join(first: Tree, second: Tree) -> Tree:
    """The objects of both, those of `first` first."""
    return _zip([first, second], lambda pair: torch.cat(pair, dim=1))


def take(tree: Tree, order: Tensor) -> Tree:
    """The objects number `order` (B, K), in this order."""

    def chosen(leaf: Tensor) -> Tensor:
        index = order.view(*order.shape, *[1] * (leaf.ndim - 2)).expand(*order.shape, *leaf.shape[2:])
        return leaf.gather(1, index)

    return tree.map(chosen)


def stack_in_time(trees: Sequence[Tree]) -> Tree:
    """Successive objects, renderings ... as one, time at axis 1."""
    return _zip(list(trees), lambda leaves: torch.stack(leaves, dim=1))


def _zip(trees: list[Tree], function: Callable[[list[Tensor]], Tensor]) -> Tree:
    """One tree whose leaves are made of the leaves that stand at the same place."""

    def merged(values: list[Any]) -> Any:
        if isinstance(values[0], Tensor):
            return function(values)
        if isinstance(values[0], TensorTree):
            return _zip(values, function)
        return values[0]

    first = trees[0]
    names = [f.name for f in dataclasses.fields(first)]  # type: ignore[arg-type]
    return type(first)(**{name: merged([getattr(tree, name) for tree in trees]) for name in names})
