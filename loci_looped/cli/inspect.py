"""`loci inspect PATH`: what is in a clip, a folder of clips, a release or a film; with a contact sheet as PNG."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from loci_looped.cli.checks import check_at_least, check_file
from loci_looped.utils.errors import LociError

if TYPE_CHECKING:
    from loci_looped.data.clip import Clip
    from loci_looped.data.formats.read_result import ReadResult


@dataclass(frozen=True)
class Arguments:
    """Look into a path: our .clip files, ADEPT, CLEVRER, G-SWM's HDF5, a film or a folder of frames."""

    path: tyro.conf.Positional[Path]
    """A file or a folder."""
    clips: int = 4
    """How many clips to read and show; they are spread over all there are."""
    out: Path | None = None
    """The contact sheet; without it <name>-sheet.png in the current folder."""
    network: str | None = None
    """Also let this network watch the clips, and say how much of what moves in them it explains."""
    check: bool = False
    """Read every clip and tell which ones are damaged."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci inspect")
    check_at_least(arguments.clips, 1, "--clips")
    if arguments.out is not None:
        check_file(arguments.out, "--out")

    from loci_looped.data.store.collection import open_collection
    from loci_looped.viz.contact_sheet import write_sheet

    collection = open_collection(arguments.path)
    some = sorted({round(i * (len(collection) - 1) / max(1, arguments.clips - 1)) for i in range(arguments.clips)})
    print(f"{collection.path}: {collection.kind}, {len(collection)} in all")
    shown: list[Clip] = []
    damaged = 0
    for index in range(len(collection)) if arguments.check else [i for i in some if i < len(collection)]:
        try:
            reading = collection.read(index)
        except LociError as error:
            damaged += 1
            print(f"\n{collection.names[index]}: {error}")
            continue
        if index in some:
            shown.append(reading.clip)
            print("\n" + describe(collection.names[index], reading))
            print("\n".join(f"  {sentence}" for sentence in judged(reading.clip, arguments.network)))
    if shown:
        sheet = arguments.out or Path(f"{arguments.path.resolve().stem}-sheet.png")
        write_sheet(sheet, shown)
        print(f"\nContact sheet: {sheet.with_suffix('.png')}")
    if damaged:
        raise LociError(f"{damaged} of the clips read in {collection.path} are damaged; they are listed above.")
    if arguments.check:
        print(f"All {len(collection)} can be read.")
    return 0


def judged(clip: Clip, network: str | None) -> list[str]:
    """What kind of film it is; with a network, also whether it is of that network's world."""
    from loci_looped.data.films.facts import facts_of

    if network is None:
        return facts_of(clip).sentences()
    from loci_looped.inference.networks import load, trained_on
    from loci_looped.inference.verdict import Judge
    from loci_looped.inference.watch import watch

    judge = Judge(trained_on(network))
    for seen in watch(load(network), clip):
        judge.add(seen)
    return judge.verdict().sentences()


def describe(name: str, reading: ReadResult) -> str:
    """A few lines about one clip."""
    import numpy as np

    clip = reading.clip
    height, width = clip.size
    seed = f", seed {clip.seed}" if clip.seed is not None else ""
    lines = [f"{name}: {len(clip)} frames of {height}x{width}{seed}"]
    if clip.truth is None:
        lines.append("  no truth about objects")
    else:
        inside = np.asarray(clip.truth.object_masks.any(axis=(2, 3)))
        hidden = inside & ~np.asarray(clip.truth.visible_masks.any(axis=(2, 3)))
        for index, (label, kind) in enumerate(zip(clip.truth.names, clip.truth.kinds, strict=True)):
            lines.append(f"  {index} {label} ({kind}): in the image for {inside[:, index].sum()} frames, "
                         f"wholly hidden for {hidden[:, index].sum()}")
    if clip.events:
        told = (f"{event.kind} {event.frame}" + ("" if event.object is None else f" (object {event.object})")
                for event in sorted(clip.events, key=lambda event: event.frame))
        lines.append("  events: " + ", ".join(told))
    unseen = int((~reading.background_known).sum())
    if unseen:
        lines.append(f"  background unsure at {unseen} pixels")
    lines += [f"  note: {note}" for note in reading.notes]
    return "\n".join(lines)
