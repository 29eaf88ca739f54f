"""MOTA: misses, false alarms and identity switches of a tracker, after Bernardin and Stiefelhagen (CLEAR MOT, 2008)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from loci_looped.data.clip import ObjectTruth
from loci_looped.data.coordinates import diagonal, inside
from loci_looped.evaluation.metrics.tracking import Track
from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]

PROTOCOL = "mota/10-percent-of-diagonal"
CUT_OFF = 0.10                       # of the diagonal: beyond it a slot cannot stand for an object
SMALLEST_AREA = 100 / (320 * 480)    # share of the image an object mask must fill to count as a hypothesis


@dataclass(frozen=True)
class MotCounts:
    """What happened over the frames of one or many clips; add them up with `+`."""

    objects: int = 0                 # true objects over all frames
    matches: int = 0                 # of those, found under the same identity as before
    switches: int = 0                # found, but by another slot than the last time
    misses: int = 0                  # not found
    false_positives: int = 0         # slots that stand for nothing
    distance: float = 0.0            # summed over matches and switches
    frames: int = 0

    def __add__(self, other: MotCounts) -> MotCounts:
        return MotCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def mota(self) -> float:
        """1 for a perfect tracker, below 0 if there are more mistakes than objects, NaN without any object."""
        return 1 - _share(self.misses + self.switches + self.false_positives, self.objects)

    @property
    def recall(self) -> float:
        return _share(self.matches + self.switches, self.objects)

    @property
    def false_positives_per_frame(self) -> float:
        return _share(self.false_positives, self.frames)

    @property
    def precision(self) -> float:
        return _share(self.matches + self.switches, self.matches + self.switches + self.false_positives)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def total(counts: Iterable[MotCounts]) -> MotCounts:
    """Pool clips by their events, as one long film: not the mean of their MOTAs."""
    pooled = sum(counts, MotCounts())
    if pooled.objects == 0:
        raise LociError("No frame of the test set has an object, so MOTA is not defined: check the clips' truth.")
    return pooled


def clear_mot(distances: Floats, objects: Bools, hypotheses: Bools) -> MotCounts:
    """Count the events of one clip.

    distances (T, O, K), NaN where the pair is out of question; objects (T, O) and hypotheses (T, K) say who is there.
    A pair once found is kept as long as it is possible, even after a gap; the rest is paired at the least distance.
    """
    last_slot: dict[int, int] = {}
    matches = switches = false_positives = misses = 0
    distance = 0.0
    for frame, there, guesses in zip(distances, objects, hypotheses, strict=True):
        possible = np.isfinite(frame) & there[:, None] & guesses[None]                   # (O, K)
        found: dict[int, int] = {}
        taken: set[int] = set()
        for item, slot in sorted(last_slot.items()):
            if possible[item, slot] and slot not in taken:
                found[item] = slot
                taken.add(slot)
        matches += len(found)
        free = possible.copy()
        free[list(found)] = False
        free[:, list(taken)] = False
        for item, slot in _assign(frame, free):
            if last_slot.get(item, slot) == slot:
                matches += 1
            else:
                switches += 1
            found[item] = slot
        last_slot |= found
        distance += sum(float(frame[item, slot]) for item, slot in found.items())
        misses += int(there.sum()) - len(found)
        false_positives += int(guesses.sum()) - len(found)
    return MotCounts(int(objects.sum()), matches, switches, misses, false_positives, distance, len(objects))


def _assign(distances: Floats, possible: Bools) -> list[tuple[int, int]]:
    """As many possible pairs as there can be, and among those choices the one with the least total distance."""
    if not possible.any():
        return []
    # An impossible pair costs more than all possible ones together, so it is only taken when nothing else is left.
    forbidden = 1 + 2 * min(distances.shape) * (1 + distances[possible].max())
    items, slots = linear_sum_assignment(np.where(possible, distances, forbidden))
    return [(int(i), int(k)) for i, k in zip(items, slots, strict=True) if possible[i, k]]


def count_events(track: Track, truth: ObjectTruth, cut_off: float = CUT_OFF) -> MotCounts:
    """One clip under the corrected protocol.

    Objects are all of those (screens too, hidden ones too) whose centre is inside the image. Hypotheses are the slots
    that are present, inside the image and, where the model has object masks, larger than a speck at any resolution.
    """
    size = truth.object_masks.shape[2], truth.object_masks.shape[3]
    distances = np.linalg.norm(truth.positions[:, :, None] - track.positions[:, None], axis=-1) / diagonal(size)
    with np.errstate(invalid="ignore"):
        distances = np.where(distances <= cut_off, distances, np.nan)
    hypotheses = track.present & inside(track.positions, size)
    if track.areas is not None:
        hypotheses = hypotheses & (track.areas > SMALLEST_AREA * size[0] * size[1])
    return clear_mot(distances, truth.in_image(), hypotheses)
