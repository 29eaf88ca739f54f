"""What happens in an ADEPT video: the events our writer stores, or those the release's own annotation shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from loci_looped.data.clip import Event, ObjectTruth
from loci_looped.data.events import hiding, presence
from loci_looped.data.formats.geometry import euler
from loci_looped.utils.errors import LociError

# The test cases, and the indices in which something impossible happens; the other indices are controls.
SURPRISING: dict[str, tuple[int, ...]] = {
    "disappear_fixed": (1,), "disappear": (2,), "overturn": (0, 3), "discontinuous": (1, 2), "delay": (1,),
    "block": (1,),
}


def is_surprising(case_name: str) -> bool:
    """Is this one of the test scenes with a violation? Names look like human_disappear_fixed_Cube_1."""
    case = next((name for name in SURPRISING if f"{name}_" in f"{case_name}_"), None)     # the longer name comes first
    index = case_name.rpartition("_")[2]
    return case is not None and index.isdigit() and int(index) in SURPRISING[case]


def stored_events(annotation: dict[str, Any], chosen: range, folder: Path) -> tuple[Event, ...]:
    """The events our writer adds, in the numbering of the chosen frames: each at the first one not before it."""
    entries = annotation.get("events") or ()
    try:
        stored = [Event(entry["kind"], int(entry["frame"]), entry["object"]) for entry in entries]
    except (KeyError, TypeError, ValueError) as error:
        raise LociError(f"The events in the annotation of {folder} cannot be understood ({error}).") from error
    late = [replace(event, frame=max(0, -(-(event.frame - chosen.start) // chosen.step))) for event in stored]
    return tuple(event for event in late if event.frame < len(chosen))


def derived_events(
    annotation: dict[str, Any], chosen: range, screens: dict[int, int], truth: ObjectTruth
) -> tuple[Event, ...]:
    """What the release's own annotation shows: hiding, removals, falling screens, and whether it is a surprise.

    `screens` maps the number of each screen to its entry in the annotation.
    """
    events = (*hiding(truth), *presence(truth), *_falls(annotation["scene"], chosen, screens))
    if not is_surprising(str(annotation.get("case_name", ""))):
        return events
    return (*events, *(replace(event, kind="violation") for event in events if event.kind == "removed"))


def _falls(scene: list[Any], chosen: range, screens: dict[int, int]) -> list[Event]:
    """`screen_falls`: the first frame in which a screen that ends lying has left its last upright moment."""
    events = []
    for number, entry in screens.items():
        turns = [euler(np.asarray(scene[index]["objects"][entry].get("rotation", (0, 0, 0)), dtype=float))
                 for index in chosen]
        upright = np.array([turn[2, 2] for turn in turns])          # cosine of the tilt
        standing = np.flatnonzero(upright > 0.9999)
        if len(standing) and upright[-1] < 0.7:
            events.append(Event("screen_falls", int(standing[-1]) + 1, number))
    return events
