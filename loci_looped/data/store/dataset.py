"""Batches of clips for training, in an order that the seed decides, from any position in the sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from loci_looped.data.clip import Clip
from loci_looped.data.store.shards import Shards, build_shards
from loci_looped.utils.errors import LociError

Pixels = tuple[NDArray[np.uint8], NDArray[np.uint8]]    # frames (T, H, W, 3), background (H, W, 3)


class ClipSource(Protocol):
    """Numbered clips. Asking twice for the same number gives the same bytes."""

    def __len__(self) -> int: ...

    def pixels(self, index: int) -> Pixels: ...


@dataclass(frozen=True)
class GeneratedClips:
    """Clips made when they are asked for: no disk, no memory."""

    make: Callable[[int], Clip]
    seeds: range

    def __len__(self) -> int:
        return len(self.seeds)

    def pixels(self, index: int) -> Pixels:
        clip = self.make(self.seeds[index])
        return clip.frames, clip.background


@dataclass(frozen=True)
class Batch:
    frames: Tensor          # (B, T, 3, H, W) in [0, 1]
    background: Tensor      # (B, 3, H, W) in [0, 1]
    clips: tuple[int, ...]  # which clips of the dataset these are
    epoch: int


class ClipDataset(torch.utils.data.Dataset[tuple[Tensor, Tensor]]):
    """Clips of equal length in shuffled batches. Batch n depends on (seed, n) alone, so training resumes anywhere."""

    def __init__(self, source: ClipSource, batch_size: int = 8, seed: int = 0, shuffle: bool = True) -> None:
        if batch_size < 1 or len(source) < batch_size:
            raise LociError(f"{len(source)} clips cannot fill a batch of {batch_size}: more clips or a smaller batch.")
        self.source, self.batch_size, self.seed, self.shuffle = source, batch_size, seed, shuffle

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """One clip: frames (T, 3, H, W) and background (3, H, W), in [0, 1]."""
        frames, background = self.source.pixels(index)
        return _to_floats(frames), _to_floats(background)

    @property
    def batches_per_epoch(self) -> int:
        """Whole batches; what is left over in one epoch is seen in another, because each has its own order."""
        return len(self.source) // self.batch_size

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The sequence of clips in an epoch."""
        if not self.shuffle:
            return np.arange(len(self.source))
        stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, epoch])))
        return stream.permutation(len(self.source))

    def batch_at(self, number: int) -> Batch:
        """Batch `number` of the endless training sequence, counted from 0."""
        epoch, place = divmod(number, self.batches_per_epoch)
        chosen = self.order(epoch)[place * self.batch_size:(place + 1) * self.batch_size]
        pixels = [self.source.pixels(int(index)) for index in chosen]
        if len({frames.shape for frames, _ in pixels}) > 1:
            shapes = sorted({frames.shape[:3] for frames, _ in pixels})
            raise LociError(f"Clips of one batch must have equal length and size, but these have (T, H, W) {shapes}.")
        return Batch(
            frames=_to_floats(np.stack([frames for frames, _ in pixels])),
            background=_to_floats(np.stack([background for _, background in pixels])),
            clips=tuple(int(index) for index in chosen),
            epoch=epoch,
        )

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """The endless sequence from batch `start` on."""
        number = start
        while True:
            yield self.batch_at(number)
            number += 1


def _to_floats(pixels: NDArray[np.uint8]) -> Tensor:
    """(..., H, W, 3) bytes -> (..., 3, H, W) in [0, 1], contiguous."""
    planes = np.ascontiguousarray(np.moveaxis(pixels, -1, -3))
    return torch.from_numpy(planes).to(torch.float32).div_(255)


def generated_dataset(make: Callable[[int], Clip], seeds: range, *, batch_size: int = 8, seed: int = 0,
                      cache: Path | None = None, on_progress: Callable[[int, int], None] | None = None) -> ClipDataset:
    """Clips `make(seed)` for each of the seeds, generated on the fly, or once into `cache` and then memory-mapped."""
    if cache is None:
        return ClipDataset(GeneratedClips(make, seeds), batch_size, seed)
    build_shards(make, seeds, cache, on_progress=on_progress)
    return ClipDataset(Shards(cache), batch_size, seed)
