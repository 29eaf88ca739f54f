"""The `collide` scenes: CLEVRER's camera and its one grey table; things rest, slide in, bump into each other and leave.

A seed is a scene. Its clips can be written in CLEVRER's own layout with true masks (`data.formats.clevrer`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.scenes.backdrop import Backdrop, Floor, Light
from loci_looped.data.scenes.bodies import COLOURS, Body, standing
from loci_looped.data.scenes.camera import Camera, in_view
from loci_looped.data.scenes.rigid import Slider, Surface, poses, step
from loci_looped.data.scenes.world_motion import WorldMotion
from loci_looped.utils.errors import LociError

CAMERA = Camera(position=(4.330127, 0.0, 2.5), look_at=(0.0, 0.0, 0.0))     # CLEVRER's, without its jitter
HALF_EXTENT = 0.2               # of every thing
FRAMES = 128
FPS = 25.0
SUBSTEPS = 8
SURFACE = Surface()
TABLE_COLOURS = COLOURS | {"gray": (87, 87, 87)}
SHAPES = ("cube", "sphere", "cylinder")
GLOSS = {"rubber": 0.0, "metal": 0.55}
NOISE = 1 / 255                 # standard deviation of the image noise
BACKDROP = Backdrop(
    camera=CAMERA,
    floor=Floor(light=(129, 129, 129), dark=(129, 129, 129)),
    wall=None,
    lights=(
        Light((3.2, -4.2, 5.2), 0.50, radius=0.7, casts_shadow=True),   # key: near, from the left
        Light((2.0, 5.0, 3.5), 0.18, radius=0.9, casts_shadow=True),    # fill: from the right
        Light((-4.5, 1.0, 5.0), 0.12),                                  # back
    ),
    ambient=0.42,
)


@dataclass(frozen=True)
class Thing:
    """One object of the table: what it looks like, where it starts, and when and how it is set off."""

    shape: str
    colour: str
    material: str
    start: tuple[float, float]
    yaw: float = 0.0                                # radians
    velocity: tuple[float, float] = (0.0, 0.0)
    launch: int = 0                                 # frame at which it gets its velocity; it rests until then

    @property
    def name(self) -> str:
        return f"{self.colour} {self.material} {self.shape}"


@dataclass(frozen=True)
class Story:
    """What happens on the table: poses per frame, and who hits whom."""

    things: tuple[Thing, ...]
    poses: NDArray[np.float64]                      # (T, O, 6) x, y, angle and their rates of change
    collisions: tuple[tuple[int, int, int], ...]    # (frame, object, other object)

    def motion(self) -> WorldMotion:
        """In three dimensions, as CLEVRER's annotations have it."""
        def upright(columns: NDArray[np.float64], z: float) -> NDArray[np.float64]:
            return np.concatenate([columns, np.full((*columns.shape[:2], 1), z)], axis=2)

        def about_z(column: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.stack([np.zeros_like(column), np.zeros_like(column), column], axis=2)

        extents = np.full((len(self.things), 3), HALF_EXTENT)
        return WorldMotion(upright(self.poses[..., :2], HALF_EXTENT), about_z(self.poses[..., 2]),
                           upright(self.poses[..., 3:5], 0.0), about_z(self.poses[..., 5]), extents)

    def bodies(self, frame: int) -> list[Body]:
        rows = self.poses[frame].tolist()
        return [
            standing(it.shape, TABLE_COLOURS[it.colour], HALF_EXTENT, x, y, math.degrees(turn), GLOSS[it.material])
            for it, (x, y, turn, *_) in zip(self.things, rows, strict=True)
        ]


def story(seed: int) -> Story:
    """The scene of a seed: 3 to 6 things, 1 to 5 collisions (at least one in sight), everybody seen for a while."""
    if seed < 0:
        raise LociError(f"Seeds are whole numbers from 0 on, not {seed}.")
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([404, seed])))
    count = int(random.integers(3, 7))
    while True:
        drawn = run(_draw_things(random, count), FRAMES)
        seen = in_view(CAMERA, drawn.motion().locations)                     # (T, O)
        shown = [hit for hit in drawn.collisions if seen[hit[0], hit[1]] and seen[hit[0], hit[2]]]
        if shown and len(drawn.collisions) <= 5 and seen.sum(axis=0).min() >= 16:
            return drawn


