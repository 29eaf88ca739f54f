"""`loci watch SOURCE`: an annotated film, a table and a page of what the network sees, believes and expects."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from loci_looped.cli.checks import check_folder
from loci_looped.configs.scenes import LAB_NETWORKS
from loci_looped.utils.errors import LociError

if TYPE_CHECKING:
    from torch import nn

    from loci_looped.inference.stream import Source
    from loci_looped.inference.verdict import Judge

LONG = 3000             # frames; more are only watched when asked for
FRAMES_AHEAD = 4        # so many the network has seen before the first of them is drawn


@dataclass(frozen=True)
class Arguments:
    """Watch a film and write down what the network makes of it: film.mp4, table.csv, curves.png and index.html; of a
    rival (SAVi, G-SWM, Loci-v1) film.mp4 and table.csv."""

    source: tyro.conf.Positional[str]
    """A film, a folder with one picture per frame, a .clip file or a folder of them, vanish:seed=7 (also
    ,kind=surprise), balls:seed=7 (also ,kind=occlusion), collide:seed=7, or camera:0."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Folder for the results; without it, a folder named after the source is made here."""
    network: Annotated[str, tyro.conf.arg(aliases=["--model"])] = ""
    """A shipped network, or the folder of a network or of a training run; also a rival's. Without it adept-learnt, and
    for generated balls and collisions the one that was trained on them."""
    background: Path | None = None
    """A picture of the empty scene. Without it the background is estimated from the film."""
    occluder: str = "auto"
    """What stands still and hides others: auto finds it in films where it can be told, none takes it for background, or
    a picture as large as the film that is white where it stands."""
    start: int = 0
    """First frame."""
    stop: int | None = None
    """Frame to stop before."""
    stride: int | None = None
    """Watch every n-th frame. Without it, so many of a film that there are about 8 in a second, as networks expect."""
    all: bool = False
    """Watch long films to the end."""
    blackout: float = 0.0
    """Turn the lights out with this probability per frame, from the seventh on: does the network go on by itself?"""
    masks: bool = False
    """Also write masks (masks.npz, and as COCO masks-visible.json, masks-whole.json) and tracks (MOT: tracks.csv)."""
    precision: Literal["auto", "single", "bfloat16"] = "single"
    """Arithmetic of the convolutions. auto is bfloat16 where the processor has instructions for it: the paper's network
    at 80 x 120 then watches half as many frames again per second."""
    live: bool = False
    """Also show it in a window while it is being watched."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci watch")
    whole = arguments.out or Path("watched-" + _plain(arguments.source))
    check_folder(whole)

    import torch

    from loci_looped.data.formats.video import Selection
    from loci_looped.inference.network_kinds import frame_of
    from loci_looped.inference.networks import load_any, trained_on
    from loci_looped.inference.stream import open_source, stored_clips
    from loci_looped.inference.verdict import Judge
    from loci_looped.inference.watch import blackouts
    from loci_looped.model import LociLooped
    from loci_looped.model.precision import has_bfloat16, use_precision
    from loci_looped.utils.memory import keep_memory
    from loci_looped.viz.annotations import FILES

    dark = blackouts(arguments.blackout)
    torch.set_num_threads(1)            # at these sizes a second thread only gets in the way
    keep_memory()
    network = arguments.network or network_for(arguments.source)
    model = load_any(network)
    if (arguments.live or arguments.masks or arguments.blackout) and not isinstance(model, LociLooped):
        raise LociError("--live, --masks and --blackout are for loci-looped networks; leave them out for a rival.")
    if isinstance(model, LociLooped):
        fast = arguments.precision == "bfloat16" or (arguments.precision == "auto" and has_bfloat16())
        use_precision(model, "bfloat16" if fast else "single")
    elif arguments.precision == "bfloat16":
        raise LociError("--precision bfloat16 is for loci-looped networks; leave it out for a rival.")
    selection = Selection(arguments.start, arguments.stop, arguments.stride)
    stored = stored_clips(Path(arguments.source))
    # All are opened before the first is watched: what cannot be read is said at once.
    places = [(clip, whole / clip.stem) for clip in stored] if len(stored) > 1 else [(arguments.source, whole)]
    sources = [(open_source(place, selection, frame_of(model)), folder) for place, folder in places]
    _refuse_endless([source for source, _ in sources], arguments)
    for source, folder in sources:
        if not isinstance(model, LociLooped):
            frames = watch_rival_to_folder(model, source, folder, arguments.background)
            print(f"Watched {frames} frames of {source.name} with {network}.")
            print(f"The film is {folder / 'film.mp4'}; the numbers are in {folder / 'table.csv'}.")
            continue
        judge = Judge(trained_on(network))
        frames = watch_to_folder(
            model, source, folder, arguments.background, arguments.live, arguments.masks, dark, arguments.occluder,
            judge,
        )
        print(f"Watched {frames} frames of {source.name} with {network}.")
        print("\n".join(judge.verdict().sentences()))
        print(f"Open {folder / 'index.html'} for the film with its curves; the numbers are in {folder / 'table.csv'}.")
        if arguments.masks:
            print(f"Masks and tracks: {', '.join(FILES)} in the same folder.")
    return 0


def network_for(source: str) -> str:
    """The shipped network of the world that a source is generated in; of all others adept-learnt."""
    world, _, rest = source.partition(":")
    if world == "balls" and ":" in source:
        return "balls-small-occlusion" if "kind=occlusion" in rest else LAB_NETWORKS["balls"]
    return LAB_NETWORKS["collide"] if world == "collide" and ":" in source else LAB_NETWORKS["vanish"]


def watch_rival_to_folder(model: nn.Module, source: Source, folder: Path, background: Path | None = None) -> int:
    """The same for a rival, which says less: a film of its slots and a table; returns the number of frames."""
    from loci_looped.data.formats.film_writer import write_film
    from loci_looped.inference.network_kinds import frame_of, rival_video_model
    from loci_looped.inference.watch_slots import watch_slots
    from loci_looped.utils.atomic import replacing
    from loci_looped.viz.canvas import Picture
    from loci_looped.viz.slot_strip import slot_board
    from loci_looped.viz.table import SlotsTable

    frames = 0
    with (
        replacing(folder / "table.csv") as table_path, table_path.open("w", encoding="utf-8") as file,
        _stopping(source.live) as stopped,
    ):
        table = SlotsTable(file)

        def pictures() -> Iterator[Picture]:
            nonlocal frames
            for seen in watch_slots(rival_video_model(model), source, frame_of(model), background=background):
                table.add(seen)
                frames += 1
                yield slot_board(seen, source.name)
                if stopped():
                    return

        write_film(folder / "film.mp4", pictures(), fps=min(source.fps, 60.0))
    return frames


def watch_to_folder(
    model: object, source: Source, folder: Path, background: Path | None = None, live: bool = False,
    masks: bool = False, dark: Callable[[int], bool] = lambda number: False, occluder: str = "auto",
    judge: Judge | None = None,
) -> int:
    """Watch the source once and write everything; returns the number of frames. In `dark` frames nothing is seen; a
    judge looks on."""
    from rich.progress import Progress, TextColumn

    from loci_looped.cli.live import Window
    from loci_looped.data.formats.film_writer import write_film
    from loci_looped.inference.watch import watch
    from loci_looped.model.loci import LociLooped
    from loci_looped.utils.ahead import ahead
    from loci_looped.utils.atomic import replacing
    from loci_looped.viz.annotations import Annotations
    from loci_looped.viz.canvas import Picture
    from loci_looped.viz.history import History
    from loci_looped.viz.page import Section, write_page
    from loci_looped.viz.storyboard import Storyboard
    from loci_looped.viz.table import Table
    from loci_looped.viz.timeline import timeline, write_timeline

    assert isinstance(model, LociLooped)
    history, board = History(), Storyboard(source.name)
    annotations = Annotations() if masks else None
    window = Window(source.name) if live else None
    frames = 0
    with (
        replacing(folder / "table.csv") as table_path,
        table_path.open("w", encoding="utf-8") as file,
        Progress(*Progress.get_default_columns(), TextColumn("{task.completed} frames"), transient=True) as progress,
        _stopping(source.live) as stopped,
    ):
        task = progress.add_task("watching", total=source.length)
        table = Table(file)

        def pictures() -> Iterator[Picture]:
            nonlocal frames
            looks = watch(model, source, background=background, occluder=occluder, blackout=dark)
            # Drawing and encoding are done while the network looks at the next frames; of a camera only at the next.
            for seen in ahead(looks, 1 if source.live else FRAMES_AHEAD):
                history.add(seen)
                if judge is not None:
                    judge.add(seen)
                table.add(seen)
                if annotations is not None:
                    annotations.add(seen)
                frames += 1
                progress.update(task, advance=1)
                picture = board.draw(seen)
                yield picture
                if stopped() or (window is not None and not window.show(picture)):
                    return

        write_film(folder / "film.mp4", pictures(), fps=min(source.fps, 60.0))
    if annotations is not None:
        annotations.write(folder)
    write_timeline(folder / "curves.png", timeline(history, source.events, source.name))
    lead = (
        "On the left what the network sees, with its beliefs drawn on it: outlines are whole where an object is seen "
        "and dashed where it is hidden. Click a curve to go to that moment."
    )
    verdict = "" if judge is None else " ".join(judge.verdict().sentences())
    section = Section(source.name, verdict, folder / "film.mp4", min(source.fps, 60.0), history, source.events)
    write_page(folder / "index.html", f"Watching {source.name}", lead, [section])
    return frames


@contextmanager
def _stopping(live: bool) -> Iterator[Callable[[], bool]]:
    """A camera never ends by itself: there, Ctrl-C ends the watching, and what has been seen is kept."""
    asked: list[int] = []
    if not live:
        yield lambda: False
        return
    print("Press Ctrl-C to stop. The first frames tell the background: let nothing rest in them for long.")
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)


def _refuse_endless(sources: list[Source], arguments: Arguments) -> None:
    if arguments.all or arguments.stop is not None or sources[0].live:
        return
    length = sum(source.length or 0 for source in sources)
    name = sources[0].name if len(sources) == 1 else f"{arguments.source} with its {len(sources)} clips"
    if length > LONG:
        raise LociError(
            f"{name} has {length} frames at this stride, about {length / 10 / 60:.0f} minutes of watching. Give a "
            f"range (--start 0 --stop {LONG // 2 // len(sources)}), take fewer frames (--stride "
            f"{max(2, sources[0].stride * -(-length // LONG))}), or say --all."
        )


def _plain(text: str) -> str:
    """A folder name from a source."""
    # The whole name: good.mp4 and good.avi are two films.
    stem = Path(text).name if not text.startswith(("vanish", "camera", "balls:", "collide:")) else text
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in stem).strip("-") or "film"
