"""Surprise: how unusual is what happens to a slot, in bits?

The slot error of the paper says how wrong a prediction was. It is large for anything that is hard to predict, a falling
screen above all, and says nothing about what no slot expected. Here evidence of three kinds is gathered while a film is
watched, each from the network's own quantities, and compared with what ordinary films hold (`SurpriseScale`):

    missing         a thing should be seen, and the empty scene explains the picture better: added up until it is seen
    changed         a thing looks different, in its sensed gestalt, from what it looked like before it was hidden
    unexpected      something is there, away from the border, where nobody was expected

Eight bits: one ordinary film in 256 holds something as unusual.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from loci_looped.configs.surprise import SurpriseScale
from loci_looped.inference.belief import SCREEN_SHARE
from loci_looped.model.losses import foreground
from loci_looped.model.occlusion import explained_share
from loci_looped.model.state import LociState, StepOutput, TensorTree

WELL_SEEN = 0.15
"""A look counts if less than this share of the thing is hidden."""
HIDDEN = 0.9
"""A thing that is hidden to this share may come back as another."""
THERE = 0.25
"""And if at least this share of what the slot shows differs from the empty scene."""
INSIDE = 0.9
"""And if its middle is not farther out than this, in half images."""
BORDER = 1 / 8
"""Newcomers enter at the border: what is nearer to it than this share of the image's height is nobody's surprise."""
SETTLING = 3
"""In the first frames, in which slots still find their objects, nothing is surprising."""
ENOUGH = 2
"""Looks that are remembered before they are compared with."""


@dataclass(frozen=True)
class Evidence(TensorTree):
    """What one frame tells. B films, K slots."""

    missing: Tensor         # (B, K) how much better the empty scene explains the frame where the slot should be seen
    difference: Tensor      # (B, K, G) mean sensed gestalt since the thing was hidden, less the one from before
    weight: Tensor          # (B, K) how many looks that rests on; 0 where there is nothing to compare
    unexpected: Tensor      # (B,) squared error of the prediction where something is that nobody should show
    finder: Tensor          # (B, K) bool: the slot that shows most of it now, if any does
    large: Tensor           # (B, K) bool: the slot holds something as large as a screen


@dataclass(frozen=True)
class Surprise(TensorTree):
    """In bits."""

    slots: Tensor           # (B, K) about each slot's object; what nobody expected is told of the slot that found it
    unexpected: Tensor      # (B,) about what nobody expected

    @property
    def largest(self) -> Tensor:
        """(B,) of the frame."""
        return torch.maximum(self.slots.amax(1), self.unexpected)


@dataclass(frozen=True)
class Vigilance(TensorTree):
    """What crosses from frame to frame."""

    missing: Tensor         # (B, K)
    before: Tensor          # (B, K, G) sum of the looks before the thing was last hidden
    looks_before: Tensor    # (B, K)
    since: Tensor           # (B, K, G) sum of the looks since then
    looks_since: Tensor     # (B, K)
    largest: Tensor         # (B, K) the largest whole object so far, in pixels

    @staticmethod
    def initial(state: LociState) -> Vigilance:
        """At the beginning of a film."""
        empty, looks = torch.zeros_like(state.occlusion), torch.zeros_like(state.predicted.gestalt)
        return Vigilance(empty, looks, empty, looks, empty, empty)


@torch.no_grad()
def gathered(
    vigilance: Vigilance, before: LociState, output: StepOutput, frame: Tensor, blackout: Tensor | None = None, *,
    settling: bool = False,
) -> tuple[Vigilance, Evidence]:
    """The evidence of one frame (B, 3, H, W), which `before` expected and `output` made something of.

    In a blackout (B,) nothing can be told, and nothing is forgotten; while slots are `settling` nothing is told either.
    """
    held = before.registry.bound & output.bound
    expected, shown = before.next_frame, output.present.visible_masks.detach()
    wrong = _distance(frame, expected.frame)                                                    # (B, 1, H, W)
    empty = _distance(frame, before.background)
    missing = (expected.visible_masks * (wrong - empty)).sum((2, 3))
    missing = (vigilance.missing + missing).clamp(min=0) * held

    difference, weight, looks = _looks(vigilance, held, output, frame, before.background)

    free = (1 - expected.visible_masks.sum(1, keepdim=True)).clamp(0, 1)
    rest = wrong * free * foreground(frame, before.background) * _inside(frame)
    found = (shown * rest).sum((2, 3))
    most = (found == found.amax(1, keepdim=True)) & (found > rest.sum((1, 2, 3)).unsqueeze(1) / 4)

    areas = (expected.object_masks > 0.5).sum((2, 3)).to(missing.dtype)
    largest = torch.where(output.bound, torch.maximum(vigilance.largest, areas), torch.zeros_like(areas))
    evidence = Evidence(
        missing=missing, difference=difference, weight=weight, unexpected=rest.sum((1, 2, 3)), finder=most,
        large=largest >= SCREEN_SHARE * frame.shape[-2] * frame.shape[-1],
    )
    following = Vigilance(missing, *looks, largest)
    if settling:
        return following, evidence.map(torch.zeros_like)
    if blackout is None or not bool(blackout.any()):
        return following, evidence
    light = ~blackout
    pairs = zip(_leaves(following), _leaves(vigilance), strict=True)
    kept = Vigilance(*(_choose(light, new, old) for new, old in pairs))
    return kept, evidence.map(lambda leaf: leaf * light.view(-1, *[1] * (leaf.ndim - 1)))


def judged(evidence: Evidence, scale: SurpriseScale) -> Surprise:
    """Evidence in bits."""
    changed = scale.change(evidence.difference, evidence.weight)
    slots = torch.where(
        evidence.large,
        torch.maximum(scale.bits("missing_large", evidence.missing), scale.bits("changed_large", changed)),
        torch.maximum(scale.bits("missing", evidence.missing), scale.bits("changed", changed)),
    )
    unexpected = scale.bits("unexpected", evidence.unexpected)
    return Surprise(torch.where(evidence.finder, torch.maximum(slots, unexpected.unsqueeze(1)), slots), unexpected)


def _looks(
    vigilance: Vigilance, held: Tensor, output: StepOutput, frame: Tensor, background: Tensor
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Differences (B, K, G) and weights (B, K) of looks, and the sums and counts to remember."""
    gestalt, dtype = output.sensed.gestalt, output.occlusion.dtype
    there = explained_share(output.present.visible_masks.detach(), frame, background) > THERE
    near = output.sensed.position.abs().amax(-1) < INSIDE
    seen = held & there & near & (output.occlusion < WELL_SEEN)
    hides = (output.occlusion > HIDDEN) & (vigilance.looks_since > 0)
    before = vigilance.before + vigilance.since * hides.unsqueeze(-1)
    looks_before = vigilance.looks_before + vigilance.looks_since * hides
    since = torch.where(hides.unsqueeze(-1), torch.zeros_like(before), vigilance.since) + gestalt * seen.unsqueeze(-1)
    looks_since = torch.where(hides, torch.zeros_like(looks_before), vigilance.looks_since) + seen.to(dtype)
    compared = seen & (looks_before >= ENOUGH)
    means = since / looks_since.clamp(min=1).unsqueeze(-1) - before / looks_before.clamp(min=1).unsqueeze(-1)
    weight = 1 / (1 / looks_since.clamp(min=1) + 1 / looks_before.clamp(min=1)) * compared
    wide = held.unsqueeze(-1)
    kept = before * wide, looks_before * held, since * wide, looks_since * held
    return means * compared.unsqueeze(-1), weight, kept


def _distance(one: Tensor, other: Tensor) -> Tensor:
    """(B, 1, H, W) squared, summed over the colours."""
    return (one - other).square().sum(1, keepdim=True)


def _inside(frame: Tensor) -> Tensor:
    """(1, 1, H, W) 1 away from the border."""
    height, width = frame.shape[-2:]
    band = round(BORDER * height)
    inside = torch.zeros(1, 1, height, width, dtype=frame.dtype, device=frame.device)
    inside[..., band : height - band, band : width - band] = 1
    return inside


def _leaves(vigilance: Vigilance) -> list[Tensor]:
    return [vigilance.missing, vigilance.before, vigilance.looks_before, vigilance.since, vigilance.looks_since,
            vigilance.largest]


def _choose(condition: Tensor, new: Tensor, old: Tensor) -> Tensor:
    return torch.where(condition.view(-1, *[1] * (new.ndim - 1)), new, old)
