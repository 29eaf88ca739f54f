"""SAVi behind the protocol that all video models of the experiments share."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from loci_looped.baselines.protocol import Slots
from loci_looped.utils.errors import LociError

from .reading import RELEASED, Reading, read_slots
from .savi import Savi
from .state import SaviState


@dataclass(frozen=True)
class SaviVideoModel:
    """A network with the way its masks are read. Its evaluation is repeatable: kernels are means, or come from a
    generator of one's own."""

    network: Savi
    reading: Reading = RELEASED
    through_kernel: bool = False
    """How the next frame is painted, see `Savi.predict_next`."""
    generator: torch.Generator | None = field(default=None, compare=False)
    """Draws StoSAVi's kernels at test time as well, as the authors' code does."""

    def initial(self, background: Tensor) -> SaviState:
        """SAVi makes no use of the background, only of how many there are."""
        return self.network.initial(background.shape[0])

    def step(
        self, frame: Tensor | None, state: SaviState, *, blackout: Tensor | None = None
    ) -> tuple[SaviState, Slots]:
        if frame is None:
            raise LociError(
                "SAVi cannot imagine without a frame: its slots are made by looking, and its prediction is only where "
                "the next look begins. Give it frames (black ones for a blackout), or leave this experiment out."
            )
        if blackout is not None:
            if blackout.dtype != torch.bool or blackout.shape != frame.shape[:1]:
                raise LociError(
                    f"blackout must be ({frame.shape[0]},) truth values, but it is {tuple(blackout.shape)} of "
                    f"{blackout.dtype}."
                )
            frame = frame.masked_fill(blackout.view(-1, 1, 1, 1), 0.0)
        state, output = self.network.step(frame, state, generator=self.generator)
        expected = self.network.predict_next(state, through_kernel=self.through_kernel)
        return state, read_slots(output.decoded, expected, self.reading)
