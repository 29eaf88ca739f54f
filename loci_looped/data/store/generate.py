"""Generated clips written to a folder, in our layout or in a release's; what is there already is not made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from loci_looped.configs.scenes import FAMILIES, VIOLATIONS, Layout, Split, family_of
from loci_looped.data import scenes
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import Size
from loci_looped.data.formats import adept, clevrer, gswm, video
from loci_looped.data.scenes.balls import Balls
from loci_looped.data.store.clip_file import SUFFIX, load_clip, save_clip
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.utils.errors import LociError

OnClip = Callable[[bool, Callable[[], Clip]], None]     # was it made just now? and how to get at it


def specs_of(kind: str, seeds: range, size: Size | None = None, split: Split | None = None) -> list[ClipSpec]:
    """The clips of a kind that `loci generate` makes: violations come with their controls.

    Number n of `violations` is pair n // 7 of kind n % 7, so any run of numbers has all kinds in turn.
    """
    if len(seeds) < 1 or seeds[0] < 0:
        raise LociError(f"Ask for at least one clip, with seeds from 0 on, not for {len(seeds)} from {seeds.start}.")
    family = family_of(kind)
    if split and family != "balls":
        raise LociError(f"Only bouncing balls have published splits that can be generated again; {kind} does not.")
    size = size or FAMILIES[family].size
    if family == "balls":
        if size != FAMILIES["balls"].size:
            raise LociError(f"Bouncing balls are drawn at 64x64, as G-SWM does, not at {size[0]}x{size[1]}.")
        name = "balls-interaction" if kind == "balls" else kind
        return [ClipSpec(f"{name}-{split}" if split else name, seed, size) for seed in seeds]
    if family != "violations":
        return [ClipSpec(kind, seed, size) for seed in seeds]
    names = [kind] if kind != "violations" else [f"violations-{name}" for name in VIOLATIONS]
    numbered = [(names[number % len(names)], number // len(names)) for number in seeds]
    return [ClipSpec(name + end, seed, size) for name, seed in numbered for end in ("-control", "")]


def clip_name(spec: ClipSpec) -> str:
    """The name of the clip's file. Test scenes have ADEPT's: 0 has two movers, 3 only one, in 1 the second vanishes."""
    family, *words = spec.kind.split("-")
    if family == "violations":
        return f"{words[0]}_{spec.seed:05d}_{'control' if words[1:] else 'violation'}"
    if spec.kind == "vanish-standing":
        return f"standing_{spec.seed:05d}"
    if family == "vanish" and words:
        index = {"vanish-control": 0, "vanish-control-1": 3, "vanish-surprise": 1}[spec.kind]
        return f"human_disappear_fixed_{spec.seed:05d}_{index}"
    return f"train_{spec.seed:05d}" if family == "vanish" else "_".join([family, *words, f"{spec.seed:05d}"])


def generate(
    specs: Sequence[ClipSpec], out: Path, on_clip: OnClip, layout: Layout = "native", overwrite: bool = False
) -> None:
    """Make and write clips of one kind, one after the other; memory does not grow with their number."""
    family = family_of(specs[0].kind)
    if layout not in FAMILIES[family].layouts:
        raise LociError(f"{family} can be written as {', '.join(FAMILIES[family].layouts)}, not as {layout}.")
    if out.exists() and not out.is_dir():
        raise LociError(f"{out} is a file, but a folder is needed there.")
    if layout in ("gswm", "loci"):
        _one_file(specs, out, on_clip, layout, overwrite)
        return
    write = {"native": _native, "adept": _adept, "clevrer": _clevrer}[layout]
    for spec in specs:
        write(spec, out, on_clip, overwrite)


def _native(spec: ClipSpec, out: Path, on_clip: OnClip, overwrite: bool) -> None:
    file = out / f"{clip_name(spec)}{SUFFIX}"
    if file.exists() and not overwrite:
        stored = load_clip(file, verify=False)
        _check_size(stored.size, file, spec)
        on_clip(False, lambda: stored)
        return
    clip = spec.make()
    save_clip(clip, file)
    on_clip(True, lambda: clip)


def _adept(spec: ClipSpec, out: Path, on_clip: OnClip, overwrite: bool) -> None:
    folder = out / clip_name(spec)
    if folder.exists() and not overwrite:
        _check_size(video.info(folder / "imgs").size, folder, spec)
        on_clip(False, lambda: adept.read(folder).clip)
        return
    clip, motion = spec.make(), scenes.motion_of(spec.kind, spec.seed)
    adept.write(out, folder.name, clip, FAMILIES[family_of(spec.kind)].fps, motion, overwrite=True)
    on_clip(True, lambda: clip)


def _clevrer(spec: ClipSpec, out: Path, on_clip: OnClip, overwrite: bool) -> None:
    film = clevrer.film_path(out, spec.seed)
    if film.exists() and not overwrite:
        _check_size(video.info(film).size, film, spec)
        on_clip(False, lambda: clevrer.read(clevrer.open_library(out), spec.seed).clip)
        return
    clip, motion = spec.make(), scenes.motion_of(spec.kind, spec.seed)
    clevrer.write(out, spec.seed, clip, FAMILIES["collide"].fps, motion)
    on_clip(True, lambda: clip)


def _check_size(size: Size, place: Path, spec: ClipSpec) -> None:
    if size != spec.size:
        (height, width), (wanted_height, wanted_width) = size, spec.size
        raise LociError(
            f"{place} is there already at {height}x{width}, but {wanted_height}x{wanted_width} is wanted; "
            f"choose another folder, or overwrite it."
        )


def _one_file(specs: Sequence[ClipSpec], out: Path, on_clip: OnClip, layout: Layout, overwrite: bool) -> None:
    """G-SWM's HDF5, or Loci-Looped's, whose name says what is in it."""
    _, scenario, *split = specs[0].kind.split("-")
    stem = f"balls_{scenario}-{split[0] if split else 'seeds'}"
    path = out / (f"{stem}-64x64-v1.hdf5" if layout == "loci" else f"{stem}.h5")
    if path.exists() and not overwrite:
        raise LociError(f"{path} exists already; choose another folder, or overwrite it.")

    def clips() -> Iterator[Clip]:
        for spec in specs:
            clip = spec.make()
            yield clip
            on_clip(True, lambda clip=clip: clip)       # type: ignore[misc]

    def simulations() -> Iterator[Balls]:
        for spec in specs:
            scene = scenes.make(spec.kind, spec.seed)
            assert isinstance(scene, Balls)             # only balls have these layouts
            yield scene

    if layout == "loci":
        gswm.write_packed(path, clips())
    else:
        gswm.write_gswm(path, simulations(), lambda clip: on_clip(True, lambda: clip))
