"""A window of training: the steps between two updates."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Window:
    """Some successive steps whose summed loss is back-propagated at once."""

    loss: Tensor
    parts: dict[str, float]     # unweighted losses and vital signs, averaged over the window's steps
    steps: int                  # forward calls in it
    moves: frozenset[str] | None = None     # the roles of the parameters that this update moves; None is all
