"""A scene as a description: who moves where, what the screen does, what impossible thing happens and when.

Drawing scenes at random is `vanish`'s business, turning them into pictures that of `scene_render`.
Times are seconds, places are world units (x towards the camera, y to the right), angles are degrees.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from loci_looped.configs.scenes import VIOLATIONS, ViolationKind
from loci_looped.data.clip import ObjectKind
from loci_looped.data.scenes.backdrop import Backdrop
from loci_looped.data.scenes.bodies import COLOURS, EXTENTS, SHAPES, Body, hinged_screen, standing
from loci_looped.utils.errors import LociError

Keyframes = tuple[tuple[float, float], ...]         # (time, value), linear in between, constant outside

ANGULAR = ("cube", "truck", "boot")                  # shapes whose extent depends on where they are turned


def at_time(keyframes: Keyframes, time: float) -> float:
    """The value of a piecewise linear course."""
    if not keyframes:
        return 0.0
    if time <= keyframes[0][0]:
        return keyframes[0][1]
    for (before, low), (after, high) in pairwise(keyframes):
        if time < after:
            return low + (high - low) * (time - before) / (after - before)
    return keyframes[-1][1]


@dataclass(frozen=True)
class Mover:
    """An object that slides over the floor at constant velocity, except where `turns` say otherwise."""

    shape: str
    colour: str
    size: float                                     # half extent
    start: tuple[float, float]                      # (x, y) at time 0
    velocity: tuple[float, float]                   # (x, y) per second
    yaw: float = 0.0
    turns: tuple[tuple[float, tuple[float, float]], ...] = ()   # (time, velocity from then on), in order of time
    present: tuple[float | None, float | None] = (None, None)   # in the world from .. until (excluded); None: always

    def __post_init__(self) -> None:
        _known("shape", self.shape, SHAPES)
        _known("colour", self.colour, COLOURS)
        if not 0 < self.size <= 3:
            raise LociError(f"A mover's size is its half extent, between 0 and 3 world units, not {self.size}.")
        _in_order("mover's turns", [time for time, _ in self.turns])

    def place(self, time: float) -> tuple[float, float]:
        """(x, y) on the floor."""
        (x, y), (vx, vy), clock = self.start, self.velocity, 0.0
        for moment, velocity in self.turns:
            if moment >= time:
                break
            x, y, clock = x + vx * (moment - clock), y + vy * (moment - clock), moment
            vx, vy = velocity
        return x + vx * (time - clock), y + vy * (time - clock)

    def is_present(self, time: float) -> bool:
        first, last = self.present
        return (first is None or time >= first) and (last is None or time < last)

    def body(self, time: float) -> Body:
        x, y = self.place(time)
        return standing(self.shape, COLOURS[self.colour], self.size, x, y, self.yaw)

    def reach(self) -> float:
        """Radius of the circle on the floor that holds the mover whatever its yaw."""
        across, along, _ = EXTENTS[self.shape]
        return self.size * (math.hypot(across, along) if self.shape in ANGULAR else max(across, along))

    def half_extent(self, axis: Literal["x", "y"]) -> float:
        """How far the mover extends along an axis of the floor, turned as it is."""
        if self.shape not in ANGULAR:
            return self.reach()
        across, along, _ = EXTENTS[self.shape]
        c, s = abs(math.cos(math.radians(self.yaw))), abs(math.sin(math.radians(self.yaw)))
        return self.size * (across * c + along * s if axis == "x" else across * s + along * c)


@dataclass(frozen=True)
class Screen:
    """A panel on a hinge at the floor: it stands, falls (angle 90: towards the camera), rises or slides."""

    x: float
    y: float
    half_width: float
    half_height: float
    colour: str
    yaw: float = 0.0
    angle: Keyframes = ((0.0, 0.0),)                # 0 is upright
    slide: Keyframes = ((0.0, 0.0),)                # offset along its own width

    def __post_init__(self) -> None:
        _known("colour", self.colour, COLOURS)
        if self.half_width <= 0 or self.half_height <= 0:
            raise LociError("A screen needs a positive half width and half height.")
        _in_order("screen's angle", [time for time, _ in self.angle])
        _in_order("screen's slide", [time for time, _ in self.slide])

    def body(self, time: float) -> Body:
        upright = hinged_screen(COLOURS[self.colour], self.x, self.y, self.half_width, self.half_height, self.yaw,
                                at_time(self.angle, time))
        offset = at_time(self.slide, time)
        if offset == 0:
            return upright
        along = upright.rotation[:, 1]              # the hinge's direction
        return replace(upright, origin=(self.x + offset * float(along[0]), self.y + offset * float(along[1]), 0.0))

    def falls_at(self) -> float | None:
        """When it leaves the upright for the last time, if it ends lying down."""
        if not self.angle or abs(self.angle[-1][1]) < 45:
            return None
        upright = [time for time, value in self.angle if value == 0]
        return upright[-1] if upright else None


@dataclass(frozen=True)
class Violation:
    """Something that cannot happen, done to one mover at a moment. What is not needed for the kind is ignored."""

    kind: ViolationKind
    time: float
    mover: int = 0
    jump: tuple[float, float] = (0.0, 0.0)          # teleport: added to (x, y)
    colour: str | None = None                       # colour: the new one
    shape: str | None = None                        # shape: the new one

    def __post_init__(self) -> None:
        _known("violation", self.kind, VIOLATIONS)
        if self.kind == "colour":
            _known("new colour", self.colour, COLOURS)
        if self.kind == "shape":
            _known("new shape", self.shape, SHAPES)

    def change(self, mover: Mover, time: float) -> Mover:
        """The mover as the violation leaves it at this time. Before the moment nothing is different."""
        if self.kind == "appear":
            return replace(mover, present=(self.time, None))
        if time < self.time:
            return mover
        if self.kind == "vanish":
            return replace(mover, present=(mover.present[0], self.time))
        if self.kind == "teleport":
            return replace(mover, start=(mover.start[0] + self.jump[0], mover.start[1] + self.jump[1]))
        if self.kind == "colour":
            return replace(mover, colour=self.colour or mover.colour)
        if self.kind == "shape":
            return replace(mover, shape=self.shape or mover.shape)
        earlier = tuple(turn for turn in mover.turns if turn[0] < self.time)
        if self.kind == "stop":
            return replace(mover, turns=(*earlier, (self.time, (0.0, 0.0))))
        return replace(mover, turns=earlier)        # pass: straight on, whatever should have turned it back


@dataclass(frozen=True)
class Scene:
    """Everything needed to film it: the same description gives the same pictures at any size."""

    movers: tuple[Mover, ...]
    screen: Screen | None = None
    backdrop: Backdrop = field(default_factory=Backdrop)
    violation: Violation | None = None
    collisions: tuple[tuple[float, int], ...] = ()  # (time, mover) where `turns` are bounces
    num_frames: int = 125
    fps: float = 25.0
    noise: float = 3 / 255                          # standard deviation of the image noise
    noise_seed: int = 0

    def __post_init__(self) -> None:
        if self.violation is not None and not 0 <= self.violation.mover < len(self.movers):
            raise LociError(f"The violation names mover {self.violation.mover}, but the scene has {len(self.movers)}.")
        if self.fps <= 0 or self.num_frames < 1 or self.noise < 0:
            raise LociError("A scene needs at least one frame, positive frames per second, and noise of 0 or more.")

    def mover(self, index: int, time: float) -> Mover:
        """The mover as it is at this time, violation included."""
        mover, violation = self.movers[index], self.violation
        return violation.change(mover, time) if violation is not None and violation.mover == index else mover

    def names(self) -> tuple[str, ...]:
        movers = tuple(f"{mover.colour} {mover.shape}" for mover in self.movers)
        return (*movers, f"{self.screen.colour} screen") if self.screen else movers

    def kinds(self) -> tuple[ObjectKind, ...]:
        movers: list[ObjectKind] = ["mover" for _ in self.movers]
        return (*movers, "screen") if self.screen else tuple(movers)

    def bodies(self, time: float) -> list[Body | None]:
        """One per object, movers first, then the screen; None for what is not in the world."""
        movers = [self.mover(index, time) for index in range(len(self.movers))]
        bodies: list[Body | None] = [mover.body(time) if mover.is_present(time) else None for mover in movers]
        return [*bodies, self.screen.body(time)] if self.screen else bodies


def _in_order(what: str, times: list[float]) -> None:
    if any(later <= earlier for earlier, later in pairwise(times)):
        raise LociError(f"The moments of a {what} must come one after the other, but they are {times}.")


def _known(what: str, name: str | None, names: Collection[str]) -> None:
    if name not in names:
        raise LociError(f"There is no {what} {name!r}. Choose one of: {', '.join(names)}.")
