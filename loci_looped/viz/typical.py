"""How much more surprising is it when a hidden object does not come out? Over several scenes, so that none flatters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from loci_looped.configs.scenes import FIRST_VALIDATION_SEED
from loci_looped.configs.surprise import ROUGH
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import Size
from loci_looped.data.store.clip_cache import cached_clip
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.inference.pixels import backgrounds_of, frames_at
from loci_looped.inference.run import scan
from loci_looped.inference.surprise import Surprise
from loci_looped.inference.surprised_model import SurprisedModel, SurprisedState
from loci_looped.inference.video_model import LociVideoModel
from loci_looped.model.loci import LociLooped
from loci_looped.model.state import StepOutput

Floats = NDArray[np.float64]
SEEDS = tuple(range(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED + 10))
"""Scenes for choices; test scenes are not looked at for a demonstration."""


@dataclass(frozen=True)
class SurpriseRatios:
    """For each scene: the peak of surprise, in bits, about an object that vanishes over its peak when it comes out (one
    bit if it is less: every second ordinary film has that); NaN where no slot ever held it."""

    seeds: tuple[int, ...]
    ratios: tuple[float, ...]

    @property
    def known(self) -> list[tuple[float, int]]:
        """(ratio, seed), from the smallest on."""
        pairs = zip(self.ratios, self.seeds, strict=True)
        return sorted(pair for pair in pairs if not math.isnan(pair[0]))

    @property
    def typical(self) -> int:
        """The seed of the scene in the middle; the first one if the network holds nothing in any of them."""
        return self.known[len(self.known) // 2][1] if self.known else self.seeds[0]

    def sentence(self) -> str:
        if not self.known:
            return f"In none of {len(self.seeds)} scenes does a slot take hold of the object."
        ratios = [ratio for ratio, _ in self.known]
        held = "" if len(ratios) == len(self.seeds) else f"; in {len(ratios)} of them a slot held the object"
        return (
            f"Over {len(self.seeds)} scenes (seeds {self.seeds[0]} to {self.seeds[-1]}{held}) this ratio lies between "
            f"{ratios[0]:.1f} and {ratios[-1]:.1f}, in the middle at {float(np.median(ratios)):.1f}."
        )


def surprise_ratios(model: LociLooped, seeds: Sequence[int] = SEEDS) -> SurpriseRatios:
    """Watch a control and a surprise scene of each seed, all of a kind together; nothing is drawn."""
    size = model.config.frame
    control, surprise = (
        [cached_clip(ClipSpec(kind, seed, size)) for seed in seeds] for kind in ("vanish-control", "vanish-surprise")
    )
    things = [_removed(clip) for clip in surprise]
    ends = [end_of(clip.known_truth().positions, *removed, size) for clip, removed in zip(control, things, strict=True)]
    peaks = []
    for clips in (control, surprise):
        surprises, overlaps = _watched(model, clips)
        peaks.append([
            peak(surprises[:, b], overlaps[b, thing], first, ends[b]) for b, (thing, first) in enumerate(things)
        ])
    ratios = tuple(ratio(vanished, usual) for usual, vanished in zip(*peaks, strict=True))
    return SurpriseRatios(tuple(seeds), ratios)


def ratio(vanished: float, usual: float) -> float:
    """Of two surprises in bits; less than one bit counts as one."""
    return max(vanished, 1.0) / max(usual, 1.0) if math.isfinite(vanished + usual) else math.nan


def peak(surprise: Floats, overlap: Floats, first: int, end: int) -> float:
    """The largest surprise (T, K) of the slot that overlapped (K,) most with the object, from `first` up to `end`."""
    if not overlap.any():
        return math.nan
    return float(surprise[first:end, int(overlap.argmax())].max())


def end_of(positions: NDArray[np.floating], thing: int, removed: int, size: Size) -> int:
    """The first frame in which the object's middle has left the image for good: what left long ago is another story."""
    with np.errstate(invalid="ignore"):
        inside = np.asarray(((positions[:, thing] >= 0) & (positions[:, thing] < np.array(size))).all(axis=-1))
    last = max((t + 1 for t, there in enumerate(inside) if there), default=len(inside))
    return max(last, removed + 1)


def _removed(clip: Clip) -> tuple[int, int]:
    """Which object is taken away, and when."""
    event = next(event for event in clip.events if event.kind == "removed")
    return event.object or 0, event.frame


@torch.no_grad()
def _watched(model: LociLooped, clips: Sequence[Clip]) -> tuple[Floats, Floats]:
    """(T, B, K) surprise of slots that hold something, and (B, O, K) pixels that objects and slots shared in sight."""
    video_model = SurprisedModel(LociVideoModel(model.eval()), model.surprise_scale or ROUGH)

    def step(t: int, state: SurprisedState) -> tuple[SurprisedState, tuple[StepOutput, Surprise]]:
        following, output, surprise = video_model.observe(frames_at(clips, t), state)
        return following, (output, surprise)

    surprises, overlaps = [], 0.0
    for t, (output, surprise) in scan(step, video_model.initial(backgrounds_of(clips)), range(len(clips[0]))):
        surprises.append((surprise.slots * output.bound).cpu().numpy().astype(np.float64))
        shown = (output.present.visible_masks > 0.5) & output.bound[..., None, None]
        truth = np.stack([clip.known_truth().visible_masks[t] for clip in clips])
        overlaps = overlaps + np.einsum("bohw,bkhw->bok", truth.astype(np.float64), shown.cpu().numpy())
    return np.stack(surprises), np.asarray(overlaps)
