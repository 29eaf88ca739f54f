"""Decoding of an uploaded film, run as a process of its own: whatever the film does to the decoder, the lab lives on.

    python -m loci_looped.app.decoding FILM FOLDER '{"size": [40, 60], "view": [160, 240], "frames": 400}'

Writes frames.npy, views.npy, background.npy, occluder.npy and about.json into the folder. Errors are one sentence on
standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loci_looped.data.coordinates import Size, resize
from loci_looped.data.films.occluders import standing_occluders
from loci_looped.data.formats import video
from loci_looped.data.formats.background import estimate, spread
from loci_looped.data.formats.images import shape_note
from loci_looped.data.formats.video import CLIP_FPS
from loci_looped.data.store.clip_file import SUFFIX, load_clip
from loci_looped.utils.errors import LociError

MEMORY = 3 << 30
FILE_BYTES = 256 << 20
LARGEST_SIDE = 8192


SIGNATURES: tuple[tuple[int, tuple[bytes, ...]], ...] = (
    (4, (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot")),               # MP4, QuickTime
    (0, (b"\x1a\x45\xdf\xa3", b"GIF8", b"OggS", b"\x00\x00\x01\xba", b"\x00\x00\x01\xb3", b"\x47")),  # Matroska, ...
    (0, (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",)),                                        # Windows Media
    (8, (b"AVI ",)),
)


def is_film(opening: bytes) -> bool:
    """Do the first bytes say so? FFmpeg also takes play-lists, which would make it open other files and addresses."""
    return any(opening[place : place + len(word)] == word for place, words in SIGNATURES for word in words)


def restrict(seconds: int) -> None:
    """Take away what decoding does not need. Windows has no such limits; there the time limit alone holds."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))


class Found(NamedTuple):
    """A film that is about to be read."""

    frames: Iterable[NDArray[np.uint8]]
    size: Size
    fps: float                              # of the frames that are given
    cut: bool                               # it has more frames than are given
    background: NDArray[np.uint8] | None    # where it is known
    notes: list[str]                        # sentences, complete when all frames have been read


def _film(film: Path, wanted: int) -> Found:
    with film.open("rb") as file:
        if not is_film(file.read(16)):
            raise LociError(f"{film} is not a film, whatever its name says.")
    about = video.info(film)
    _check(about.size)
    stride = video.natural_stride(about.fps)
    cut = about.frames is not None and about.frames > stride * wanted
    notes: list[str] = []
    frames = video.frames(film, video.Selection(stop=stride * wanted, stride=stride), notes.append)
    return Found(frames, about.size, video.frame_rate(about.fps) / stride, cut, None, notes)


def _clip(film: Path, wanted: int) -> Found:
    clip = load_clip(film)
    _check(clip.size)
    frames = (np.asarray(frame) for frame in clip.frames[:wanted])
    return Found(frames, clip.size, CLIP_FPS, len(clip) > wanted, clip.background, [])


def _check(size: Size) -> None:
    if max(size) > LARGEST_SIDE or min(size) < 8:
        raise LociError(f"The film is {size[0]} x {size[1]} pixels; a side must be between 8 and {LARGEST_SIDE}.")


def decode(film: Path, folder: Path, order: dict[str, Any]) -> None:
    """Read the film at about the wanted rate, at most so many frames of it."""
    size, view, wanted = tuple(order["size"]), tuple(order["view"]), int(order["frames"])
    found = _clip(film, wanted) if film.suffix == SUFFIX else _film(film, wanted)
    small, large = [], []
    for frame in found.frames:
        small.append(resize(frame, size))
        large.append(np.asarray(Image.fromarray(frame).resize((view[1], view[0]), Image.Resampling.BILINEAR)))
    if len(small) < 2:
        raise LociError("The film has fewer than two frames that can be read.")
    frames = np.stack(small)
    np.save(folder / "frames.npy", frames, allow_pickle=False)
    np.save(folder / "views.npy", np.stack(large), allow_pickle=False)
    known = found.background
    background = estimate(spread(frames)).image if known is None else resize(known, size)
    np.save(folder / "background.npy", background, allow_pickle=False)
    # A background that is known is empty; one that is estimated contains what never moves.
    occluder = standing_occluders(frames, background) if known is None else np.zeros(background.shape[:2], dtype=bool)
    np.save(folder / "occluder.npy", occluder, allow_pickle=False)
    notes = [*(_nameless(note, film) for note in found.notes), *shape_note("The film", found.size, size)]
    told = {
        "fps": found.fps, "cut": found.cut, "seconds": len(frames) / found.fps, "size": list(found.size),
        "notes": notes,
    }
    (folder / "about.json").write_text(json.dumps(told), encoding="utf-8")


def _nameless(sentence: str, film: Path) -> str:
    """The temporary name means nothing to the user."""
    return sentence.replace(str(film), "The file")


def main(arguments: list[str]) -> int:
    film, folder, order = Path(arguments[0]), Path(arguments[1]), json.loads(arguments[2])
    restrict(int(order.get("seconds", 30)))
    try:
        decode(film, folder, order)
    except (LociError, MemoryError, OSError) as error:
        print(_nameless(str(error), film) or "The film is too large.", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
