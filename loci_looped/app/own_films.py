"""Films in the lab: what stands still in them and hides others, and whether they are of the network's world."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from loci_looped.app.playback import ClipPlayback, Playback
from loci_looped.app.wire import Part, numbers
from loci_looped.data.films.occluders import marked_or_found, rectangle
from loci_looped.inference.verdict import SETTLING, Judge
from loci_looped.inference.watch import FrameResult
from loci_looped.utils.errors import LociError

FIRST_VERDICT = 3 * SETTLING
"""Frames after which there is something to say about a network."""


def with_occluder(clip: ClipPlayback, wanted: object) -> ClipPlayback:
    """The film with an occluder taken out of its background, as the page wants it: that which was found (None), none
    at all ("none"), or a rectangle [top, left, bottom, right], in shares of the picture."""
    size = clip.frames.shape[1], clip.frames.shape[2]
    mask = clip.occluder
    if wanted == "none":
        mask = None
    elif isinstance(wanted, list):
        top, left, bottom, right = numbers(wanted, 4, 1.0, "occluder")
        mask = rectangle(top, left, bottom, right, size)
    elif wanted is not None:
        raise LociError("An occluder is a rectangle of four numbers, or the word none.")
    background, mask = marked_or_found(clip.frames, clip.background, mask, find=False)
    return replace(clip, background=background, occluder=mask)


def occluder_part(world: Playback) -> dict[str, Part]:
    """Where a film's occluder is, for the page; nothing where there is none."""
    if not isinstance(world, ClipPlayback) or world.occluder is None or not world.occluder.any():
        return {}
    return {"occluder": world.occluder.astype(np.uint8) * np.uint8(255)}


def judged(judge: Judge, seen: FrameResult, view: bytes, dark: bool) -> dict[str, Any]:
    """The verdict so far. The camera is judged by the larger picture; what is not seen is not held against anybody."""
    if not dark:
        judge.add(replace(seen, picture=np.asarray(Image.open(io.BytesIO(view)).convert("RGB"))))
    if seen.number + 1 < FIRST_VERDICT:
        return {}
    verdict = judge.verdict()
    return {"verdict": {
        "sentence": verdict.sentence(), "facts": verdict.facts.sentences(), "at_home": verdict.at_home,
    }}
