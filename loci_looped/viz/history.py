"""The numbers of a watched stream, slot by slot, for curves: never more than a set number of rows are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loci_looped.inference.watch import FrameResult

Floats = NDArray[np.floating]
LIMIT = 2048


@dataclass(frozen=True)
class HistoryRow:
    """One frame, or the merger of several; arrays are (K,)."""

    frame: int
    time: float
    surprise: Floats            # the largest of the merged frames: a peak must not disappear
    occlusion: Floats
    gate_gestalt: Floats
    gate_position: Floats
    bound: NDArray[np.bool_]
    hidden: tuple[bool, ...]    # where the truth is known: which objects are in the image and wholly out of sight


def row_of(seen: FrameResult) -> HistoryRow:
    hidden: tuple[bool, ...] = ()
    if seen.truth is not None:
        whole, visible = seen.truth.object_masks[0].any((1, 2)), seen.truth.visible_masks[0].any((1, 2))
        hidden = tuple(bool(value) for value in whole & ~visible)
    return HistoryRow(
        seen.number, seen.time, seen.surprise.numpy(), seen.occlusion.numpy(), seen.gate[:, 0].numpy(),
        seen.gate[:, 1].numpy(), seen.bound.numpy(), hidden,
    )


def merged(first: HistoryRow, second: HistoryRow) -> HistoryRow:
    """Two rows as one that starts with the first."""
    return HistoryRow(
        first.frame, first.time, np.maximum(first.surprise, second.surprise),
        (first.occlusion + second.occlusion) / 2, (first.gate_gestalt + second.gate_gestalt) / 2,
        (first.gate_position + second.gate_position) / 2, first.bound | second.bound,
        tuple(a and b for a, b in zip(first.hidden, second.hidden, strict=True)),
    )


@dataclass
class History:
    """Rows in the order of time. When `limit` is reached, neighbours are merged: a day needs no more than a minute."""

    limit: int = LIMIT
    rows: list[HistoryRow] = field(default_factory=list)
    stride: int = 1                     # frames per row
    pending: list[HistoryRow] = field(default_factory=list)

    def add(self, seen: FrameResult) -> None:
        self.pending.append(row_of(seen))
        if len(self.pending) < self.stride:
            return
        row = self.pending[0]
        for other in self.pending[1:]:
            row = merged(row, other)
        self.rows.append(row)
        self.pending.clear()
        if len(self.rows) >= self.limit:
            self.rows = [merged(a, b) for a, b in zip(self.rows[::2], self.rows[1::2], strict=False)]
            self.stride *= 2

    def curve(self, name: str) -> NDArray[np.float32]:
        """(T, K) of one of the quantities; NaN where the slot holds nothing."""
        if not self.rows:
            return np.zeros((0, 0), np.float32)
        values = np.stack([getattr(row, name) for row in self.rows]).astype(np.float32)
        bound = np.stack([row.bound for row in self.rows])
        return np.where(bound, values, np.float32(np.nan))

    @property
    def frames(self) -> NDArray[np.int64]:
        return np.array([row.frame for row in self.rows], dtype=np.int64)

    @property
    def slots_used(self) -> list[int]:
        """Slots that have held an object."""
        if not self.rows:
            return []
        return [int(slot) for slot in np.flatnonzero(np.any([row.bound for row in self.rows], axis=0))]
