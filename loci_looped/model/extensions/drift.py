"""A memory that adds up: how a slot drifts, two numbers that stay exactly as they are until something is added.

Speeds held in the recurrent memory go through its tanh at every step and fade; imagined balls came to rest. Here each
slot has a sum, and what it amounts to is added to every predicted place. It begins as nothing, and nothing is ever
added to it but what has been learnt: that an unexpected place means another speed, that walls turn it round, that two
balls which meet exchange it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from loci_looped.configs.network import LociConfig

from ..state import Memory, Sight, SlotCodes
from ..transition import Transition
from .pushes import Pushes


@dataclass(frozen=True)
class DriftMemory(Memory):
    """The recurrent memory, and what has been added up."""

    drift: Tensor       # (B, K, 2) in half images per step

    def kept(self, bound: Tensor) -> Memory:
        return dataclasses.replace(super().kept(bound), drift=self.drift * bound.unsqueeze(-1))  # type: ignore[call-arg]


class DriftTransition(Transition):
    def __init__(self, config: LociConfig):
        super().__init__(config)
        heard = config.code_width + config.code_width * config.transition.multiplier
        with torch.random.fork_rng(devices=()):     # all other weights begin as they do without it
            self.added = nn.Linear(heard if config.extensions.drift_heard else heard + 2, 2)
            self.pushes = Pushes(config.extensions.pushes) if config.extensions.pushes else None
        nn.init.zeros_(self.added.weight)
        nn.init.zeros_(self.added.bias)

    def initial_memory(self, like: Tensor, batch: int) -> Memory:
        plain = super().initial_memory(like, batch)
        return DriftMemory(plain.hidden, plain.history, like.new_zeros(batch, self.config.slots, 2))

    def inputs(self, percept: SlotCodes, alpha: Tensor, sight: Sight | None, memory: Memory) -> list[Tensor]:
        assert isinstance(memory, DriftMemory)
        told = super().inputs(percept, alpha, sight, memory)
        return [*told, self._in_units(memory)] if self.config.extensions.drift_heard else told

    def concluded(
        self, codes: SlotCodes, percept: SlotCodes, told: Tensor, x: Tensor, memory: Memory,
        attention_mask: Tensor | None,
    ) -> tuple[SlotCodes, Memory]:
        assert isinstance(memory, DriftMemory)
        heard = [told, x] if self.config.extensions.drift_heard else [told, x, self._in_units(memory)]
        drift = memory.drift + self.added(torch.cat(heard, dim=-1)) / self.config.extensions.drift
        place = codes.position
        if self.pushes is not None:
            to_drift, to_place = self.pushes(percept.position, drift, attention_mask)
            drift, place = drift + to_drift, place + to_place
        codes = dataclasses.replace(codes, position=place + drift)
        return codes, dataclasses.replace(memory, drift=drift)

    def _in_units(self, memory: DriftMemory) -> Tensor:
        """What has been added up, in units that weights notice."""
        return self.config.extensions.drift * memory.drift
