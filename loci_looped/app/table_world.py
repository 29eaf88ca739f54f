"""The `collide` table in the lab: things that slide and bump into each other; places in the world's own units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from loci_looped.app.playback import Picture, Playback, Size, jpeg
from loci_looped.app.things import Description, read_things
from loci_looped.app.wire import numbers
from loci_looped.data.clip import ObjectTruth
from loci_looped.data.render.collide_render import background, render_story, table_tint
from loci_looped.data.render.draw import draw, quantised
from loci_looped.data.scenes.camera import REFERENCE_WIDTH
from loci_looped.data.scenes.collide import (
    BACKDROP,
    CAMERA,
    FPS,
    FRAMES,
    GLOSS,
    HALF_EXTENT,
    SHAPES,
    TABLE_COLOURS,
    Story,
    Thing,
    run,
    story,
)
from loci_looped.utils.errors import LociError

STRIDE = 2              # every second frame, as the networks are trained
FARTHEST, FASTEST = 6.0, 4.0
EXAMPLES = ("one pushes another", "collisions")
LOOKS = {"shape": SHAPES, "colour": tuple(TABLE_COLOURS), "material": tuple(GLOSS)}


@dataclass(frozen=True)
class TablePlayback:
    story: Story            # from frame `since` of the film on
    since: int
    size: Size
    view_size: Size

    @property
    def length(self) -> int:
        return FRAMES // STRIDE

    @property
    def fps(self) -> float:
        return FPS / STRIDE

    @cached_property
    def background(self) -> Picture:
        return background(self.size)

    def shot(self, number: int) -> tuple[Picture, ObjectTruth | None]:
        clip = render_story(self.story, self.size, [self._row(number)])
        return np.asarray(clip.frames[0]), clip.truth

    def view(self, number: int) -> bytes:
        return self.picture(number, samples=1 if number else 3)

    def picture(self, number: int, samples: int) -> bytes:
        drawn = draw(BACKDROP, self.story.bodies(self._row(number)), self.view_size, samples)
        return jpeg(quantised(drawn.image * table_tint(self.view_size)))

    def things(self, number: int) -> list[Description]:
        row = self._row(number)
        told = []
        for thing, (x, y, turn, vx, vy, _) in zip(self.story.things, self.story.poses[row].tolist(), strict=True):
            waits = max(0, thing.launch - row) if any(thing.velocity) else 0
            velocity = thing.velocity if waits else (vx, vy)
            told.append({
                "place": [round(x, 4), round(y, 4)], "yaw": round(turn, 4), "waits": waits,
                "velocity": [round(value, 4) for value in velocity],
            })
        return told

    def _row(self, number: int) -> int:
        return min(max(0, STRIDE * (number - self.since)), len(self.story.poses) - 1)


class TableWorld:
    name = "collide"

    def __init__(self, size: Size, slots: int, view: Size):
        self.size, self.most, self.view_size = size, min(slots, 6), view

    def facts(self) -> dict[str, Any]:
        return {
            "examples": list(EXAMPLES), "most": self.most, "called": "thing", "radius": HALF_EXTENT,
            "fastest": FASTEST, "frames": FRAMES // STRIDE,
            "looks": {name: list(values) for name, values in LOOKS.items() if name != "colour"},
            "colours": {name: list(value) for name, value in TABLE_COLOURS.items()}, "meetings": [],
            "camera": {"position": list(CAMERA.position), "axes": CAMERA.axes().tolist(),
                       "focal": CAMERA.focal / REFERENCE_WIDTH},
            "opening": self.example(EXAMPLES[0], 0),
        }

    def example(self, name: str, seed: int) -> Description:
        if name not in EXAMPLES:
            raise LociError(f"There is no example {name[:40]!r}. Choose one of: {', '.join(EXAMPLES)}.")
        if name == EXAMPLES[0]:
            things: tuple[Thing, ...] = (
                Thing("cube", "yellow", "rubber", (-0.3, 0.35), 0.4),
                Thing("sphere", "cyan", "metal", (-0.6, -2.2), 0.0, (0.1, 1.7), launch=12),
                Thing("cylinder", "red", "rubber", (0.5, 1.0)),
            )
        else:
            things = story(seed).things
        return {"since": 0, "things": [
            {"place": list(it.start), "velocity": list(it.velocity), "yaw": it.yaw, "waits": it.launch,
             "shape": it.shape, "colour": it.colour, "material": it.material} for it in things[: self.most]
        ]}

    def playback(self, description: object) -> TablePlayback:
        since, things, entries = read_things(
            description, most=self.most, frames=FRAMES // STRIDE, farthest=FARTHEST, fastest=FASTEST, looks=LOOKS,
            called="things",
        )
        drawn = []
        for thing, entry in zip(things, entries, strict=True):
            yaw, waits = numbers([entry.get("yaw", 0.0), entry.get("waits", 0)], 2, 1000.0, "yaw and waits")
            drawn.append(Thing(
                thing.looks["shape"], thing.looks["colour"], thing.looks["material"], thing.place, yaw,
                thing.velocity, launch=max(0, int(waits)),
            ))
        return TablePlayback(run(drawn, FRAMES - STRIDE * since), since, self.size, self.view_size)

    def preview(self, description: object, frame: int, *, rough: bool) -> bytes:
        return self.playback(description).picture(frame, samples=1 if rough else 3)

    def same_surroundings(self, before: Playback, after: Playback) -> bool:
        return isinstance(before, TablePlayback) and isinstance(after, TablePlayback)