def run(things: Sequence[Thing], frames: int) -> Story:
    """Let the things slide; frame 0 is the start."""
    bodies = [Slider(thing.shape == "cube", HALF_EXTENT, *thing.start, thing.yaw) for thing in things]
    rows, collisions = [], []
    last: dict[tuple[int, int], int] = {}
    for frame in range(frames):
        for thing, body in zip(things, bodies, strict=True):
            if thing.launch == frame and any(thing.velocity):
                body.vx, body.vy = thing.velocity
        rows.append(poses(bodies))
        for _ in range(SUBSTEPS):
            for i, j, speed in step(bodies, SURFACE, 1 / FPS / SUBSTEPS):
                # Things that stay together after a bump have not collided again.
                if speed > 0.02 and frame - last.get((i, j), -100) > 12 and frame + 1 < frames:
                    collisions.append((frame + 1, i, j))
                if speed > 0:
                    last[i, j] = frame
    return Story(tuple(things), np.stack(rows), tuple(collisions))


def _draw_things(random: np.random.Generator, count: int) -> list[Thing]:
    """Some at rest in view, the others outside, each aimed at a resting one or at the middle."""
    looks = _draw_looks(random, count)
    resting = int(random.integers(1, max(2, count - 1)))
    places = _draw_places(random, resting)
    # In half of the scenes all are there within a third of the time: those give SlotFormer's evaluation clips.
    latest = 20 if random.random() < 0.5 else 70
    things = []
    for index, (shape, colour, material) in enumerate(looks):
        yaw = float(random.uniform(0, math.pi / 2))
        if index < resting:
            things.append(Thing(shape, colour, material, places[index], yaw))
            continue
        start = _draw_entrance(random)
        aim = places[int(random.integers(resting))] if random.random() < 0.7 else (
            float(random.uniform(-1.2, 0.8)), float(random.uniform(-0.9, 0.9)))
        aim = aim[0] + float(random.normal(0, 0.12)), aim[1] + float(random.normal(0, 0.12))
        way = math.atan2(aim[1] - start[1], aim[0] - start[0])
        speed = float(random.uniform(1.5, 3.0))
        things.append(Thing(shape, colour, material, start, yaw, (speed * math.cos(way), speed * math.sin(way)),
                            launch=int(random.integers(0, 6 if index == resting else latest))))
    return things


def _draw_looks(random: np.random.Generator, count: int) -> list[tuple[str, str, str]]:
    """Different combinations of shape, colour and material."""
    chosen: list[tuple[str, str, str]] = []
    while len(chosen) < count:
        look = (str(random.choice(SHAPES)), str(random.choice(list(TABLE_COLOURS))), str(random.choice(list(GLOSS))))
        if look not in chosen:
            chosen.append(look)
    return chosen


def _draw_places(random: np.random.Generator, count: int) -> list[tuple[float, float]]:
    """On the table, with room between them."""
    places: list[tuple[float, float]] = []
    while len(places) < count:
        spot = float(random.uniform(-1.8, 1.0)), float(random.uniform(-1.3, 1.3))
        if all(math.dist(spot, other) > 0.7 for other in places):
            places.append(spot)
    return places


def _draw_entrance(random: np.random.Generator) -> tuple[float, float]:
    """Outside the image, on the left, on the right, or (seldom) towards the camera."""
    x = float(random.uniform(-2.2, 1.0))
    if random.random() < 0.12:
        return 2.75 + float(random.uniform(0, 0.3)), float(random.uniform(-0.8, 0.8))
    away = 0.866 * (4.330127 - x) + 0.5 * 2.5 - 0.5 * HALF_EXTENT          # depth of the place
    edge = 240 / 525 * away + HALF_EXTENT * 1.6 + 0.6 + float(random.uniform(0, 0.25))    # its shadow waits outside too
    return x, edge if random.random() < 0.5 else -edge
