"""`loci generate KIND --count N --size HxW --seed S --out DIR`: clips from seeds, in our layout or in a release's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from loci_looped.cli.checks import check_at_least, check_folder, check_seed
from loci_looped.configs.scenes import GeneratedKind, Layout, Split
from loci_looped.utils.errors import LociError

if TYPE_CHECKING:
    from collections.abc import Callable

    from loci_looped.data.clip import Clip

PREVIEWED = 6       # clips on the contact sheet


@dataclass(frozen=True)
class Arguments:
    """Make clips. The same kind, seed and size give the same bytes, so nothing needs to be downloaded or kept."""

    kind: tyro.conf.Positional[GeneratedKind]
    """vanish: ADEPT-like training scenes. vanish-control, vanish-surprise: the test scenario, matched by seed.
    vanish-standing: the same with a screen that never moves, for films whose background must be estimated.
    violations: pairs of a control and an impossible event, seven kinds in turn. collide: CLEVRER-like. balls: G-SWM."""
    out: Path
    """The folder to write to."""
    count: Annotated[int, tyro.conf.arg(aliases=["-n"])] = 10
    """How many scenes (violations: how many pairs)."""
    size: str | None = None
    """Height x width in pixels, such as 80x120. Without it: 40x60 (vanish), 80x120 (collide), 64x64 (balls)."""
    seed: int = 0
    """The first seed; the next scenes take the next ones."""
    layout: Layout = "native"
    """native: a .clip file per clip. adept: imgs, masks, yaml. clevrer: mp4, json, masks. gswm, loci: one HDF5 file."""
    split: Split | None = None
    """Only balls: regenerate this split of the published data set; --seed is then the number of the first sequence."""
    preview: bool = False
    """Also write preview.png, a contact sheet of the first clips."""
    overwrite: bool = False
    """Make clips again that are there already. Without it they are kept, so an interrupted run can be taken up."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci generate")
    check_at_least(arguments.count, 1, "--count")
    check_seed(arguments.seed)
    check_folder(arguments.out)

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from loci_looped.data.store.generate import generate, specs_of
    from loci_looped.viz.contact_sheet import write_sheet

    size = parse_size(arguments.size) if arguments.size else None
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    specs = specs_of(arguments.kind, seeds, size, arguments.split)
    shown: list[Clip] = []
    tally = {True: 0, False: 0}
    bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                   console=Console(stderr=True))
    with bar:
        task = bar.add_task(arguments.kind, total=len(specs))

        def on_clip(fresh: bool, clip: Callable[[], Clip]) -> None:
            tally[fresh] += 1
            if arguments.preview and len(shown) < PREVIEWED:
                shown.append(clip())
            bar.advance(task)

        generate(specs, arguments.out, on_clip, arguments.layout, arguments.overwrite)
    height, width = specs[0].size
    kept = f" {tally[False]} more were there already." if tally[False] else ""
    made = "1 clip" if tally[True] == 1 else f"{tally[True]} clips"
    print(f"{made} of {height}x{width} written to {arguments.out} ({arguments.layout}).{kept}")
    if shown:
        write_sheet(arguments.out / "preview.png", shown)
        print(f"Contact sheet: {arguments.out / 'preview.png'}")
    return 0


def parse_size(text: str) -> tuple[int, int]:
    """'80x120' -> (80, 120)."""
    match = re.fullmatch(r"(\d+)\s*[xX×]\s*(\d+)", text.strip())
    if not match:
        raise LociError(f"A size is height x width in pixels, such as 80x120, not {text!r}.")
    return int(match[1]), int(match[2])
