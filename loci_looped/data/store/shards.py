"""A cache of generated clips: raw bytes in a few memory-mapped files, made one by one, resumable, checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip
from loci_looped.utils.atomic import replacing, write_text
from loci_looped.utils.errors import LociError

MANIFEST = "shards.json"
VERSION = 1
CLIPS_PER_SHARD = 50


def _shard_name(number: int) -> str:
    return f"shard-{number:05d}.npy"


def build_shards(make: Callable[[int], Clip], seeds: range, folder: Path,
                 on_progress: Callable[[int, int], None] | None = None) -> None:
    """Generate the clips of the seeds into the folder. What an interrupted run has finished is kept.

    The first clip is generated again each time and compared, so that a cache made by other code, for other seeds or in
    another size is refused.
    """
    first = make(seeds[0])
    wanted = {
        "version": VERSION, "source": first.source, "seeds": [seeds.start, seeds.stop, seeds.step],
        "clip_shape": list(first.frames.shape), "clips_per_shard": CLIPS_PER_SHARD,
    }
    manifest = folder / MANIFEST
    if manifest.exists():
        found = _read_manifest(folder)
        if found != wanted:
            raise LociError(f"{folder} holds clips of {found}, not of {wanted}. Choose another folder or delete it.")
    else:
        write_text(manifest, json.dumps(wanted, indent=1))
    num_shards = -(-len(seeds) // CLIPS_PER_SHARD)
    for number in range(num_shards):
        path = folder / _shard_name(number)
        chunk = seeds[number * CLIPS_PER_SHARD:(number + 1) * CLIPS_PER_SHARD]
        if path.exists() and number == 0 and not np.array_equal(_open(path)[0, :-1], first.frames):
            raise LociError(f"{path} was made by another version of the generator. Delete {folder} and start again.")
        if not path.exists():
            _write_shard(make, chunk, path, first.frames.shape)
        if on_progress is not None:
            on_progress(min((number + 1) * CLIPS_PER_SHARD, len(seeds)), len(seeds))


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LociError(f"{folder} has no {MANIFEST}: it is not a folder of generated shards.") from None
    except ValueError as error:
        raise LociError(f"{folder / MANIFEST} is damaged ({error}). Delete {folder} and start again.") from error
    return about


def _write_shard(make: Callable[[int], Clip], seeds: range, path: Path, shape: tuple[int, ...]) -> None:
    """(N, T + 1, H, W, 3): the frames of each clip, and its background as one more picture at the end."""
    pixels = np.empty((len(seeds), shape[0] + 1, *shape[1:]), dtype=np.uint8)
    for index, seed in enumerate(seeds):
        clip = make(seed)
        if clip.frames.shape != shape:
            raise LociError(f"Clip {seed} has shape {clip.frames.shape}, the first {shape}: shards need equal clips.")
        pixels[index, :-1], pixels[index, -1] = clip.frames, clip.background
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, pixels)


def _open(path: Path) -> NDArray[np.uint8]:
    try:
        shard: NDArray[np.uint8] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        raise LociError(f"{path} is not a shard of clips ({error}). Delete it: it will be made again.") from error
    return shard


class Shards:
    """The clips of a folder made by `build_shards`."""

    def __init__(self, folder: Path) -> None:
        about = _read_manifest(folder)
        self.seeds = range(*about["seeds"])
        self.clips_per_shard = int(about["clips_per_shard"])
        self.files = [_open(folder / _shard_name(n)) for n in range(-(-len(self.seeds) // self.clips_per_shard))]

    def __len__(self) -> int:
        return len(self.seeds)

    def pixels(self, index: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Frames (T, H, W, 3) and background (H, W, 3), still on disk until they are touched."""
        number, place = divmod(index, self.clips_per_shard)
        clip = self.files[number][place]
        return clip[:-1], clip[-1]
