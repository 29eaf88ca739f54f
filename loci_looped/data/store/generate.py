"""Generated clips written to a folder, in our layout or in a release's; what is there already is not made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loci_looped.data.clip import Clip
from loci_looped.data.formats import adept, clevrer, gswm, video
from loci_looped.data.formats.writers import write_adept, write_clevrer
from loci_looped.data.scenes import balls
from loci_looped.data.scenes.generators import Generator, Layout, Size, generator_of, published
from loci_looped.data.scenes.world_motion import WorldMotion
from loci_looped.data.store.clip_file import SUFFIX, load_clip, save_clip
from loci_looped.utils.errors import LociError

Clips = Callable[[], tuple[Clip, ...]]
Report = Callable[[int, bool, Clips], None]     # how many clips a seed gave, if they were made just now, the clips


@dataclass(frozen=True)
class Order:
    """What is wanted: clips of a kind from a range of seeds, at a size, in a layout, in a folder."""

    kind: str
    seeds: range
    out: Path
    size: Size | None = None            # None: the kind's own
    layout: Layout = "native"
    split: balls.Split | None = None    # of the published bouncing balls; the seeds are then numbers of sequences
    overwrite: bool = False

    def __post_init__(self) -> None:
        chosen = self.generator
        if len(self.seeds) < 1 or self.seeds[0] < 0:
            raise LociError(f"At least one clip, with seeds from 0 on, not {len(self.seeds)} from {self.seeds.start}.")
        if self.layout not in chosen.layouts:
            raise LociError(f"{self.kind} can be written as {', '.join(chosen.layouts)}, not as {self.layout}.")
        if self.out.exists() and not self.out.is_dir():
            raise LociError(f"{self.out} is a file, but a folder is needed there.")

    @property
    def generator(self) -> Generator:
        return published(self.kind, self.split) if self.split else generator_of(self.kind)

    @property
    def frame_size(self) -> Size:
        return self.size or self.generator.size


def produce(order: Order, report: Report) -> None:
    """Make and write the clips, one seed after the other; memory does not grow with their number."""
    if order.layout in ("gswm", "loci"):
        _one_file(order, report)
        return
    write = {"native": _native, "adept": _adept, "clevrer": _clevrer}[order.layout]
    for seed in order.seeds:
        write(order, seed, report)


def _native(order: Order, seed: int, report: Report) -> None:
    files = [order.out / f"{name}{SUFFIX}" for name in order.generator.names(seed)]
    if all(file.exists() for file in files) and not order.overwrite:
        stored = tuple(load_clip(file, verify=False) for file in files)
        for file, clip in zip(files, stored, strict=True):
            _check_size(clip.size, file, order)
        report(len(files), False, lambda: stored)
        return
    clips = order.generator.make(seed, order.frame_size)
    for file, clip in zip(files, clips, strict=True):
        save_clip(clip, file)
    report(len(clips), True, lambda: clips)


def _adept(order: Order, seed: int, report: Report) -> None:
    folders = [order.out / name for name in order.generator.names(seed)]
    if all(folder.exists() for folder in folders) and not order.overwrite:
        for folder in folders:
            _check_size(video.info(folder / "imgs").size, folder, order)
        report(len(folders), False, lambda: tuple(adept.read(folder).clip for folder in folders))
        return
    clips, motions = _with_motion(order, seed)
    for folder, clip, motion in zip(folders, clips, motions, strict=True):
        write_adept(order.out, folder.name, clip, order.generator.fps, motion, overwrite=True)
    report(len(clips), True, lambda: clips)


def _clevrer(order: Order, seed: int, report: Report) -> None:
    film = clevrer.film_path(order.out, seed)
    if film.exists() and not order.overwrite:
        _check_size(video.info(film).size, film, order)
        report(1, False, lambda: (clevrer.read(clevrer.open_library(order.out), seed).clip,))
        return
    (clip,), (motion,) = _with_motion(order, seed)
    write_clevrer(order.out, seed, clip, order.generator.fps, motion)
    report(1, True, lambda: (clip,))


def _with_motion(order: Order, seed: int) -> tuple[tuple[Clip, ...], tuple[WorldMotion, ...]]:
    assert order.generator.motion is not None           # every kind that can be written in a release's folders has it
    return order.generator.make(seed, order.frame_size), order.generator.motion(seed)


def _check_size(size: Size, place: Path, order: Order) -> None:
    if size != order.frame_size:
        (height, width), (wanted_height, wanted_width) = size, order.frame_size
        raise LociError(
            f"{place} is there already at {height}x{width}, but {wanted_height}x{wanted_width} is wanted; "
            f"choose another folder, or overwrite it."
        )


def _one_file(order: Order, report: Report) -> None:
    """G-SWM's HDF5, or Loci-Looped's, whose name says what is in it."""
    chosen, scenario, split = order.generator, order.generator.scenario, order.split
    assert scenario is not None             # only balls have these layouts
    stem = f"balls_{scenario}-{split or 'seeds'}"
    path = order.out / (f"{stem}-64x64-v1.hdf5" if order.layout == "loci" else f"{stem}.h5")
    if path.exists() and not order.overwrite:
        raise LociError(f"{path} exists already; choose another folder, or overwrite it.")

    def told(clip: Clip) -> None:
        report(1, True, lambda: (clip,))

    def clips() -> Iterator[Clip]:
        for seed in order.seeds:
            (clip,) = chosen.make(seed, order.frame_size)
            yield clip
            told(clip)

    if order.layout == "loci":
        gswm.write_packed(path, clips())
        return

    def stories() -> Iterator[balls.Balls]:
        for number in order.seeds:
            seed = balls.sequence_seed(scenario, split, number) if split else number
            yield balls.simulate(scenario, seed)

    gswm.write_gswm(path, stories(), told)
