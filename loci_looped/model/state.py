"""Everything that crosses a time step, and everything a time step tells: frozen dataclasses of tensors.

Axes: B batch, K slots, G gestalt, H and W working resolution. Positions are (y, x) in [-1, 1], -1 at the centre of the
first pixel, +1 at the centre of the last.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

Tree = TypeVar("Tree", bound="TensorTree")

COLOUR_SHIFT = 2.5
"""Colours are σ(logit - 2.5): objects start dark."""


def _map(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, TensorTree):
        return value.map(function)
    if isinstance(value, tuple):
        return tuple(_map(item, function) for item in value)
    return value


class TensorTree:
    """A dataclass whose leaves are tensors; whatever is done to it is done to each leaf."""

    def map(self: Tree, function: Callable[[Tensor], Tensor]) -> Tree:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return type(self)(**{f.name: _map(getattr(self, f.name), function) for f in fields})

    def detach(self: Tree) -> Tree:
        """The same values, cut off from the graph: the border of a truncated back-propagation window."""
        return self.map(lambda leaf: leaf.detach())

    def to(self: Tree, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Tree:
        """Move to a device; `dtype` applies to floating-point leaves only."""
        return self.map(lambda leaf: leaf.to(device=device, dtype=dtype if leaf.is_floating_point() else None))

    def element(self: Tree, index: int) -> Tree:
        """One element of the batch, still with a batch axis of length 1."""
        return self.map(lambda leaf: leaf[index : index + 1])


@dataclass(frozen=True)
class SlotCodes(TensorTree):
    """What and where: the codes of all slots, (G, P) in the paper."""

    gestalt: Tensor     # (B, K, G) in [0, 1], near-binary
    position: Tensor    # (B, K, 2) y, x
    size: Tensor        # (B, K) standard deviation of the slot's Gaussian
    priority: Tensor    # (B, K) the larger is in front

    def where(self, condition: Tensor, other: SlotCodes) -> SlotCodes:
        """These codes for slots where `condition` (B, K) holds, `other` elsewhere."""
        wide = condition.unsqueeze(-1)
        return SlotCodes(
            gestalt=torch.where(wide, self.gestalt, other.gestalt),
            position=torch.where(wide, self.position, other.position),
            size=torch.where(condition, self.size, other.size),
            priority=torch.where(condition, self.priority, other.priority),
        )


@dataclass(frozen=True)
class Decoded(TensorTree):
    """A painted frame and what each slot contributes to it."""

    frame: Tensor                           # (B, 3, H, W) in [0, 1]
    visible_masks_with_background: Tensor   # (B, K+1, H, W) sums to 1 over slots; the background is last
    object_masks: Tensor                    # (B, K, H, W) the whole object, as if nothing stood before it
    object_logits: Tensor                   # (B, K, 3, H, W) colours before the sigmoid, without a gradient

    @property
    def visible_masks(self) -> Tensor:
        """(B, K, H, W) without the background."""
        return self.visible_masks_with_background[:, :-1]

    @property
    def colours(self) -> Tensor:
        """(B, K, 3, H, W) in [0, 1]: each slot's object as painted, dimmed where another stands before it."""
        return torch.sigmoid(self.object_logits - COLOUR_SHIFT)


@dataclass(frozen=True)
class TraceStep(TensorTree):
    """One past step of a GateL0RD layer, all that its eligibility traces need to know of it."""

    gate_factor: Tensor         # (n, N) (1 - g²) H (r - h)
    candidate_factor: Tensor    # (n, N) (1 - r²) g
    keep: Tensor                # (n, N) 1 - g, the decay this step brings to all earlier ones
    inputs: Tensor              # (n, 2N) [x, h]


@dataclass(frozen=True)
class Memory(TensorTree):
    """The transition's recurrent memory."""

    hidden: tuple[Tensor, ...]                      # one (B, K, N) per memory
    history: tuple[tuple[TraceStep, ...], ...]      # per recurrent layer the past steps; empty unless e-prop trains

    def kept(self, bound: Tensor) -> Memory:
        """The memory of slots that hold an object (B, K); the others remember nothing."""
        return dataclasses.replace(self, hidden=tuple(hidden * bound.unsqueeze(-1) for hidden in self.hidden))


@dataclass(frozen=True)
class Registry(TensorTree):
    """Which slots are in use."""

    assigned: Tensor        # (B, K) bool: looks at a place
    bound: Tensor           # (B, K) bool: holds an object; never lost once the sequence has settled
    bound_next: Tensor     # (B, K) bool: visible in the prediction made for this frame
    visibility: Tensor      # (B, K) strongest visible mask so far, s̄
    visibility_trace: Tensor       # (B, K) leaky visibility, used while the binding strength is below 1
    countdown: Tensor       # (B,) steps until a slot may be recruited again
    settled: Tensor         # (B,) bool: the warm-up and the first step are over, bindings are final


