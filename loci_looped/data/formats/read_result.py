"""What every reader hands back: the clip, and in sentences whatever a careful user should know about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip


@dataclass(frozen=True)
class ReadResult:
    """A clip that was read, with notes on everything that was missing, broken or guessed."""

    clip: Clip
    background_known: NDArray[np.bool_]     # (H, W) False where the background was never clearly seen
    notes: tuple[str, ...] = ()


def summarise(items: list[str], limit: int = 3) -> str:
    """'a, b, c and 9 more': a list that stays readable."""
    shown = ", ".join(items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"
