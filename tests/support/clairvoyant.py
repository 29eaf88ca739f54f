"""For the tests of the experiments: small painted clips, and a model that is told what happens in them.

A ball rolls from left to right behind a screen; in a surprise clip it is taken away while hidden, which the model does
not know: it goes on believing in the ball. Both are made without a renderer, so the truth is known by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from loci_looped.baselines.protocol import Expectation, Slots
from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.coordinates import from_pixels
from loci_looped.data.store.clip_spec import StoredClip
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.inference.pixels import to_tensor

SIZE = (24, 36)
FRAMES = 60
GONE_AT = 25
Bend = Callable[[Slots, int, Sequence[Clip]], Slots]
COLOURS = np.array([[220, 40, 40], [40, 60, 200]], dtype=np.uint8)


def believed_places(seed: int) -> np.ndarray:
    """(T, 2, 2) pixels of the ball, as if nobody ever took it away, and of the screen."""
    places = np.zeros((FRAMES, 2, 2))
    places[:, 0] = np.stack([np.full(FRAMES, 14 + seed % 3), 1 + 0.55 * np.arange(FRAMES) + 0.1 * (seed % 5)], axis=-1)
    places[:, 1] = (12, 18)
    return places


def shapes(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(T, 2, H, W) visible and whole masks: the screen stands before the ball."""
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    ball = np.hypot(rows - places[:, 0, 0, None, None], columns - places[:, 0, 1, None, None]) <= 2.5
    screen = np.broadcast_to((abs(rows - 12) <= 9) & (abs(columns - 18) <= 6), ball.shape)
    return np.stack([ball & ~screen, screen], axis=1), np.stack([ball, screen], axis=1)


def paint(visible: np.ndarray) -> np.ndarray:
    """(T, H, W, 3) bytes."""
    picture = np.full((*visible.shape[:1], *SIZE, 3), 128, dtype=np.uint8)
    for index, colour in enumerate(COLOURS):
        picture[visible[:, index]] = colour
    return picture


def clip_of(seed: int, surprise: bool = False, told: bool = True) -> Clip:
    places = believed_places(seed)
    visible, whole = shapes(places)
    if surprise:
        visible[GONE_AT:, 0] = whole[GONE_AT:, 0] = False
        places[GONE_AT:, 0] = np.nan
    depths = np.broadcast_to(np.array([2, 1], np.float32), (FRAMES, 2))
    truth = ObjectTruth(("red ball", "screen"), ("mover", "screen"), places.astype(np.float32), visible, whole, depths)
    events = (Event("violation", GONE_AT, 0), Event("removed", GONE_AT, 0)) if surprise else ()
    background = np.full((*SIZE, 3), 128, dtype=np.uint8)
    source = "test/surprise" if surprise else "test"
    return Clip(paint(visible), background, truth if told else None, events, seed, source)


@dataclass(frozen=True)
class ClipInMemory(StoredClip):
    clip: Clip

    def make(self) -> Clip:
        return self.clip


def spec_of(clip: Clip) -> ClipInMemory:
    """A clip of an experiment that is neither generated nor read."""
    return ClipInMemory(Path(), clip.size, clip)


class Clairvoyant:
    """Believes in straight lines. Its gates are shut exactly while it cannot see; `bend` may spoil what it says."""

    def __init__(self, clips: Sequence[Clip], bend: Bend | None = None) -> None:
        self.clips, self.bend = clips, bend
        self.places = np.stack([believed_places(clip.seed or 0) for clip in clips])            # (B, T, 2, 2)
        masks = [shapes(places) for places in self.places]
        self.visible, self.whole = (np.stack([pair[i] for pair in masks]) for i in (0, 1))     # (B, T, 2, H, W)

    def initial(self, background: Tensor) -> int:
        assert background.shape[1:] == (3, *SIZE)
        return 0

    def step(self, frame: Tensor | None, state: int, *, blackout: Tensor | None = None) -> tuple[int, Slots]:
        t, next_frame = min(state, FRAMES - 1), min(state + 1, FRAMES - 1)
        seen = torch.from_numpy(self.visible[:, t].any(axis=(2, 3)))
        coming = torch.from_numpy(self.visible[:, next_frame]).float()
        empty = 1 - coming.sum(dim=1, keepdim=True)
        pictures = np.stack([paint(visible[next_frame][None])[0] for visible in self.visible])
        slots = Slots(
            positions=torch.from_numpy(from_pixels(self.places[:, t], SIZE)).float(),
            presence=torch.ones(len(self.clips), 2, dtype=torch.bool),
            visible_masks=torch.from_numpy(self.visible[:, t]).float(),
            object_masks=torch.from_numpy(self.whole[:, t]).float(),
            occlusion=1 - seen.float(),
            gate=seen.float().unsqueeze(-1).expand(-1, -1, 2) * torch.tensor([0.5, 1.0]),
            expectation=Expectation(
                to_tensor(pictures), torch.cat([coming, empty], dim=1),
                torch.from_numpy(self.whole[:, next_frame]).float(),
            ),
        )
        return state + 1, slots if self.bend is None else self.bend(slots, t, self.clips)


class ClairvoyantModel(EvaluatedModel):
    """An evaluated model that needs no network."""

    bend: Bend | None = None

    def video_model(self, clips, gate="learned", **_):  # type: ignore[no-untyped-def]
        return Clairvoyant(clips, self.bend)


def clairvoyant(bend: Bend | None = None) -> EvaluatedModel:
    class Bent(ClairvoyantModel):
        pass

    Bent.bend = staticmethod(bend) if bend else None
    return Bent("clairvoyant", None, {"kind": "test"}, SIZE)
