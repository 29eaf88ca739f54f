"""Sizes and constants of G-SWM, with the paper's variants and a small one as presets. Pure Python."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from loci_looped.utils.errors import LociError

BackgroundKind = Literal["none", "learned", "given"]
TrunkNorm = Literal["batch", "group"]

GLIMPSE = 16
"""Pixels on a side of every glimpse: four halvings down to one number per channel."""
TRUNK_STRIDE = 8
CONTEXT_STRIDE = 16


@dataclass(frozen=True)
class GswmConfig:
    """Everything a G-SWM is made of. Frames are square."""

    frame: int = 64
    """Pixels on a side."""
    cells: int = 4
    """G: new objects are looked for on a grid of G x G cells."""
    max_objects: int = 10
    """K: so many objects are kept, those with the highest presence."""
    what: int = 64
    """Numbers that tell what an object looks like."""
    dynamics: int = 128
    """Numbers that tell how an object goes on, from which its other attributes follow."""
    hidden: int = 128
    """Width of recurrent memories, of features and of the perceptrons' layers."""
    glimpse_channels: int = 128
    """Channels of a glimpse once it is one pixel small."""
    trunk_channels: int = 64
    """Channels of the discovery encoder's first stage; they double twice."""
    trunk_norm: TrunkNorm = "batch"
    """"batch" as the authors do; "group" makes training and use the same with few clips at a time."""
    background: BackgroundKind = "none"
    """"none": black; "learned": a recurrent auto-encoder; "given": the scene without objects, as for ADEPT."""
    context: int = 128
    """Numbers that tell the learned background."""
    context_channels: int = 64
    """Channels of the learned background's first layer; they double three times."""

    pixel_std: float = 0.2
    """σ of the likelihood: smaller values weigh pixels higher against the KL terms."""
    presence_prior: float = 1e-10
    """Probability of an object in a cell: tiny, so that explaining with few objects pays."""
    scale_prior_start: float = -1.5
    scale_prior_end: float = -1.5
    """Mean of a new object's scale, before the sigmoid; it moves from start to end."""
    scale_prior_updates: int = 10_000
    scale_prior_std: float = 0.1
    presence_kl: bool = True
    """Objects that go on pay for being present as new ones do (an auxiliary term of the authors)."""
    temperature: float = 1.0
    """τ of the relaxed Bernoulli draws of presence."""
    discovery_dropout: float = 0.5
    """How often a training step looks for no new objects, so that old ones must be followed."""

    scale_step: float = 0.1
    shift_step: float = 0.2
    depth_step: float = 1.0
    what_step: float = 0.2
    """The farthest an attribute can move in a step (the typical distance for depth)."""
    proposal_min: float = 0.0
    proposal_max: float = 0.2
    """An object is looked for in its last box, made larger by something between the two."""
    rejection_overlap: float = 0.8
    """A new box that overlaps an old object's by more (intersection over union) is no new object."""
    map_std: float = 0.1
    """Spread of an object on the map that tells discovery what is known already."""
    background_margin: float = 0.25
    """The object sees the background in its own box, made larger by this."""

    def __post_init__(self) -> None:
        counts = (
            "cells", "max_objects", "what", "dynamics", "hidden", "trunk_channels", "context", "context_channels",
            "scale_prior_updates",
        )
        for name in counts:
            if getattr(self, name) < 1:
                raise LociError(f"{name} is {getattr(self, name)}, but G-SWM needs at least 1.")
        if self.glimpse_channels < 8 or self.glimpse_channels % 8:
            raise LociError(f"glimpse_channels is {self.glimpse_channels}: it is halved three times, 8 must divide it.")
        for name in ("hidden", "glimpse_channels", "trunk_channels", "context_channels"):
            width = getattr(self, name)
            if width > 16 and width % 16:
                raise LociError(f"{name} is {width}: above 16 it must be a multiple of 16, the size of a norm's group.")
        if self.frame < CONTEXT_STRIDE or self.frame % CONTEXT_STRIDE:
            raise LociError(f"frame is {self.frame}, but it must be a multiple of {CONTEXT_STRIDE} pixels.")
        if self.frame % (TRUNK_STRIDE * self.cells):
            fitting = [str(n) for n in range(1, self.frame // TRUNK_STRIDE + 1) if self.frame % (TRUNK_STRIDE * n) == 0]
            raise LociError(
                f"{self.cells} x {self.cells} cells do not divide frames of {self.frame} x {self.frame} pixels: "
                f"cells can be {', '.join(fitting)}."
            )
        for name in ("pixel_std", "scale_prior_std", "temperature", "map_std"):
            if not getattr(self, name) > 0:
                raise LociError(f"{name} is {getattr(self, name)}, but it must be above 0.")
        if not 0 < self.presence_prior < 1:
            raise LociError(f"presence_prior is {self.presence_prior}, but it must be a probability between 0 and 1.")
        if not 0 <= self.discovery_dropout <= 1:
            raise LociError(f"discovery_dropout is {self.discovery_dropout}, but it must be a probability.")
        if not 0 <= self.proposal_min <= self.proposal_max:
            raise LociError(
                f"proposal_min is {self.proposal_min} and proposal_max {self.proposal_max}, but they must not be "
                "negative, and in this order."
            )

    @property
    def vector(self) -> int:
        """Numbers per object: presence, depth, four of where, what, dynamics."""
        return 6 + self.what + self.dynamics

    def scale_prior_mean(self, update: int) -> float:
        """Mean of the scale prior at this update."""
        done = min(max(update / self.scale_prior_updates, 0.0), 1.0)
        return self.scale_prior_start + done * (self.scale_prior_end - self.scale_prior_start)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> GswmConfig:
        """The inverse of `to_json`; an unknown field is named together with the nearest known one."""
        _check_fields("G-SWM's configuration", values, GswmConfig)
        return GswmConfig(**values)


def _check_fields(where: str, values: Any, part: type) -> None:
    if not isinstance(values, dict):
        raise LociError(f"{where} must be a JSON object, but it is {type(values).__name__}.")
    hints = get_type_hints(part)
    for name, value in values.items():
        if name not in hints:
            near = difflib.get_close_matches(name, hints, n=1)
            raise LociError(f"{where} has no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else "."))
        hint = hints[name]
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise LociError(f"{where} says {name} = {value!r}; it must be one of {', '.join(get_args(hint))}.")
        wanted = {int: (int,), float: (int, float), bool: (bool,)}.get(hint)
        if wanted is not None and type(value) not in wanted:
            raise LociError(f"{where} says {name} = {value!r}, but it must be of type {hint.__name__}.")


_OBJ3D = GswmConfig(
    background="learned", pixel_std=0.1, scale_prior_end=-1.75, scale_step=0.3, shift_step=0.6, proposal_min=0.1,
    proposal_max=0.3,
)

PRESETS: dict[str, GswmConfig] = {
    "gswm-balls": GswmConfig(),
    "gswm-obj3d": _OBJ3D,
    "gswm-adept": dataclasses.replace(_OBJ3D, background="given"),
    # The authors' balls model at a size for two cores.
    "gswm-balls-small": GswmConfig(
        max_objects=6, what=32, dynamics=64, hidden=64, glimpse_channels=64, trunk_channels=16, trunk_norm="group",
        pixel_std=0.1,
    ),
    # Movers are small: with the published prices of presence and of pixels a short training leaves them out.
    "gswm-small": dataclasses.replace(
        _OBJ3D, background="given", max_objects=7, what=32, dynamics=64, hidden=64, glimpse_channels=64,
        trunk_channels=16, trunk_norm="group", pixel_std=0.05, presence_prior=1e-3,
    ),
}
"""The authors' balls and OBJ3D models; the latter with a given background, as used for ADEPT; ours for two cores."""


def preset(name: str) -> GswmConfig:
    """A named G-SWM; an unknown name is answered with the nearest ones."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=2)
        raise LociError(
            f"There is no G-SWM called {name!r}. "
            + (f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(PRESETS)}.")
        )
    return PRESETS[name]
