"""How far a re-implementation is from its authors' code, one quantity at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    name: str
    value: float        # absolute, or relative to the tensor's maximum where the comparison says so
    tolerance: float

    @property
    def fine(self) -> bool:
        return self.value <= self.tolerance     # NaN is not
