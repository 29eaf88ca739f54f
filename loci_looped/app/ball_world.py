"""Bouncing balls in the lab: places and velocities in pixels of G-SWM's 64 x 64 box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from loci_looped.app.playback import Picture, Playback, Size, jpeg
from loci_looped.app.things import Description, read_things
from loci_looped.configs.scenes import BallsScenario
from loci_looped.data.clip import ObjectTruth
from loci_looped.data.coordinates import resize
from loci_looped.data.render import sprite
from loci_looped.data.render.balls_render import render_balls
from loci_looped.data.scenes.balls import (
    CANVAS,
    FRAMES,
    PALETTE,
    SCENARIOS,
    Balls,
    colour_name,
    run,
    same_layer_pairs,
    simulate,
)
from loci_looped.utils.errors import LociError

SCENES: dict[str, BallsScenario] = {"collide": "interaction", "pass": "occlusion"}
"""What the balls do when they meet, as the page says it."""
FPS = 12.0
FASTEST = 6.0           # pixels per frame
EXAMPLES = ("head-on", "three balls", "balls that pass")


@dataclass(frozen=True)
class BallsPlayback:
    balls: Balls            # from frame `since` on
    since: int
    meeting: str            # collide or pass
    size: Size
    view_size: int

    @property
    def length(self) -> int:
        return FRAMES

    @property
    def fps(self) -> float:
        return FPS

    @cached_property
    def background(self) -> Picture:
        return np.zeros((*self.size, 3), dtype=np.uint8)

    def shot(self, number: int) -> tuple[Picture, ObjectTruth | None]:
        clip = render_balls(self._at(number))
        return resize(np.asarray(clip.frames[0]), self.size), clip.truth

    def view(self, number: int) -> bytes:
        """Drawn anew at a size for people; the network's picture enlarged would be all steps."""
        balls, scale = self._at(number), self.view_size / CANVAS
        opacity = np.stack([
            sprite.alphas(scale * balls.positions[:, m], scale * balls.radii[m], (self.view_size, self.view_size))
            for m in range(len(balls.radii))
        ], 1)
        return jpeg(sprite.paint(opacity, balls.colours, balls.layers)[0])

    def things(self, number: int) -> list[Description]:
        balls = self._at(number)
        return [
            {"place": [round(float(v), 3) for v in balls.positions[0, m]],
             "velocity": [round(float(v), 3) for v in balls.velocities[0, m]]}
            for m in range(len(balls.radii))
        ]

    def _at(self, number: int) -> Balls:
        """One frame."""
        at = min(max(0, number - self.since), len(self.balls.positions) - 1)
        now = slice(at, at + 1)
        return Balls(self.balls.positions[now], self.balls.velocities[now], self.balls.colours, self.balls.radii,
                     self.balls.masses, self.balls.layers)


class BallWorld:
    name = "balls"

    def __init__(self, size: Size, slots: int, view: Size):
        if size[0] != size[1]:
            raise LociError(
                f"Balls live in a square box, and this network sees {size[0]} x {size[1]} pixels: open a network of "
                "the balls with --network."
            )
        self.size, self.most, self.view_size = size, min(slots, 6), view[1]

    def facts(self) -> dict[str, Any]:
        return {
            "examples": list(EXAMPLES), "most": self.most, "called": "ball", "box": CANVAS,
            "radius": SCENARIOS["interaction"].radius, "fastest": FASTEST, "frames": FRAMES,
            "looks": {}, "colours": {name: list(value) for name, value in PALETTE.items()},
            "meetings": list(SCENES), "opening": self.example(EXAMPLES[0], 0),
        }

    def example(self, name: str, seed: int) -> Description:
        if name not in EXAMPLES:
            raise LociError(f"There is no example {name[:40]!r}. Choose one of: {', '.join(EXAMPLES)}.")
        if name == EXAMPLES[0]:
            places, speeds = [(16.0, 24.0), (48.0, 26.0), (30.0, 50.0)], [(2.6, 0.6), (-2.4, 0.0), (1.0, -2.2)]
            colours = ["yellow", "aqua", "fuchsia"]
        else:
            balls = simulate("interaction" if name == "three balls" else "occlusion", seed, frames=1)
            places, speeds = [tuple(p) for p in balls.positions[0]], [tuple(v) for v in balls.velocities[0]]
            colours = [colour_name(colour) for colour in balls.colours]
        things = [
            {"place": list(place), "velocity": list(speed), "colour": colour}
            for place, speed, colour in zip(places[:self.most], speeds, colours, strict=False)
        ]
        return {"things": things, "since": 0, "meeting": "pass" if name == EXAMPLES[2] else "collide"}

    def playback(self, description: object) -> BallsPlayback:
        since, things, _ = read_things(
            description, most=self.most, frames=FRAMES, farthest=float(CANVAS), fastest=FASTEST,
            looks={"colour": PALETTE}, called="balls",
        )
        meeting = description.get("meeting", "collide") if isinstance(description, dict) else ""
        if meeting not in SCENES:
            raise LociError(f"Balls that meet {' or '.join(SCENES)}.")
        rules = SCENARIOS[SCENES[meeting]]
        count, radius = len(things), rules.radius
        start = np.array([thing.place for thing in things]).clip(radius, CANVAS - radius)
        layers, radii = np.zeros(count, dtype=np.int64), np.full(count, radius)
        apart = np.linalg.norm(start[:, None] - start[None], axis=-1) + 1e3 * np.eye(count)
        if rules.collide and apart.min() < 2 * radius - 1:
            raise LociError("Two balls are in the same place: pull them apart, or let balls pass each other.")
        pairs = same_layer_pairs(layers) if rules.collide else []
        speeds = np.array([thing.velocity for thing in things])
        path, velocities, contacts = run(start, speeds, radii, np.ones(count), pairs, FRAMES - since)
        colours = np.array([PALETTE[thing.looks["colour"]] for thing in things], dtype=np.uint8)
        balls = Balls(path, velocities, colours, radii, np.ones(count), layers, contacts)
        return BallsPlayback(balls, since, meeting, self.size, self.view_size)

    def preview(self, description: object, frame: int, *, rough: bool) -> bytes:
        del rough                       # balls are drawn at once
        return self.playback(description).view(frame)

    def same_surroundings(self, before: Playback, after: Playback) -> bool:
        return isinstance(before, BallsPlayback) and isinstance(after, BallsPlayback)
