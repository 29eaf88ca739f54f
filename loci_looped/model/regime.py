"""The circumstances of a time step. Behaviour never depends on anything else but the frame, the state and the weights.

`module.train()` and `.eval()` decide about noise and rounding only.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from loci_looped.configs.network import GateKind, Placement


@dataclass(frozen=True)
class Regime:
    """How a step is taken. The defaults are how a trained network is used; training says otherwise."""

    gate: GateKind = "learned"
    placement: Placement = "incremental"
    binding_strength: float = 1.0
    """Below 1 a binding must be renewed by visibility; training raises it slowly."""
    clean: bool = True
    """Until the sequence has settled, slots that are predicted to be occluded are freed."""
    learning: bool = False
    """Does the network learn to see? Then it looks at what a trained one had better leave alone (extensions only)."""
    blackout: Tensor | None = None
    """(B,) bool: these streams get a black frame and no error map; the gate must close by itself."""
    hold: Tensor | None = None
    """(B, K) bool: these slots' gates are held shut for this step if they hold an object."""
    canvas: Tensor | None = None
    """(B, 3, H, W): what is painted behind the objects; None is the background."""
    generator: torch.Generator | None = None
    """Where noise and random places come from; without one there are none."""

    def at(self, t: int, blackout: Tensor | None) -> Regime:
        """The same for frame t of a clip, `blackout` being (B, T)."""
        return self if blackout is None else dataclasses.replace(self, blackout=blackout[:, t])


USE = Regime()
