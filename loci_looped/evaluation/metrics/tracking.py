"""Does a slot stay with its object? Association, tracking error and successful trackings.

The corrected protocol of the paper's tracking table: distances in pixels over the image's diagonal, truth as it is.
What the released code measured instead is in `official.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import ObjectTruth
from loci_looped.data.coordinates import diagonal
from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

PROTOCOL = "tracking/pixels-over-diagonal"
SUCCESS_ERROR = 0.10         # of the diagonal, at the last frame in which the object can be seen
FIRST_SEEN_BEFORE = 20       # a slot counts if it held a visible object before this (strided) frame


@dataclass(frozen=True)
class Track:
    """What a model says about one clip of T frames with its K slots."""

    positions: Floats                # (T, K, 2) pixel (row, column) of the percept
    present: Bools                   # (T, K) the slot holds an object
    hidden: Bools                    # (T, K) the model itself believes that nothing of the object can be seen
    areas: Floats | None = None      # (T, K) pixels of the object mask; None if the model has no such masks

    def __post_init__(self) -> None:
        for name, shape in (("present", self.present.shape), ("hidden", self.hidden.shape),
                            ("areas", self.positions.shape[:2] if self.areas is None else self.areas.shape)):
            if self.positions.ndim != 3 or self.positions.shape[2] != 2 or shape != self.positions.shape[:2]:
                raise LociError(
                    f"A track needs positions (T, K, 2) and {name} (T, K); they are {self.positions.shape} and {shape}."
                )
        bad = np.argwhere(self.present & ~np.isfinite(self.positions).all(axis=-1))
        if len(bad):
            frame, slot = bad[0]
            raise LociError(
                f"The position of slot {slot} at frame {frame} is not a number ({len(bad)} such places in this clip): "
                "the network has diverged, take an earlier checkpoint."
            )


@dataclass(frozen=True)
class TrackingTable:
    """One row per frame and slot of a clip; the source of every tracking figure."""

    object: Integers                 # (T, K) the object the slot is locked to, -1 before it is
    error: Floats                    # (T, K) distance to that object over the diagonal; NaN where not scored
    visible: Bools                   # (T, K) some pixel of the object can be seen
    screen: Bools                    # (T, K) the object is a screen
    scored: Bools                    # (T, K) the slot is present and its object's centre is inside the image
    in_image: Bools                  # (T, K) the object's centre is inside the image, the slot present or not


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation (over the population) of n values; NaN if there are none."""

    mean: float
    std: float
    n: int

    def __str__(self) -> str:
        if self.n == 0:
            return "nothing to score"
        return f"{self.mean:.4g} ± {self.std:.4g} (n = {self.n})"


@dataclass(frozen=True)
class TrackingSummary:
    """The paper's tracking table, with the frames it leaves out. Errors are shares of the diagonal, of movers only."""

    visible: Moments
    occluded: Moments
    overall: Moments
    tried: int                       # slots that held a visible mover early enough
    succeeded: int                   # of those, the ones still at their object when it was last seen

    @property
    def success_rate(self) -> float:
        return self.succeeded / self.tried if self.tried else math.nan


def moments(values: Floats) -> Moments:
    if values.size == 0:
        return Moments(math.nan, math.nan, 0)
    return Moments(float(values.mean()), float(values.std()), int(values.size))


def associate(positions: Floats, may_bind: Bools, targets: Floats) -> Integers:
    """Lock each slot, at the first frame it may bind, to the nearest target; for good.

    positions (T, K, 2), may_bind (T, K), targets (T, O, 2) with NaN while an object is no candidate.
    Returns (T, K): the object's index from that frame on, -1 before.
    """
    distances = np.linalg.norm(positions[:, :, None] - targets[:, None], axis=-1)       # (T, K, O)
    distances = np.where(np.isnan(distances), np.inf, distances)
    if distances.shape[2] == 0:
        return np.full(may_bind.shape, -1, dtype=np.int64)
    binds = may_bind & np.isfinite(distances).any(axis=-1)
    first = binds.argmax(axis=0)                                                        # (K,)
    nearest = distances.argmin(axis=-1)[first, np.arange(binds.shape[1])]
    locked = np.logical_or.accumulate(binds, axis=0)
    return np.where(locked, nearest, -1).astype(np.int64)


def of_object(values: NDArray[Any], objects: Integers) -> NDArray[Any]:
    """Pick for each frame and slot the value (T, O, ...) of its object; where there is none, that of object 0."""
    return values[np.arange(len(values))[:, None], np.maximum(objects, 0)]


def tracking_table(track: Track, truth: ObjectTruth) -> TrackingTable:
    """Score one clip. `track` and `truth` cover the same frames."""
    if track.positions.shape[0] != truth.positions.shape[0]:
        raise LociError(
            f"The track has {track.positions.shape[0]} frames and the truth {truth.positions.shape[0]}: cut both alike."
        )
    if truth.count == 0:
        raise LociError("A clip without objects cannot be tracked: leave it out of the tracking experiment.")
    size = truth.object_masks.shape[2], truth.object_masks.shape[3]
    visible = np.asarray(truth.visible_masks.any(axis=(2, 3)))
    # A slot that claims to see something sees one of the objects that can be seen, not one behind the screen.
    candidates = np.where(visible[..., None], truth.positions, np.nan)
    objects = associate(track.positions, track.present & ~track.hidden, candidates)
    held = objects >= 0
    in_image = held & of_object(truth.in_image(), objects)
    scored = track.present & in_image
    distances = np.linalg.norm(track.positions - of_object(truth.positions, objects), axis=-1)
    is_screen = np.array([kind == "screen" for kind in truth.kinds])
    return TrackingTable(
        object=objects,
        error=np.where(scored, distances / diagonal(size), np.nan),
        visible=held & of_object(visible, objects),
        screen=held & is_screen[np.maximum(objects, 0)],
        scored=scored,
        in_image=in_image,
    )


def successes(table: TrackingTable, first_seen_before: int = FIRST_SEEN_BEFORE) -> tuple[Bools, Bools]:
    """(K,) which slots are tried, (K,) which of them succeed: error below 10 % when their object is last seen.

    A slot that has let go of its object by then has not succeeded.
    """
    seen = table.scored & table.visible                                                 # (T, K)
    frames = len(seen)
    first = np.where(seen.any(axis=0), seen.argmax(axis=0), frames)
    can_be_seen = table.in_image & table.visible
    last = frames - 1 - can_be_seen[::-1].argmax(axis=0)
    slots = np.arange(seen.shape[1])
    tried = np.asarray(seen.any(axis=0)) & (first < first_seen_before) & ~table.screen[last, slots]
    final = np.where(tried & table.scored[last, slots], table.error[last, slots], np.inf)
    return tried, final < SUCCESS_ERROR


def summarise(tables: Sequence[TrackingTable], first_seen_before: int = FIRST_SEEN_BEFORE) -> TrackingSummary:
    """Pool clips: every scored row of a mover counts once."""
    if not tables:
        raise LociError("There is no clip to summarise: the test set is empty.")

    def errors(*, visible: bool | None) -> Floats:
        rows = [
            table.error[table.scored & ~table.screen & (True if visible is None else table.visible == visible)]
            for table in tables
        ]
        return np.concatenate(rows)

    outcomes = [successes(table, first_seen_before) for table in tables]
    return TrackingSummary(
        visible=moments(errors(visible=True)),
        occluded=moments(errors(visible=False)),
        overall=moments(errors(visible=None)),
        tried=sum(int(tried.sum()) for tried, _ in outcomes),
        succeeded=sum(int(succeeded.sum()) for _, succeeded in outcomes),
    )
