"""Whatever lies at a path, as a row of clips that can be read one by one: our own, a release, a film, frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from loci_looped.data.clip import Clip
from loci_looped.data.formats import adept, clevrer, gswm, video
from loci_looped.data.formats.images import is_picture
from loci_looped.data.formats.read_result import ReadResult
from loci_looped.data.formats.video import FILM_SUFFIXES
from loci_looped.data.store.clip_file import SUFFIX, load_clip
from loci_looped.utils.errors import LociError

Kind = Literal["clips", "ADEPT videos", "CLEVRER videos", "bouncing balls (G-SWM)", "bouncing balls (Loci-Looped)",
               "film", "films", "folder of frames"]
HDF5 = (".h5", ".hdf5")


@dataclass(frozen=True)
class ClipCollection:
    """Clips at a path: their names, and how to read each."""

    path: Path
    kind: Kind
    names: tuple[str, ...]
    read: Callable[[int], ReadResult]
    films: tuple[Path, ...] = ()            # of films and folders of frames: where each can be streamed from

    def __len__(self) -> int:
        return len(self.names)


def open_collection(path: str | Path) -> ClipCollection:
    """Find out what is at a path. Nothing is decoded yet."""
    path = Path(path)
    if not path.exists():
        raise LociError(f"There is nothing at {path}.")
    return _folder(path) if path.is_dir() else _file(path)


def _file(path: Path) -> ClipCollection:
    suffix = path.suffix.lower()
    if suffix == SUFFIX:
        return _stored(path, [path])
    if suffix in HDF5:
        return _hdf5(path)
    if suffix in FILM_SUFFIXES:
        return ClipCollection(path, "film", (path.name,), lambda _: video.read(path), (path,))
    if is_picture(path):
        raise LociError(f"{path} is a single picture; give the folder that holds all frames.")
    known = f"{SUFFIX} clips, HDF5 files, films ({' '.join(FILM_SUFFIXES)})"
    raise LociError(f"{path} is of no kind that can be read: {known}.")


def _folder(path: Path) -> ClipCollection:
    items = sorted(path.iterdir())
    clips = [item for item in items if item.suffix == SUFFIX]
    if clips:
        return _stored(path, clips)
    if (path / "videos").is_dir() or next(path.rglob("video_?????.mp4"), None):
        library = clevrer.open_library(path)
        numbers = sorted(library.films)
        return ClipCollection(path, "CLEVRER videos", tuple(f"video_{number:05d}" for number in numbers),
                     lambda index: clevrer.read(library, numbers[index]))
    if (path / "imgs").is_dir() or next(path.glob("**/imgs"), None):
        folders = adept.videos(path)
        return ClipCollection(path, "ADEPT videos", tuple(folder.name for folder in folders),
                     lambda index: adept.read(folders[index]))
    tables = [item for item in items if item.suffix.lower() in HDF5]
    if len(tables) == 1:
        return _hdf5(tables[0])
    films = [item for item in items if item.suffix.lower() in FILM_SUFFIXES]
    if films:
        return _films(path, films)
    if any(is_picture(item) for item in items):
        return _frames(path)
    if tables:
        raise LociError(f"The folder {path} holds {len(tables)} HDF5 files; name one of them.")
    raise LociError(
        f"The folder {path} holds nothing that can be read: no {SUFFIX} clips, no ADEPT folders (imgs, masks, yaml), "
        f"no CLEVRER videos, no films and no pictures."
    )


def open_collections(path: str | Path) -> list[ClipCollection]:
    """Everything below a path, whatever it is: kinds may be mixed, and folders may hold folders."""
    path = Path(path)
    if not path.is_dir():
        return [open_collection(path)]
    found = _everything(path)
    if not found:
        open_collection(path)       # its sentence says what was looked for
        raise LociError(f"The folder {path} holds nothing to learn from.")
    return found


def _everything(folder: Path) -> list[ClipCollection]:
    if (folder / "videos").is_dir() or next(folder.glob("video_*/video_?????.mp4"), None) or (folder / "imgs").is_dir():
        return [open_collection(folder)]
    items = [item for item in sorted(folder.iterdir()) if not item.name.startswith(".")]
    found = []
    clips = [item for item in items if item.suffix == SUFFIX]
    if clips:
        found.append(_stored(folder, clips))
    found += [_hdf5(item) for item in items if item.suffix.lower() in HDF5]
    films = [item for item in items if item.is_file() and item.suffix.lower() in FILM_SUFFIXES]
    if films:
        found.append(_films(folder, films))
    for item in items:
        if item.is_dir():
            found += _everything(item)
    if not found and sum(is_picture(item) for item in items) > 1:      # beside films, pictures are previews and masks
        found.append(_frames(folder))
    return found


def _films(path: Path, films: list[Path]) -> ClipCollection:
    names = tuple(film.name for film in films)
    return ClipCollection(path, "films", names, lambda index: video.read(films[index]), tuple(films))


def _frames(folder: Path) -> ClipCollection:
    return ClipCollection(folder, "folder of frames", (folder.name,), lambda _: video.read(folder), (folder,))


def _stored(path: Path, files: list[Path]) -> ClipCollection:
    names = tuple(file.name for file in files)
    return ClipCollection(path, "clips", names, lambda index: _known(load_clip(files[index])))


def _known(clip: Clip) -> ReadResult:
    return ReadResult(clip, np.ones(clip.size, dtype=bool))


def _hdf5(path: Path) -> ClipCollection:
    kind: Kind = "bouncing balls (G-SWM)" if gswm.layout(path) == "gswm" else "bouncing balls (Loci-Looped)"
    names = tuple(f"sequence {index}" for index in range(gswm.count(path)))
    return ClipCollection(path, kind, names, lambda index: _known(gswm.read(path, index)))
