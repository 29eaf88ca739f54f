"""Events that can be read off the truth: when an object gets out of sight, comes back, leaves the world, enters it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Event, EventKind, ObjectTruth


def hiding(truth: ObjectTruth) -> tuple[Event, ...]:
    """`hidden_from` and `hidden_to` of every object: in the image, in the world, and nothing of it visible."""
    whole = np.asarray(truth.object_masks.any(axis=(2, 3)))
    seen = np.asarray(truth.visible_masks.any(axis=(2, 3)))
    hidden = whole & ~seen                                              # (T, O)
    found = changes(hidden, rises="hidden_from", falls="hidden_to", at_start=True)
    # What is removed, or leaves the image, while hidden does not come into sight again.
    return tuple(event for event in found if event.kind == "hidden_from" or seen[event.frame, event.object])


def presence(truth: ObjectTruth) -> tuple[Event, ...]:
    """`inserted` and `removed` of every object, from where its position is known. Frame 0 inserts nothing."""
    present = ~np.isnan(truth.positions[..., 0])                        # (T, O)
    return changes(present, rises="inserted", falls="removed", at_start=False)


def changes(state: NDArray[np.bool_], rises: EventKind, falls: EventKind, at_start: bool) -> tuple[Event, ...]:
    """Events where `state` (T, O) switches on and off; with `at_start`, being on in frame 0 counts as a rise."""
    before = np.concatenate([np.zeros_like(state[:1]) if at_start else state[:1], state[:-1]])
    found = [Event(rises, int(t), int(o)) for t, o in np.argwhere(state & ~before)]
    found += [Event(falls, int(t), int(o)) for t, o in np.argwhere(~state & before)]
    return tuple(sorted(found, key=lambda event: (event.frame, event.object)))