@dataclass(frozen=True)
class LociState(TensorTree):
    """Everything that crosses a time step. Any batch size; per-element reset with `where`."""

    background: Tensor          # (B, 3, H, W) the scene without objects
    predicted: SlotCodes        # (Ĝ, P̂) for the frame to come
    next_frame: Decoded              # their decoding
    occlusion: Tensor           # (B, K) Ô predicted for the frame to come
    previous: SlotCodes         # the prediction the last step started from
    memory: Memory
    registry: Registry
    age: Tensor                 # (B,) steps consumed
    fresh: bool = True          # may any element be at its very first step? (known without looking at tensors)

    def element(self, index: int) -> LociState:
        """One stream of the batch, still with a batch axis of length 1."""
        slots = self.occlusion.shape[1]
        past = self.memory.history
        bare = dataclasses.replace(self, memory=dataclasses.replace(self.memory, history=((),) * len(past)))
        # The past is kept with batch and slots folded into one axis.
        own = slice(index * slots, (index + 1) * slots)
        history = tuple(tuple(step.map(lambda leaf: leaf[own]) for step in layer) for layer in past)
        alone = bare.map(lambda leaf: leaf[index : index + 1])
        return dataclasses.replace(alone, memory=dataclasses.replace(alone.memory, history=history))

    def where(self, condition: Tensor, other: LociState) -> LociState:
        """This state for batch elements where `condition` (B,) holds, `other` elsewhere; resets single streams."""

        def choose(ours: Any, theirs: Any) -> Any:
            if isinstance(ours, Tensor):
                return torch.where(condition.view(-1, *[1] * (ours.ndim - 1)), ours, theirs)
            if isinstance(ours, TensorTree):
                names = [f.name for f in dataclasses.fields(ours)]  # type: ignore[arg-type]
                return type(ours)(**{n: choose(getattr(ours, n), getattr(theirs, n)) for n in names})
            if isinstance(ours, tuple):
                return tuple(choose(a, b) for a, b in zip(ours, theirs, strict=True))
            return ours or theirs

        # A past that only one side has must not teach the other: its factors are zeroed where it does not belong.
        slots = self.occlusion.shape[1]
        mine, yours = condition.repeat_interleave(slots), (~condition).repeat_interleave(slots)
        joined = tuple(
            _joined_history(a, b, mine, yours)
            for a, b in zip(self.memory.history, other.memory.history, strict=True)
        )
        bare = tuple(() for _ in joined)
        chosen: LociState = choose(
            dataclasses.replace(self, memory=dataclasses.replace(self.memory, history=bare)),
            dataclasses.replace(other, memory=dataclasses.replace(other.memory, history=bare)),
        )
        return dataclasses.replace(chosen, memory=dataclasses.replace(chosen.memory, history=joined))


def _joined_history(
    ours: tuple[TraceStep, ...], theirs: tuple[TraceStep, ...], mine: Tensor, yours: Tensor
) -> tuple[TraceStep, ...]:
    """Two histories aligned at their ends (the present), each silenced where it does not belong."""

    def silenced(step: TraceStep, belongs: Tensor) -> TraceStep:
        return step.map(lambda leaf: leaf * belongs.unsqueeze(-1).to(leaf.dtype))

    length = max(len(ours), len(theirs))
    steps = []
    for back in range(length, 0, -1):
        parts = [silenced(ours[-back], mine)] if back <= len(ours) else []
        parts += [silenced(theirs[-back], yours)] if back <= len(theirs) else []
        first = parts[0]
        steps.append(first if len(parts) == 1 else TraceStep(**{
            f.name: getattr(first, f.name) + getattr(parts[1], f.name) for f in dataclasses.fields(TraceStep)
        }))
    return tuple(steps)


@dataclass(frozen=True)
class Sight(TensorTree):
    """What the eyes tell at one step, and what had been expected."""

    sensed: SlotCodes           # (G̃, P̃) from the encoder
    expected: SlotCodes         # the prediction this step started from, after recruiting
    occlusion: Tensor           # (B, K) O of the present
    bound: Tensor               # (B, K) bool: held an object when the step began
    present: Decoded | None     # the present as sensed; None where codes are lived through without pictures


@dataclass(frozen=True)
class StepOutput(TensorTree):
    """What one time step tells."""

    sensed: SlotCodes           # (G̃, P̃) from the encoder
    percept: SlotCodes          # (G, P) after the gate
    predicted: SlotCodes        # (Ĝ, P̂) for the next frame
    previous: SlotCodes         # the prediction this step started from, after recruiting
    gate: Tensor                # (B, K, 2) α: gestalt, position; 0 is pure imagination
    present: Decoded            # the present as sensed
    next_frame: Decoded              # the next frame as imagined
    occlusion: Tensor           # (B, K) O of the present, in [0, 1]
    occlusion_next: Tensor     # (B, K) Ô of the prediction
    assigned: Tensor            # (B, K) bool
    bound: Tensor               # (B, K) bool
    visibility: Tensor          # (B, K) s̄
    error: Tensor               # (B, 1, H, W) the error map the encoder saw
    slot_error: Tensor          # (B, K) S: how badly the prediction fitted this frame where the slot is seen
    objects_before: Tensor      # (B, K, 3, H, W) the own-object logits the encoder saw
    objects_after: Tensor | None  # the same of the new prediction; only made for the gestalt-change loss


def stack_in_time(outputs: Iterable[StepOutput]) -> StepOutput:
    """Outputs of successive steps as one, time at axis 1."""
    items = list(outputs)

    def stack(values: list[Any]) -> Any:
        if isinstance(values[0], Tensor):
            return torch.stack(values, dim=1)
        if isinstance(values[0], TensorTree):
            names = [f.name for f in dataclasses.fields(values[0])]  # type: ignore[arg-type]
            return type(values[0])(**{name: stack([getattr(v, name) for v in values]) for name in names})
        return values[0]

    stacked: StepOutput = stack(items)
    return stacked
