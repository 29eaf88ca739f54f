"""Diaries of things that move straight on: what rehearsal must be able to learn from, without any pictures."""

from __future__ import annotations

import dataclasses

import torch

from loci_looped.configs.extensions import Rules
from loci_looped.configs.presets import preset
from loci_looped.model import LociConfig, LociLooped
from loci_looped.model.state import SlotCodes
from loci_looped.training.diary import Diary

SMALL = preset("adept-small")
NETWORK: LociConfig = dataclasses.replace(
    SMALL, slots=2, gestalt=8, latent=(4, 6), gate=dataclasses.replace(SMALL.gate, l0_weight=0.0),
    extensions=dataclasses.replace(
        SMALL.extensions, rules=Rules(), innovation=30.0, identity_start=True, forgets=True, open_until_bound=True,
    ),
)


def network(seed: int = 0) -> LociLooped:
    torch.manual_seed(seed)
    return LociLooped(NETWORK)


def straight_on(clips: int = 16, frames: int = 20, seed: int = 0) -> Diary:
    """Two things per clip, each with a look and a velocity of its own; all is well seen."""
    draw = torch.Generator().manual_seed(seed)
    shape = (clips, NETWORK.slots)
    start = torch.rand(*shape, 2, generator=draw) - 0.5
    velocity = 0.04 * (2 * torch.rand(*shape, 2, generator=draw) - 1)
    time = torch.arange(frames).view(-1, 1, 1, 1)
    places = start + time * velocity
    look = (torch.rand(*shape, NETWORK.gestalt, generator=draw) < 0.5).float()
    seen = torch.zeros(frames, *shape)
    always = torch.ones(frames, *shape, dtype=torch.bool)
    return Diary(
        sensed=SlotCodes(look.expand(frames, *look.shape).clone(), places, 0.1 + seen, seen.clone()),
        occlusion=seen, occlusion_expected=seen.clone(), assigned=always, bound=always.clone(),
        looked_at=places.clone(), explained=torch.ones(frames, *shape),
    )
