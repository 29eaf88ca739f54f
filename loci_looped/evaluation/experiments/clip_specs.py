"""The films of the experiments: which ones a test set has, made once, then kept in the cache folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol

import numpy as np

import loci_looped.data
from loci_looped.data.clip import Clip
from loci_looped.data.formats.clevrer import BURN_IN, ROLLOUT, STRIDE, slotformer_start
from loci_looped.data.formats.images import resize, resize_masks
from loci_looped.data.scenes import balls, collide, vanish
from loci_looped.data.scenes.scene import Scene
from loci_looped.data.store.clip_file import load_clip, save_clip
from loci_looped.utils.cache import cache_folder
from loci_looped.utils.errors import LociError

Size = tuple[int, int]
ProgressCallback = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def no_progress(label: str, done: int, total: int) -> None:
    """For those who do not want to be told."""


class Take(Protocol):
    """A film that can be made at any time: everything that decides its pixels."""

    def key(self) -> str:
        """Equal for takes with equal pixels and truth."""
        ...

    def make(self) -> Clip: ...

    def name(self, clip: Clip) -> Clip:
        """The clip under this take's own name, as another take may have made it."""
        ...


@dataclass(frozen=True)
class VanishTake:
    scene: Scene
    size: Size
    seed: int
    source: str

    def key(self) -> str:
        return _hash("vanish", self.scene, self.size)

    def make(self) -> Clip:
        return vanish.film_test(self.scene, self.size, self.seed, self.source)

    def name(self, clip: Clip) -> Clip:
        return replace(clip, seed=self.seed, source=self.source)


@dataclass(frozen=True)
class CollideTake:
    """48 frames, every second one from `start` on, in which nobody enters after the burn-in."""

    seed: int
    start: int
    size: Size

    def key(self) -> str:
        return _hash("collide", self)

    def make(self) -> Clip:
        frames = range(self.start, self.start + (BURN_IN + ROLLOUT) * STRIDE, STRIDE)
        return collide.clip(self.seed, self.size, frames)

    def name(self, clip: Clip) -> Clip:
        return clip


@dataclass(frozen=True)
class BallsTake:
    """Sequence `index` of the published test split, at the network's size."""

    scenario: balls.ScenarioName
    index: int
    size: Size
    frames: int = balls.FRAMES

    def key(self) -> str:
        return _hash("balls", self)

    def make(self) -> Clip:
        return fitted(balls.sequence(self.scenario, "test", self.index), self.size, self.frames)

    def name(self, clip: Clip) -> Clip:
        return clip


@dataclass(frozen=True)
class StoredTake:
    """A `.clip` file of the user's, shown at the network's size."""

    path: Path
    size: Size

    def key(self) -> str:
        return ""                   # it has a file already

    def make(self) -> Clip:
        clip = load_clip(self.path)
        return replace(fitted(clip, self.size), source=clip.source or self.path.name)

    def name(self, clip: Clip) -> Clip:
        return clip


def fitted(clip: Clip, size: Size, frames: int | None = None) -> Clip:
    """The clip at another size, with its truth; only the first `frames` frames of it."""
    span = slice(0, frames)
    if clip.size == size and (frames is None or len(clip) <= frames):
        return clip
    height, width = clip.size
    if abs(height * size[1] - width * size[0]) > max(height * size[1], width * size[0]) / 20:
        raise LociError(
            f"{clip.source or 'A clip'} is {height} x {width} pixels, but the network works at {size[0]} x {size[1]}: "
            "another shape of picture. Evaluate a network that was made for such clips."
        )
    truth = clip.truth
    if truth is not None:
        scale = np.array(size, np.float32) / np.array(clip.size, np.float32)
        positions = (truth.positions[span] + np.float32(0.5)) * scale - np.float32(0.5)
        truth = replace(
            truth, positions=positions.astype(np.float32), depths=truth.depths[span],
            visible_masks=resize_masks(truth.visible_masks[span], size),
            object_masks=resize_masks(truth.object_masks[span], size),
        )
    pictures = np.stack([resize(np.asarray(frame), size) for frame in clip.frames[span]])
    return replace(clip, frames=pictures, background=resize(np.asarray(clip.background), size), truth=truth)


# ------------------------------------------------------------------------------------------------------ the cache

def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


@cache
def generator_version() -> str:
    """A fingerprint of the generators' source: films made by another version are never taken for ours."""
    folder = Path(str(loci_looped.data.__file__)).parent
    content = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        content.update(file.name.encode() + b"\0" + file.read_bytes())
    return content.hexdigest()[:12]


def cached_file(take: Take) -> Path:
    return cache_folder() / "films" / generator_version() / f"{take.key()}.clip"


def film(take: Take) -> Clip:
    """The clip of a take: from the cache if it is there and whole, else made now and put there."""
    if not take.key():
        return take.make()
    path = cached_file(take)
    if path.is_file():
        try:
            return take.name(load_clip(path))
        except LociError:
            pass                    # damaged: it is made again
    clip = take.make()
    with suppress(LociError, OSError):      # a full or read-only disk costs time, not the experiment
        save_clip(clip, path)
    return take.name(clip)


def _put_in_cache(take: Take) -> None:
    film(take)


def make_films(takes: Sequence[Take], workers: int = 1, on_progress: ProgressCallback = no_progress) -> None:
    """Make what is not in the cache yet, each film once, in several processes if that is worth it."""
    missing = {take.key(): take for take in takes if take.key() and not cached_file(take).is_file()}
    total = len(missing)
    if total == 0:
        return
    on_progress("making films", 0, total)
    if workers < 2 or total < 4:
        for done, take in enumerate(missing.values()):
            _put_in_cache(take)
            on_progress("making films", done + 1, total)
        return
    # Fresh processes: forking one in which torch already has threads may hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_put_in_cache, take) for take in missing.values()]
        for done, future in enumerate(as_completed(futures)):
            future.result()
            on_progress("making films", done + 1, total)


# ------------------------------------------------------------------------------------------------------ collide

def collide_takes(count: int, first_seed: int, size: Size) -> list[CollideTake]:
    """The first `count` seeds whose story has a clip in which nobody enters late (about every second one has)."""
    takes: list[CollideTake] = []
    seed = first_seed
    while len(takes) < count:
        start = slotformer_start(_in_view(collide.story(seed)))
        if start is not None:
            takes.append(CollideTake(seed, start, size))
        seed += 1
    return takes


def _in_view(story: collide.Story) -> np.ndarray:
    """(T, O) is the centre of the thing inside the image?"""
    pixels = collide.CAMERA.project(story.motion().locations, (320, 480))
    return np.asarray((np.abs(pixels[..., 0] - 159.5) <= 160) & (np.abs(pixels[..., 1] - 239.5) <= 240))
