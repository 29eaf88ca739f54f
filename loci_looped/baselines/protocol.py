"""What every video model of the experiments must be able to do: begin, and take one time step.

    state = model.initial(background)
    state, slots = model.step(frame, state)

All that changes in time is in the state, so a model can watch many films at once and be set back at any moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from torch import Tensor

from loci_looped.utils.errors import LociError

State = TypeVar("State")


@dataclass(frozen=True)
class Expectation:
    """What the model expects to see in the next frame."""

    frame: Tensor                                # (B, 3, H, W) in [0, 1]
    visible_masks_with_background: Tensor        # (B, K + 1, H, W) sums to 1 over the slots; the background is last
    object_masks: Tensor | None = None           # (B, K, H, W) the whole objects, as if nothing stood before them

    @property
    def visible_masks(self) -> Tensor:
        """(B, K, H, W) without the background."""
        return self.visible_masks_with_background[:, :-1]


@dataclass(frozen=True)
class Slots:
    """What the model believes about its K slots at the frame just given. None is for what a model does not know."""

    positions: Tensor                            # (B, K, 2) y, x in [-1, 1] from first to last pixel centre
    presence: Tensor                             # (B, K) bool: the slot holds an object, seen or not
    visible_masks: Tensor                        # (B, K, H, W) in [0, 1]: what can be seen of it
    object_masks: Tensor | None = None           # (B, K, H, W) in [0, 1]: the whole object
    occlusion: Tensor | None = None              # (B, K) in [0, 1]: the hidden share, 1 if nothing can be seen
    gate: Tensor | None = None                   # (B, K, 2) in [0, 1]: gestalt and position; 0 is pure imagination
    expectation: Expectation | None = None       # of the next frame
    believed_masks: Tensor | None = None         # (B, K, H, W) in [0, 1]: each object painted alone, as held to be now
    surprise: Tensor | None = None               # (B, K) in bits: how unusual what happens to its object is
    unexpected: Tensor | None = None             # (B,) in bits: how unusual what is there and nobody expected is

    def __post_init__(self) -> None:
        batch, slots = self.presence.shape[:2]
        size = self.visible_masks.shape[-2:]
        expected = {
            "positions": (batch, slots, 2), "occlusion": (batch, slots), "gate": (batch, slots, 2),
            "visible_masks": (batch, slots, *size), "object_masks": (batch, slots, *size),
            "believed_masks": (batch, slots, *size), "surprise": (batch, slots), "unexpected": (batch,),
        }
        for name, shape in expected.items():
            value: Tensor | None = getattr(self, name)
            if value is not None and tuple(value.shape) != shape:
                raise LociError(f"Slots need {name} of shape {shape}, but they are {tuple(value.shape)}.")

    @property
    def hidden(self) -> Tensor:
        """(B, K) bool: the model itself believes that nothing of the slot's object can be seen."""
        if self.occlusion is None:
            return self.presence & False
        return self.presence & (self.occlusion >= 1)


@runtime_checkable
class VideoModel(Protocol[State]):
    """A model that watches films with a still camera. `isinstance` asks only whether both methods are there."""

    def initial(self, background: Tensor) -> State:
        """The state before the first frame; background (B, 3, H, W) in [0, 1] is the scene without objects."""
        ...

    def step(
        self, frame: Tensor | None, state: State, *, blackout: Tensor | None = None
    ) -> tuple[State, Slots]:
        """Take one time step.

        frame (B, 3, H, W) in [0, 1]; None asks the model to imagine, with its senses shut.
        blackout (B,) bool: these films go dark for this step. The model gets a black frame and no other hint (its error
        map must be zero), and has to notice by itself.
        """
        ...
