"""What differs between the networks that can be trained: what they learn, from which part of a clip, and when.

The loop (loop.py) makes updates, checkpoints, logs and looks at scenes; everything it has to know about a kind of
network it asks an `Objective`. Loci-Looped's is in loci_objective.py, the rivals' are in rival_objectives.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from loci_looped.configs.training import RunConfig
from loci_looped.data.clip import Clip
from loci_looped.training.consolidation import Consolidation
from loci_looped.training.distributed import ProcessGroup
from loci_looped.training.film_validation import Findings
from loci_looped.training.optimiser import parameter_groups
from loci_looped.training.window import Window
from loci_looped.utils.errors import LociError


class NamedPhase(Protocol):
    """A stretch of training with its own rules."""

    @property
    def name(self) -> str: ...


Config = TypeVar("Config", bound=RunConfig)
Network = TypeVar("Network", bound=nn.Module)
Stretch = TypeVar("Stretch", bound=NamedPhase)


class Objective(ABC, Generic[Config, Network, Stretch]):
    """The part of a training run that depends on the kind of network."""

    def __init__(self, config: Config):
        self.config = config

    # ---------------------------------------------------------------- the network

    @abstractmethod
    def build(self) -> Network:
        """A network that has learnt nothing yet."""

    @abstractmethod
    def frame(self, model: Network) -> tuple[int, int]:
        """(H, W) of the frames it works on now."""

    def accelerate(self, model: Network, device: torch.device) -> None:
        """Half precision and compilation, where they are asked for."""
        del model, device
        if self.config.precision == "bfloat16" or self.config.compile:
            raise LociError(f"--precision and --compile are for loci-looped networks, not for {self.config.kind}.")

    def groups(self, model: Network) -> list[dict[str, Any]]:
        """The optimiser's groups of parameters, each with a role."""
        return parameter_groups(model)

    def injected(self, model: Network) -> Sequence[nn.Parameter]:
        """Parameters with a gradient that does not come from the loss, the same in every process."""
        del model
        return ()

    def level(self, model: Network) -> int:
        """How fine the network works; most cannot grow."""
        del model
        return 1

    def grown(self, model: Network) -> Network:
        """The same network at the next level."""
        raise LociError(f"A {self.config.kind} network cannot grow to another level.")

    # ---------------------------------------------------------------- learning

    @abstractmethod
    def phase(self, update: int, calls: int) -> Stretch:
        """The circumstances after so many updates and forward calls."""

    @abstractmethod
    def windows(
        self, model: Network, frames: Tensor, background: Tensor, phase: Stretch, generator: torch.Generator
    ) -> Iterator[Window]:
        """The updates of one batch of clips (B, T, 3, H, W)."""

    def consolidation(self, network: Network, world: ProcessGroup) -> Consolidation | None:
        """Rounds of rehearsal, for networks that have any."""
        del network, world
        return None

    # ---------------------------------------------------------------- looking at it

    def is_worth_a_look(self, phase: Stretch) -> bool:
        """Can the network be validated in this phase?"""
        del phase
        return True

    @abstractmethod
    def validate(self, network: Network, clips: Sequence[Clip], phase: str) -> Findings:
        """Figures of the network as it is used at this stage of its training."""

    @abstractmethod
    def write_strip(self, network: Network, clip: Clip, phase: str, path: Path, title: str) -> None:
        """A picture of what it makes of one scene."""

    def diagnose(
        self, update: int, phase: str, means: dict[str, float], validation: Findings | None = None
    ) -> dict[str, str]:
        """Known kinds of trouble, in sentences."""
        del update, phase, means, validation
        return {}
