"""Columns: G-SWM's objects stand in the order of presence and change places all the time; here each id keeps a column.

There are as many columns as objects are kept, so everybody finds one. Who is new takes the column of somebody who was
dropped, and if there is a choice one in which no object was ever present: a column then tells one story only.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from loci_looped.model.state import TensorTree

from .state import NO_ID, Objects


@dataclass(frozen=True)
class Columns(TensorTree):
    """Which object is where."""

    ids: Tensor     # (B, K) -1 where nobody was yet
    used: Tensor    # (B, K) bool: an object was present here at some time

    @staticmethod
    def empty(objects: Objects) -> Columns:
        return Columns(torch.full_like(objects.ids, NO_ID), torch.zeros_like(objects.ids, dtype=torch.bool))

    def assign(self, objects: Objects, present: float) -> tuple[Columns, Tensor]:
        """The new columns, and which object stands in each (B, K). Who is more present chooses first."""
        same = self.ids.unsqueeze(2) == objects.ids.unsqueeze(1)        # (B, column, object)
        same = same & (self.ids != NO_ID).unsqueeze(2)
        stays, known = same.any(2), same.any(1)
        # Free columns first, unused before used ones; new objects first. Then the i-th column is for the i-th object.
        columns = (stays.long() * 2 + self.used.long()).argsort(dim=1, stable=True)
        newcomers = known.long().argsort(dim=1, stable=True)
        dealt = torch.empty_like(columns).scatter(1, columns, newcomers)
        order = torch.where(stays, same.long().argmax(2), dealt)
        presence = objects.presence.squeeze(-1).gather(1, order)
        return Columns(objects.ids.gather(1, order), self.used | (presence > present)), order
