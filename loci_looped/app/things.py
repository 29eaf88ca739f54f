"""What the worlds without a screen have in common: a few things with a place and a speed, from some frame on.

A description says how things are at frame `since` of the film; what happens then follows from the world's laws. So a
user can take hold of a thing in the middle of a film: the page is told where everything is in each frame, and sends
back how it should be from now on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from loci_looped.app.playback import Playback
from loci_looped.app.wire import numbers
from loci_looped.utils.errors import LociError

Description = dict[str, Any]


class LabWorld(Protocol):
    """A kind of scenes that the lab can draw, let run, and change while it runs."""

    name: str

    def facts(self) -> dict[str, Any]:
        """What the page needs to know to draw and edit its scenes."""

    def example(self, name: str, seed: int) -> Description:
        """A scene to begin with."""

    def playback(self, description: object) -> Playback:
        """The film of a description from outside, or a sentence about what is wrong with it."""

    def preview(self, description: object, frame: int, *, rough: bool) -> bytes:
        """A picture of one frame for people, JPEG."""

    def same_surroundings(self, before: Playback, after: Playback) -> bool:
        """May the one become the other while it runs?"""


@dataclass(frozen=True)
class Moving:
    """One thing at frame `since`, as the page describes it."""

    place: tuple[float, float]
    velocity: tuple[float, float]
    looks: dict[str, str]


def read_things(
    description: object, *, most: int, frames: int, farthest: float, fastest: float,
    looks: Mapping[str, Collection[str]], called: str,
) -> tuple[int, list[Moving], list[Description]]:
    """(since, things, the entries as they came); everything else is refused with a sentence."""
    if not isinstance(description, dict):
        raise LociError(f"A scene is an object with its {called}.")
    entries = description.get("things")
    if not isinstance(entries, list) or not 1 <= len(entries) <= most or not all(isinstance(e, dict) for e in entries):
        raise LociError(f"A scene of this lab has 1 to {most} {called}: the network has a slot for each of them.")
    (since,) = numbers([description.get("since", 0)], 1, float(frames - 1), "since")
    if since < 0:
        raise LociError("A film begins with frame 0.")
    things = []
    for entry in entries:
        place = numbers(entry.get("place"), 2, farthest, "place")
        velocity = numbers(entry.get("velocity"), 2, fastest, "velocity")
        chosen = {}
        for name, known in looks.items():
            if entry.get(name) not in known:
                raise LociError(f"The {name} of one of the {called} is not one of {', '.join(known)}.")
            chosen[name] = str(entry[name])
        things.append(Moving((place[0], place[1]), (velocity[0], velocity[1]), chosen))
    return int(since), things, entries
