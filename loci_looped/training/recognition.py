"""Recognition: what looks the same is the same thing, also when another slot meets it again.

Who cannot imagine yet loses what is hidden. When it comes out again, a free slot takes it for something new, and the
first slot never hears what has become of its object. In the diary both are there: a slot that has lost its object is
told where a newcomer sees one of the same look. Looks alone decide; nothing is said about motion or hiding.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from loci_looped.configs.rehearsal import RehearsalConfig
from loci_looped.model.state import SlotCodes
from loci_looped.training.diary import Diary


@dataclasses.dataclass(frozen=True)
class Targets:
    """What can be compared with what is expected, (T, B, K, ...)."""

    codes: SlotCodes        # what was sensed of each slot's object, by itself or by another slot
    own: Tensor             # (T, B, K) bool: sensed by itself
    met_again: Tensor       # (T, B, K) bool: sensed by a newcomer

    @property
    def known(self) -> Tensor:
        return self.own | self.met_again


def targets_of(diary: Diary, config: RehearsalConfig) -> Targets:
    """What was well seen of each slot's object: by the slot, or, once it has lost it, by one that found it later."""
    seen = diary.bound & diary.assigned & (diary.occlusion < config.well_seen) & (diary.explained > config.explained)
    look, since = looks_of(diary, seen, config.alike if config.turns else 0.0)
    own = seen & ((diary.sensed.gestalt - look).abs().mean(-1) < config.alike)
    nobody = torch.zeros_like(own)
    if not config.recognised:
        return Targets(diary.sensed, own, nobody)
    # (T, B, A, B'): does slot A's look fit what slot B' sees well, and did B' begin after A had last seen its object?
    unlike = (look.unsqueeze(3) - diary.sensed.gestalt.unsqueeze(2)).abs().mean(-1)
    later = since.unsqueeze(2) > last_seen(own).unsqueeze(3)
    fits = (unlike < config.recognised) & later & own.unsqueeze(2) & (diary.bound & ~own).unsqueeze(3)
    closest = torch.where(fits, unlike, torch.inf).argmin(3)                                     # (T, B, K)
    met_again = fits.any(3)
    theirs = SlotCodes(
        gestalt=_taken(diary.sensed.gestalt, closest), position=_taken(diary.sensed.position, closest),
        size=diary.sensed.size.gather(2, closest), priority=diary.sensed.priority.gather(2, closest),
    )
    wide = met_again.unsqueeze(-1)
    codes = SlotCodes(
        gestalt=torch.where(wide, theirs.gestalt, diary.sensed.gestalt),
        position=torch.where(wide, theirs.position, diary.sensed.position),
        size=torch.where(met_again, theirs.size, diary.sensed.size),
        priority=torch.where(met_again, theirs.priority, diary.sensed.priority),
    )
    return Targets(codes, own, met_again)


def looks_of(diary: Diary, seen: Tensor, step: float = 0.0) -> tuple[Tensor, Tensor]:
    """(T, B, K, G): at each frame the gestalt that its slot sensed when it first saw its present object well, where
    `seen` (T, B, K); and (T, B, K): at which frame that was, T where it has not been yet. With `step` the look follows
    what is seen, as long as it changes by less than this share of its bits at a time."""
    look = diary.sensed.gestalt[0]
    known = torch.zeros_like(diary.bound[0])
    since = torch.full_like(known, diary.frames, dtype=torch.long)
    looks, starts = [], []
    for t, (gestalt, bound, sees) in enumerate(zip(diary.sensed.gestalt, diary.bound, seen, strict=True)):
        look = torch.where(known.unsqueeze(-1), look, gestalt)
        since = torch.where(known, since, torch.where(sees, t, diary.frames))
        known = bound & (known | sees)
        looks.append(look)
        starts.append(since)
        if step:
            same = known & sees & ((gestalt - look).abs().mean(-1) < step)
            look = torch.where(same.unsqueeze(-1), gestalt, look)
    return torch.stack(looks), torch.stack(starts)


def last_seen(own: Tensor) -> Tensor:
    """(T, B, K) bool -> (T, B, K): the last frame up to each at which it was so; T where it never was."""
    frames = own.shape[0]
    times = torch.arange(frames, device=own.device).view(-1, 1, 1)
    last = torch.where(own, times, -1).cummax(0).values
    return torch.where(last < 0, frames, last)


def _taken(values: Tensor, index: Tensor) -> Tensor:
    """(T, B, K, C) by slots (T, B, K)."""
    return values.gather(2, index.unsqueeze(-1).expand(-1, -1, -1, values.shape[-1]))
