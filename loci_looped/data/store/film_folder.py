"""A folder of anything as training material: every film prepared once, cut into clips, some of them held out."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from loci_looped.data.clip import Clip
from loci_looped.data.films.moving import SMALLEST, blobs, foreground
from loci_looped.data.films.prepare import Preparation, Prepared, prepare_film, prepare_reading
from loci_looped.data.store.clip_file import SUFFIX, load_clip, load_pixels, save_clip
from loci_looped.data.store.collection import ClipCollection, open_collections
from loci_looped.data.store.dataset import Pixels
from loci_looped.utils.atomic import write_text
from loci_looped.utils.errors import LociError

VERSION = 4             # of what preparing does; a higher one makes prepared films anew
LOOKED_AT = 40          # frames in which something is looked for
FEW = 5                 # with fewer films than this the end of each is held out, instead of whole films


@dataclass(frozen=True)
class PreparedFile:
    """A clip on disk, ready for the network."""

    file: Path
    film: str                       # films are held out as a whole: all shots of one have this in common
    frames: int
    objects: int                    # 0 where nobody knows
    camera_extent: float = 0.0
    camera_moves: bool = False
    empty: bool = False             # nothing in it differs from the background


@dataclass(frozen=True)
class Cut:
    """Some successive frames of a prepared clip."""

    file: Path
    start: int
    stop: int

    def clip(self) -> Clip:
        return load_clip(self.file, verify=False).strided(1, self.start, self.stop)


@dataclass(frozen=True)
class CutClips:
    """Cuts as a source of training clips; the pixels stay on disk until they are used."""

    cuts: tuple[Cut, ...]

    def __len__(self) -> int:
        return len(self.cuts)

    def pixels(self, index: int) -> Pixels:
        cut = self.cuts[index]
        frames, background = load_pixels(cut.file)
        return frames[cut.start : cut.stop], background


@dataclass(frozen=True)
class FilmFolder:
    """What a folder gives: cuts to learn from, and cuts of other films, or of the end of the same, to validate on."""

    files: tuple[PreparedFile, ...]
    training: tuple[Cut, ...]
    held_out: tuple[Cut, ...]
    notes: tuple[str, ...]


OnProgress = Callable[[int, int], None]
MovingCamera = Literal["refuse", "leave_out", "use"]


def open_film_folder(
    folder: str | Path, wanted: Preparation, cache: Path, *, length: int, held_out: float,
    moving_camera: MovingCamera = "refuse", on_progress: OnProgress | None = None,
) -> FilmFolder:
    """Prepare what lies below a folder and cut it into clips of `length` frames."""
    collections = open_collections(folder)
    total = sum(len(collection) for collection in collections)
    files: list[PreparedFile] = []
    notes: list[str] = []
    done = 0
    for collection in collections:
        for index in range(len(collection)):
            found, told = prepared(collection, index, wanted, cache)
            files += found
            notes += told
            done += 1
            if on_progress is not None:
                on_progress(done, total)
    files, about_nothing = _with_something(files)
    files, about_cameras = _still(files, moving_camera)
    usable, span, more = _usable(files, length)
    training, apart, last = split(usable, span, held_out)
    everything = (*notes, *about_nothing, *about_cameras, *more, *last)
    return FilmFolder(tuple(usable), tuple(training), tuple(apart), everything)


def prepared(
    collection: ClipCollection, index: int, wanted: Preparation, cache: Path
) -> tuple[list[PreparedFile], list[str]]:
    """The clips of one film, from the cache if it is there unchanged. A clip that fits already is taken as it is."""
    name = collection.names[index]
    film = str((collection.films[index] if collection.films else collection.path / name).resolve())
    if collection.kind == "clips":
        file = collection.path if collection.path.is_file() else collection.path / name
        clip = load_clip(file)
        if clip.size == wanted.size and wanted == Preparation(wanted.size):
            return [_described(file, clip, clip.source or name)], []
    place = cache / f"films-{wanted.size[0]}x{wanted.size[1]}"
    key = hashlib.sha256(repr((VERSION, film, _stamp(Path(film), collection), index, wanted)).encode()).hexdigest()[:24]
    about = place / f"{key}.json"
    if about.is_file():
        try:
            return _from_cache(about)
        except (ValueError, KeyError, TypeError, LociError):
            about.unlink()              # damaged, or a clip is missing: it is made again
    shots = prepare(collection, index, wanted)
    files = []
    for number, shot in enumerate(shots):
        file = save_clip(shot.clip, place / f"{key}-{number}{SUFFIX}")
        files.append(replace(_described(file, shot.clip, film), camera_extent=shot.camera_extent,
                             camera_moves=shot.camera_moves))
    notes = [note for shot in shots for note in shot.notes]
    described = [{**dataclasses.asdict(file), "file": file.file.name} for file in files]
    write_text(about, json.dumps({"files": described, "notes": notes}))
    return files, notes


def prepare(collection: ClipCollection, index: int, wanted: Preparation) -> list[Prepared]:
    """The shots of one film, or the one clip that something else is."""
    if collection.films:
        return prepare_film(collection.films[index], wanted)
    return [prepare_reading(collection.read(index), wanted)]


def _described(file: Path, clip: Clip, film: str) -> PreparedFile:
    looked_at = np.asarray(clip.frames[:: max(1, len(clip) // LOOKED_AT)])
    fronts = foreground(looked_at, clip.background)
    empty = not any(blobs(frame, front) for frame, front in zip(looked_at, fronts, strict=True))
    return PreparedFile(file, film, len(clip), 0 if clip.truth is None else clip.truth.count, empty=empty)


def _from_cache(about: Path) -> tuple[list[PreparedFile], list[str]]:
    values: dict[str, Any] = json.loads(about.read_text(encoding="utf-8"))
    files = [PreparedFile(**{**entry, "file": about.parent / entry["file"]}) for entry in values["files"]]
    for file in files:
        load_clip(file.file)            # checks it
    return files, [str(note) for note in values["notes"]]


def _stamp(film: Path, collection: ClipCollection) -> tuple[int, ...]:
    """Changes when the film does."""
    places = [film] if film.exists() else [collection.path]
    if film.is_dir():
        places = sorted(film.iterdir())
    return tuple(number for place in places for number in (place.stat().st_mtime_ns, place.stat().st_size))


def _with_something(files: list[PreparedFile]) -> tuple[list[PreparedFile], list[str]]:
    """From films in which nothing moves nothing can be learnt, nor can anything be said about who watches them."""
    some_thing = [file for file in files if not file.empty]
    if len(some_thing) == len(files):
        return files, []
    names = sorted({Path(file.film).name for file in files if file.empty})
    named = f"{', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"
    if not some_thing:
        raise LociError(
            f"Nothing moves in any of the {len(files)} films ({named}) that is large enough to be seen: less than "
            f"{SMALLEST} pixels of the network's picture. Come nearer, or crop the films (--data.crop)."
        )
    return some_thing, [f"Nothing moves in {len(files) - len(some_thing)} of {len(files)} films ({named}); they are "
                        "left out."]


def _still(files: list[PreparedFile], policy: MovingCamera) -> tuple[list[PreparedFile], list[str]]:
    """A background belongs to a camera that stands still; what is to be done about others, and sentences."""
    moving = [file for file in files if file.camera_moves]
    if not moving:
        return files, []
    named = ", ".join(f"{Path(file.film).name} by {100 * file.camera_extent:.0f} %" for file in moving[:4])
    told = (
        f"The camera moves in {len(moving)} of {len(files)} films ({named} of the picture's width"
        f"{', ...' if len(moving) > 4 else ''})"
    )
    if policy == "use":
        return files, [f"{told}; they are used all the same, as you asked. What moves with the camera looks like a "
                       "thing that moves."]
    still = [file for file in files if not file.camera_moves]
    if policy == "refuse" or not still:
        rest = " or --data.moving-camera leave_out" if still else ""
        raise LociError(
            f"{told}, but the network needs a camera that stands still: it is told the empty background once. Put the "
            f"camera on a tripod or a pile of books; take these films away{rest}; or learn from them all the same with "
            "--data.moving-camera use."
        )
    return still, [f"{told}; they are left out."]


def _usable(files: Sequence[PreparedFile], length: int) -> tuple[list[PreparedFile], int, list[str]]:
    """Clips of one batch have one length: that which is asked for, or less if films are shorter, but not by half."""
    longest = max(file.frames for file in files)
    usable = [file for file in files if 2 * file.frames >= min(length, longest)]
    span = min(length, *(file.frames for file in usable))
    notes = []
    if len(usable) < len(files):
        notes.append(f"{len(files) - len(usable)} of {len(files)} films are left out: they have fewer than "
                     f"{-(-min(length, longest) // 2)} frames.")
    if span < length:
        notes.append(f"The clips have {span} frames instead of {length}, since the shortest film has no more.")
    return usable, span, notes


def split(files: Sequence[PreparedFile], span: int, share: float) -> tuple[list[Cut], list[Cut], list[str]]:
    """Cuts to learn from, cuts that are held out, and sentences. Decided by names and lengths alone, not by a seed."""
    if not 0 <= share < 1:
        raise LociError(f"The share of films that is held out is {share:g}, but it must be at least 0 and below 1.")
    films = sorted({file.film for file in files}, key=lambda film: hashlib.sha256(Path(film).name.encode()).digest())
    ends = {file.file: file.frames for file in files}
    apart: list[Cut] = []
    notes: list[str] = []
    if share and len(films) >= FEW:
        chosen = set(films[: max(1, round(share * len(films)))])
        apart = [cut for file in files if file.film in chosen for cut in _cuts(file.file, 0, file.frames, span, span)]
        ends |= {file.file: 0 for file in files if file.film in chosen}
        notes.append(f"{len(chosen)} of {len(films)} films are held out for validation: "
                     f"{', '.join(sorted(Path(film).name for film in chosen)[:6])}{' ...' if len(chosen) > 6 else ''}.")
    elif share:
        for file in files:
            end = file.frames - max(span, round(share * file.frames))
            if end >= span:
                apart += _cuts(file.file, end, file.frames, span, span)
                ends[file.file] = end
        notes.append("The end of each film is held out for validation." if apart else
                     "The films are too few and too short to hold anything out, so nothing is validated.")
    training = [cut for file in files for cut in _cuts(file.file, 0, ends[file.file], span, max(1, span // 4))]
    return training, apart, notes


def _cuts(file: Path, start: int, stop: int, span: int, step: int) -> list[Cut]:
    """Clips of `span` frames, one every `step` frames, and one that ends with the last frame."""
    starts = list(range(start, stop - span + 1, step))
    if starts and starts[-1] != stop - span and step < span:
        starts.append(stop - span)
    return [Cut(file, first, first + span) for first in starts]


def some(cuts: Sequence[Cut], count: int) -> list[Cut]:
    """At most `count`, spread evenly."""
    if len(cuts) <= count:
        return list(cuts)
    return [cuts[int(place)] for place in np.linspace(0, len(cuts) - 1, count).round()]
