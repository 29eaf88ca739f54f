"""`loci convert SOURCE --out DIR`: films of yours made into clips that networks can learn from and be measured on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from loci_looped.utils.errors import LociError

if TYPE_CHECKING:
    from loci_looped.data.clip import Clip


@dataclass(frozen=True)
class Arguments:
    """Make one .clip file per film, or per shot of it: framed, at the network's size, with a background.

    `loci train RECIPE --data.folder SOURCE` does the same by itself; convert when you want to look at the clips, to
    choose a part of the films, or to give background and occluders by hand.
    """

    source: tyro.conf.Positional[Path]
    """A film, a folder of frames, or a folder of films, .clip files, ADEPT, CLEVRER or G-SWM data, also mixed."""
    out: Path
    """The folder for the clips."""
    size: str = "40x60"
    """Height x width in pixels: that of the network. 40x60 is adept-small's."""
    stride: int | None = None
    """Every n-th frame. Without it, so many of a film that there are about 8 in a second; of clips all."""
    start: int = 0
    """First frame."""
    stop: int | None = None
    """Frame to stop before."""
    crop: str = "none"
    """none: the whole picture, squeezed into the network's shape. middle: what is too much is cut off. Or
    TOP,LEFT,HEIGHT,WIDTH in pixels of the film."""
    background: str = "auto"
    """auto: the one that is known, else estimated. estimate: estimated in any case. Or a picture of the empty scene."""
    occluder: str = "auto"
    """What stands still and hides others: auto finds it where the background is estimated and it can be told; none; or
    a picture as large as the film that is white where it stands."""
    overwrite: bool = False
    """Make clips again that are there already."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci convert")

    from loci_looped.cli.generate import parse_size
    from loci_looped.data.films.prepare import Preparation
    from loci_looped.data.store.clip_file import SUFFIX, save_clip
    from loci_looped.data.store.collection import open_collections
    from loci_looped.data.store.film_folder import prepare
    from loci_looped.viz.contact_sheet import write_sheet

    if arguments.out.exists() and not arguments.out.is_dir():
        raise LociError(f"{arguments.out} is a file, but a folder is needed there.")
    wanted = Preparation(
        parse_size(arguments.size), arguments.stride, arguments.start, arguments.stop, arguments.crop,
        arguments.background, arguments.occluder,
    )
    written, moving = 0, list[str]()
    shown: list[Clip] = []
    for collection in open_collections(arguments.source):
        for index, name in enumerate(collection.names):
            stem = arguments.out / _stem(name)
            if not arguments.overwrite and (kept := sorted(arguments.out.glob(f"{stem.name}{SUFFIX}"))):
                raise LociError(f"{kept[0]} is there already; choose another folder, or say --overwrite.")
            shots = prepare(collection, index, wanted)
            for number, shot in enumerate(shots):
                ending = f"-shot{number + 1}" if len(shots) > 1 else ""
                save_clip(shot.clip, stem.with_name(f"{stem.name}{ending}{SUFFIX}"))
                written += 1
                shown += [shot.clip] if len(shown) < 6 else []
                for note in shot.notes:
                    print(note)
                if shot.camera_moves:
                    moving.append(f"{name} (by {100 * shot.camera_extent:.0f} % of the picture's width)")
    write_sheet(arguments.out / "preview.png", shown)
    print(f"{'1 clip' if written == 1 else f'{written} clips'} of {wanted.size[0]}x{wanted.size[1]} written to "
          f"{arguments.out}; the first of them can be seen in {arguments.out / 'preview.png'}.")
    if moving:
        print(f"The camera moves in {', '.join(moving[:6])}{' and others' if len(moving) > 6 else ''}: what a network "
              "learns there is not what you want. Put the camera on a tripod or a pile of books.")
    return 0


def _stem(name: str) -> str:
    """A file name of the film's: "garden.mp4" and "garden.avi" are two."""
    plain = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name.removesuffix(".clip"))
    return plain.strip("-") or "film"
