"""How far imagination goes astray: the gate is shut after some seen frames, and places are compared with a diary."""

from __future__ import annotations

import torch

from loci_looped.model import LociLooped
from loci_looped.training.diary import Diary
from loci_looped.training.rehearsal import live

LENGTHS = (5, 10, 20)
STARTS = (10, 14, 18)
"""Imagination begins at these frames."""
PAST = 6
"""The straight line goes through so many of the last percepts."""
WELL_SEEN = 0.35
MOVES = 0.015
"""Who moves less than this per frame, in half images, is left out: a frozen object is hard to beat there."""


@torch.no_grad()
def roll_out_errors(model: LociLooped, diary: Diary) -> dict[str, float]:
    """Mean distance in half images after 5, 10 and 20 imagined frames: of the network, of an object that stays where it
    was last seen, and of a straight line through the last percepts. Only things that stayed in sight can be judged; a
    length for which there are none is left out."""
    was_training = model.training
    model.eval()
    found: dict[str, list[torch.Tensor]] = {}
    places = diary.sensed.position
    for start in (start for start in STARTS if start < diary.frames):
        hold = torch.zeros_like(diary.bound)
        hold[start:] = True
        imagined = live(model, diary, hold, learned=False).percept.position
        past = places[start - PAST : start]
        times = torch.arange(PAST, dtype=places.dtype, device=places.device) - (PAST - 1)
        centred = (times - times.mean()).view(-1, 1, 1, 1)
        slope = (past * centred).sum(0) / centred.square().sum()
        for length in (n for n in LENGTHS if start + n <= diary.frames):
            t = start + length - 1
            span = slice(start - PAST, t + 1)
            judged = diary.bound[span].all(0) & (diary.occlusion[span] < WELL_SEEN).all(0)
            judged = judged & ((places[t] - places[start - 1]).norm(dim=-1) > MOVES * length)
            guesses = {
                "rolled": imagined[t], "frozen": places[start - 1],
                "straight": past.mean(0) + slope * (length - times.mean()),
            }
            for name, guess in guesses.items():
                found.setdefault(f"{name}_{length}", []).append((guess - places[t]).norm(dim=-1)[judged])
    model.train(was_training)
    pooled = {name: torch.cat(errors) for name, errors in found.items()}
    return {name: float(errors.mean()) for name, errors in pooled.items() if len(errors)}
