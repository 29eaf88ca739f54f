"""Loci-Looped behind the protocol of all video models, with its surprise; and how its scale of surprise is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from loci_looped.baselines.protocol import Slots
from loci_looped.configs.surprise import ROUGH, SurpriseScale
from loci_looped.data.clip import Clip
from loci_looped.inference.pixels import backgrounds_of, frames_at
from loci_looped.inference.surprise import SETTLING, Evidence, Surprise, Vigilance, gathered, judged
from loci_looped.inference.video_model import LociVideoModel, slots_of
from loci_looped.model import LociLooped, LociState, StepOutput
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class SurprisedState:
    network: LociState
    vigilance: Vigilance
    frames: int = 0


@dataclass(frozen=True)
class SurprisedModel:
    """A `VideoModel` that also says how surprised it is."""

    model: LociVideoModel
    scale: SurpriseScale = ROUGH

    def initial(self, background: Tensor) -> SurprisedState:
        state = self.model.initial(background)
        return SurprisedState(state, Vigilance.initial(state))

    def step(
        self, frame: Tensor | None, state: SurprisedState, *, blackout: Tensor | None = None
    ) -> tuple[SurprisedState, Slots]:
        following, output, surprise = self.observe(frame, state, blackout=blackout)
        return following, replace(slots_of(output), surprise=surprise.slots, unexpected=surprise.unexpected)

    def observe(
        self, frame: Tensor | None, state: SurprisedState, *, blackout: Tensor | None = None
    ) -> tuple[SurprisedState, StepOutput, Surprise]:
        """One time step with everything the network says, and its surprise in bits."""
        following, output, evidence = self.evidence(frame, state, blackout=blackout)
        return following, output, judged(evidence, self.scale)

    def evidence(
        self, frame: Tensor | None, state: SurprisedState, *, blackout: Tensor | None = None
    ) -> tuple[SurprisedState, StepOutput, Evidence]:
        before = self.model.settled(frame, state.network)
        after, output = self.model.observe(frame, before, blackout=blackout)
        if frame is None:                           # with eyes shut nothing can be told
            frame, blackout = torch.zeros_like(before.background), torch.ones(len(output.bound), dtype=torch.bool)
        device = before.background.device
        dark = None if blackout is None else blackout.to(device)
        vigilance, evidence = gathered(
            state.vigilance, before, output, frame.to(device), dark, settling=state.frames < SETTLING
        )
        return SurprisedState(after, vigilance, state.frames + 1), output, evidence


@torch.no_grad()
def measure_scale(network: LociLooped, clips: Sequence[Clip], *, batch: int = 16) -> SurpriseScale:
    """What is ordinary to a network: the largest evidence of each kind in each of these films, nothing odd in them."""
    if len(clips) < 16:
        raise LociError(f"{len(clips)} films do not tell what is ordinary: give 16 or more.")
    missing, differences, weights, unexpected, large = [], [], [], [], []
    watcher = SurprisedModel(LociVideoModel(network.eval()))
    for first in range(0, len(clips), batch):
        part = clips[first : first + batch]
        for length in sorted({len(clip) for clip in part}):
            together = [clip for clip in part if len(clip) == length]
            state, told = watcher.initial(backgrounds_of(together)), []
            for t in range(length):
                state, _, evidence = watcher.evidence(frames_at(together, t), state)
                told.append(evidence)
            for b in range(len(together)):
                missing.append(torch.stack([one.missing[b] for one in told]))
                differences.append(torch.stack([one.difference[b] for one in told]))
                weights.append(torch.stack([one.weight[b] for one in told]))
                large.append(torch.stack([one.large[b] for one in told]))
                unexpected.append(float(max(one.unexpected[b] for one in told)))
    compared = [d[(w > 0) & ~big] for d, w, big in zip(differences, weights, large, strict=True)]
    spread = torch.cat(compared).square().mean(0).nan_to_num()
    draft = replace(ROUGH, spread=tuple(spread.tolist()))
    changed = [draft.change(d, w) for d, w in zip(differences, weights, strict=True)]

    def peaks(values: list[Tensor], of_large: bool) -> tuple[float, ...]:
        chosen = (torch.where(big == of_large, value, torch.zeros_like(value)).max()
                  for value, big in zip(values, large, strict=True))
        return tuple(sorted(float(value) for value in chosen))

    return SurpriseScale(
        missing=peaks(missing, False), missing_large=peaks(missing, True), changed=peaks(changed, False),
        changed_large=peaks(changed, True), unexpected=tuple(sorted(unexpected)), spread=draft.spread,
    )
