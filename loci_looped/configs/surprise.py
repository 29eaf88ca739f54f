"""What is ordinary to a network: the scale by which its surprise is told in bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor

MOST = 20.0
"""No more bits than this: what happens in one film of a million has not been counted, only guessed."""
TAIL = 4
"""The largest so many films do not tell how rare they are; beyond the next one the scale goes on as a straight line."""
FLOOR = 0.02
"""Bits of a look that never changed in ordinary films still may: the least variance that is believed."""


@dataclass(frozen=True)
class SurpriseScale:
    """The largest values of each kind of evidence in each of N ordinary films, in rising order.

    A value is worth b bits if one ordinary film in 2^b holds one as large: one bit is nothing, ten bits are.
    """

    missing: tuple[float, ...]          # evidence that things are not where they should be seen
    missing_large: tuple[float, ...]    # the same of things as large as a screen
    changed: tuple[float, ...]          # evidence that things look different from before they were hidden
    changed_large: tuple[float, ...]
    unexpected: tuple[float, ...]       # what is there that nobody expected
    spread: tuple[float, ...]           # variance of each bit of a look between two sights of one thing

    def __post_init__(self) -> None:
        for field in fields(self):
            values = getattr(self, field.name)
            if not values or any(not math.isfinite(value) or value < 0 for value in values):
                raise ValueError(f"A scale of surprise needs numbers, none of them negative: {field.name} has not.")
            if field.name != "spread" and list(values) != sorted(values):
                raise ValueError(f"A scale of surprise is in rising order, but {field.name} is not.")

    def bits(self, kind: str, values: Tensor) -> Tensor:
        """How rare values of one kind of evidence are; the same shape."""
        return rarity(values, getattr(self, kind))

    def change(self, difference: Tensor, weight: Tensor) -> Tensor:
        """(...,) evidence that two looks are of two things: their difference (..., G) in units of what is usual."""
        spread = difference.new_tensor(self.spread if len(self.spread) == difference.shape[-1] else self.spread[:1])
        return weight * (difference.square() / (spread + FLOOR)).sum(-1)

    def to_json(self) -> dict[str, Any]:
        return {name: [float(f"{value:.5g}") for value in values] for name, values in asdict(self).items()}

    @staticmethod
    def from_json(values: Any) -> SurpriseScale:
        """Anything that is no scale is refused in a sentence (ValueError)."""
        names = [field.name for field in fields(SurpriseScale)]
        if not isinstance(values, dict) or set(values) != set(names):
            raise ValueError(f"A scale of surprise is an object with {', '.join(names)}.")
        if not all(isinstance(part, list) and all(isinstance(v, int | float) for v in part)
                   for part in values.values()):
            raise ValueError("A scale of surprise holds lists of numbers.")
        return SurpriseScale(**{name: tuple(float(v) for v in part) for name, part in values.items()})


def rarity(values: Tensor, ordinary: Sequence[float]) -> Tensor:
    """-log2 of the share of ordinary films, given by their largest values in rising order, that reach each value.

    Among the rarest few, and beyond them, rarity is a straight line through the film in the middle and the last one
    that can be trusted: tails are taken for exponential.
    """
    films = len(ordinary)
    peaks = values.new_tensor(list(ordinary))

    def told(reaching: Tensor) -> Tensor:
        return -torch.log2((reaching + 1) / (films + 1))

    counted = told(films - torch.searchsorted(peaks, values.contiguous()).to(values.dtype))
    trusted, middle = min(TAIL, films), max(films // 2, 1)
    if trusted >= middle:
        return counted
    last, half = peaks[-trusted], peaks[-middle]
    known, usual = (told(peaks.new_tensor(float(number))) for number in (trusted, middle))
    # Where most films have nothing to show, the largest one says how much is much.
    rise = (known - usual) / torch.maximum(last - half, peaks[-1] / 4).clamp(min=1e-6)
    beyond = known + rise * (values - last)
    return torch.where(values > last, beyond, counted).clamp(max=MOST)


def exponential(mean: float, films: int = 64) -> tuple[float, ...]:
    """The peaks of so many films if they were exponential with this mean: a scale for who has not been measured."""
    return tuple(-mean * math.log(1 - (number + 0.5) / films) for number in range(films))


ROUGH = SurpriseScale(
    missing=exponential(30.0), missing_large=exponential(300.0), changed=exponential(40.0),
    changed_large=exponential(40.0), unexpected=exponential(5.0), spread=(0.01,),
)
"""For networks that have not been measured (`loci calibrate`): about as for the shipped one."""
