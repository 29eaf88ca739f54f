"""Where a run's clips come from: a generator by its name, or a folder of films; prepared once and cached."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from loci_looped.configs.scenes import TrainingScene
from loci_looped.configs.training import DataConfig, RunConfig
from loci_looped.data.clip import Clip
from loci_looped.data.films.prepare import Preparation
from loci_looped.data.render.clips import make_clip
from loci_looped.data.store.dataset import Batch, ClipDataset, generated_dataset
from loci_looped.data.store.film_folder import Cut, CutClips, open_film_folder, some
from loci_looped.utils.cache import cache_folder
from loci_looped.utils.errors import LociError

Report = Callable[[int, int], None]

MOST_OBJECTS: dict[TrainingScene, int] = {"vanish": 4, "collide": 6, "balls-interaction": 3, "balls-occlusion": 3}
"""The largest number of objects in a clip of each generator, a screen included."""


@dataclass(frozen=True)
class TrainingClips:
    """The endless sequence of batches. Batch n depends on the seed and on n alone, so training resumes anywhere."""

    dataset: ClipDataset
    stride: int = 1
    apart: tuple[Cut, ...] = ()         # of a folder: what is held out for validation
    notes: tuple[str, ...] = ()         # what a careful user should know about the films
    mirrored: bool = False

    def batch_at(self, number: int) -> Batch:
        """Every `stride`-th frame, beginning anywhere in the first stride; half of the clips as in a mirror."""
        batch = self.dataset.batch_at(number)
        if self.stride > 1:
            begin = int(self._random(number, self.stride).integers(self.stride))
            batch = dataclasses.replace(batch, frames=batch.frames[:, begin :: self.stride])
        return mirror(batch, self._random(number, 0)) if self.mirrored else batch

    def _random(self, number: int, purpose: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.dataset.seed, number, purpose])))

    def held_out(self, count: int) -> list[Clip]:
        """At most `count` of the held-out clips, spread over the films; none for generated scenes."""
        return [cut.clip().strided(self.stride) for cut in some(self.apart, count)]


def mirror(batch: Batch, random: np.random.Generator) -> Batch:
    """Some clips of a batch, half of them on average, with left and right exchanged."""
    chosen = torch.from_numpy(random.random(len(batch.clips)) < 0.5)

    def turned(pictures: Tensor) -> Tensor:
        return torch.where(chosen.view(-1, *[1] * (pictures.ndim - 1)), pictures.flip(-1), pictures)

    return dataclasses.replace(batch, frames=turned(batch.frames), background=turned(batch.background))


def open_dataset(config: RunConfig, size: tuple[int, int], report: Report | None = None) -> TrainingClips:
    """The training clips at the network's size; whatever does not fit is said before training begins."""
    data = config.data
    if data.batch < 1 or data.stride < 1:
        raise LociError(f"data.batch is {data.batch} and data.stride {data.stride}; both must be at least 1.")
    if data.folder:
        clips = _open_folder(config, size, report)
    else:
        if data.clips < data.batch:
            raise LociError(
                f"{data.clips} clips cannot fill a batch of {data.batch}: raise --data.clips or lower --data.batch."
            )
        _check_slots(config, MOST_OBJECTS[data.world], f"clips of the world {data.world}")
        seeds = range(data.first_seed, data.first_seed + data.clips)
        clips = TrainingClips(generated_dataset(
            partial(make_clip, data.world, size=size), seeds, batch_size=data.batch, seed=config.seed,
            cache=cache_folder() / _cache_name(data, size), on_progress=report,
        ), data.stride)
    _check_length(clips)
    return clips


def _open_folder(config: RunConfig, size: tuple[int, int], report: Report | None) -> TrainingClips:
    data = config.data
    if data.length < 2:
        raise LociError(f"data.length is {data.length}; a network that predicts the next frame needs at least two.")
    found = open_film_folder(
        data.folder, Preparation(size, crop=data.crop, occluder=data.occluder), cache_folder(),
        length=data.length * data.stride, held_out=data.held_out if config.validation_scenes else 0.0,
        moving_camera=data.moving_camera, on_progress=report,
    )
    most = max(found.files, key=lambda file: file.objects)
    _check_slots(config, most.objects, str(most.film))
    source = CutClips(found.training)
    if len(source) < data.batch:
        raise LociError(
            f"{data.folder} gives {len(source)} clips to learn from, which cannot fill a batch of {data.batch}: add "
            f"films, or use a smaller --data.batch{' or --data.length' if len(source) else ''}."
        )
    dataset = ClipDataset(source, data.batch, config.seed)
    return TrainingClips(dataset, data.stride, found.held_out, found.notes, data.mirrored)


def _check_slots(config: RunConfig, objects: int, where: str) -> None:
    """Every object needs a slot of its own; with fewer, what is learnt about the others is wrong."""
    if objects > config.slots:
        raise LociError(
            f"There are up to {objects} objects in {where}, but the network has only {config.slots} slots, and "
            f"each object needs one: use --model.slots {objects}."
        )


def _check_length(clips: TrainingClips) -> None:
    frames = clips.dataset[0][0]
    if frames.shape[0] // clips.stride < 2:
        raise LociError(
            f"The clips have {frames.shape[0]} frames, at stride {clips.stride} fewer than two; a network that "
            "predicts the next frame needs at least two."
        )


def _cache_name(data: DataConfig, size: tuple[int, int]) -> str:
    return f"{data.world}-{size[0]}x{size[1]}-seed{data.first_seed}-{data.clips}"
