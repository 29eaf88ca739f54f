"""How Loci-Looped learns: the paper's curriculum, windows of truncated back-propagation, rounds of rehearsal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from loci_looped.configs.training import TrainConfig
from loci_looped.data.clip import Clip
from loci_looped.model import GateKind, LociLooped
from loci_looped.training.acceleration import accelerate
from loci_looped.training.consolidation import Consolidation
from loci_looped.training.curriculum import Phase, phase_at
from loci_looped.training.diagnostics import diagnose
from loci_looped.training.distributed import ProcessGroup
from loci_looped.training.film_validation import Findings, validate_films
from loci_looped.training.objective import Objective
from loci_looped.training.optimiser import parameter_groups
from loci_looped.training.refine import let_details_learn
from loci_looped.training.sequence import unroll
from loci_looped.training.validation import validate, write_strip
from loci_looped.training.window import Window


class LociObjective(Objective[TrainConfig, LociLooped, Phase]):
    def build(self) -> LociLooped:
        model = LociLooped(self.config.model)
        if self.config.learns == "details":
            let_details_learn(model)
        if self.config.rehearsal.inherited:
            model.transition.requires_grad_(False)
            model.gate.requires_grad_(False)
        return model

    def frame(self, model: LociLooped) -> tuple[int, int]:
        return model.config.frame

    def accelerate(self, model: LociLooped, device: torch.device) -> None:
        accelerate(model, self.config, device)

    def groups(self, model: LociLooped) -> list[dict[str, Any]]:
        return parameter_groups(model, initial=model.recruiting)

    def injected(self, model: LociLooped) -> Sequence[nn.Parameter]:
        growth = getattr(model.encoder, "size_growth", None)
        return () if growth is None else (growth,)

    def level(self, model: LociLooped) -> int:
        return model.config.level

    def grown(self, model: LociLooped) -> LociLooped:
        """Level 2: the same weights on frames four times as fine."""
        return model.at_level(2)

    def phase(self, update: int, calls: int) -> Phase:
        return phase_at(self.config.curriculum, update, calls)

    def windows(
        self, model: LociLooped, frames: Tensor, background: Tensor, phase: Phase, generator: torch.Generator
    ) -> Iterator[Window]:
        return unroll(model, frames, background, phase, self.config, generator)

    def consolidation(self, network: LociLooped, world: ProcessGroup) -> Consolidation:
        return Consolidation(network, self.config.rehearsal, world, self.config.seed)

    def is_worth_a_look(self, phase: Phase) -> bool:
        """The background must be there."""
        return phase.fade >= 1

    def validate(self, network: LociLooped, clips: Sequence[Clip], phase: str) -> Findings:
        measure = validate_films if self.config.data.folder else validate
        return measure(network, clips, self._gate_in(phase))

    def write_strip(self, network: LociLooped, clip: Clip, phase: str, path: Path, title: str) -> None:
        write_strip(network, clip, self._gate_in(phase), path, title)

    def _gate_in(self, phase: str) -> GateKind:
        """What is only refined has learnt its gate before; Loci-Unlooped never does."""
        if self.config.rehearsal.unlooped:
            return "open"
        return "learned" if self.config.learns == "details" else gate_in(phase)

    def diagnose(
        self, update: int, phase: str, means: dict[str, float], validation: Findings | None = None
    ) -> dict[str, str]:
        return diagnose(update, phase, means, validation)


def gate_in(phase: str) -> GateKind:
    """The gate is open until it learns."""
    return "learned" if phase in ("imagination", "rehearsal") else "open"
