"""Where a run's clips come from: a generator by its name, cached once, or a folder of stored clips."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from loci_looped.data import store, worlds
from loci_looped.data.clip import Clip
from loci_looped.data.dataset import ClipDataset, Pixels, generated_dataset
from loci_looped.errors import LociError
from loci_looped.training.config import DataConfig, TrainConfig

Report = Callable[[int, int], None]


class StoredClips:
    """Clips on disk, in the order of their names, every `stride`-th frame."""

    def __init__(self, folder: str, stride: int):
        self.files, self.stride = store.clip_files(folder), stride

    def __len__(self) -> int:
        return len(self.files)

    def pixels(self, index: int) -> Pixels:
        frames, background = store.load_pixels(self.files[index])
        return frames[:: self.stride], background


def cache_folder() -> Path:
    """Where generated clips are kept between runs; LOCI_CACHE moves it."""
    chosen = os.environ.get("LOCI_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "loci-looped"


def _generated(seed: int, *, kind: str, size: tuple[int, int], stride: int) -> Clip:
    (clip,) = worlds.world(kind).make(seed, size)
    return clip if stride == 1 else clip.strided(stride)


def open_dataset(config: TrainConfig, size: tuple[int, int], report: Report | None = None) -> ClipDataset:
    """The training clips at the network's size; whatever does not fit is said before training begins."""
    data = config.data
    if data.folder:
        dataset = ClipDataset(StoredClips(data.folder, data.stride), data.batch, config.seed)
    else:
        make = partial(_generated, kind=data.world, size=size, stride=data.stride)
        seeds = range(data.first_seed, data.first_seed + data.clips)
        dataset = generated_dataset(
            make, seeds, batch_size=data.batch, seed=config.seed, cache=cache_folder() / _cache_name(data, size),
            on_progress=report,
        )
    frames, _ = dataset[0]
    if tuple(frames.shape[2:]) != size:
        raise LociError(
            f"The clips are {frames.shape[2]} x {frames.shape[3]} pixels, but the network works at {size[0]} x {size[1]}: "
            f"generate them with --size {size[0]}x{size[1]}, or change --model.latent."
        )
    if frames.shape[0] < 2:
        raise LociError("The clips have a single frame; a network that predicts the next frame needs at least two.")
    return dataset


def _cache_name(data: DataConfig, size: tuple[int, int]) -> str:
    return f"{data.world}-{size[0]}x{size[1]}-stride{data.stride}-seed{data.first_seed}-{data.clips}"
