"""The two-minute demonstration: a scene in which all is well and its twin in which a hidden object is taken away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.coordinates import diagonal, to_pixels
from loci_looped.data.formats.film_writer import write_film
from loci_looped.inference.stream import Source, open_source
from loci_looped.inference.watch import FrameResult, watch
from loci_looped.model.loci import LociLooped
from loci_looped.utils.atomic import write_text
from loci_looped.viz.canvas import Picture, enlarge, write_png
from loci_looped.viz.history import History
from loci_looped.viz.overlay import overlay
from loci_looped.viz.page import Plate, Section, write_page
from loci_looped.viz.panel import slot_panel
from loci_looped.viz.storyboard import Storyboard
from loci_looped.viz.timeline import timeline, write_timeline
from loci_looped.viz.typical import SurpriseRatios, end_of, peak, ratio, surprise_ratios

PANEL_COLUMNS = 9
TITLES = {"control": "Control: nothing is taken away", "surprise": "Surprise: a hidden object is taken away"}
NOTES = {
    "control": "Two objects pass behind the screen, meet there, and come out again; then the screen falls.",
    "surprise": "The same scene, but while it is hidden one of the two is removed. It never comes out.",
}


@dataclass
class Run:
    """One watched scene: what is needed for its pictures and numbers."""

    kind: str
    source: Source
    history: History = field(default_factory=History)
    moments: list[FrameResult] = field(default_factory=list)
    places: list[NDArray[np.floating]] = field(default_factory=list)    # per frame (K, 2) pixels of the percept
    truths: list[NDArray[np.floating]] = field(default_factory=list)    # per frame (O, 2) pixels
    hidden: list[NDArray[np.bool_]] = field(default_factory=list)      # per frame (O,) in the image but not seen
    phantoms: int = 0                                                  # frames in which some slot is at no object
    overlap: NDArray[np.float64] | None = None                         # (O, K) pixels that object and slot shared

    def add(self, seen: FrameResult, chosen: bool) -> None:
        assert seen.truth is not None and seen.phantoms is not None
        self.history.add(seen)
        self.phantoms += int(bool(seen.phantoms.any()))
        if chosen:
            self.moments.append(seen)
        size = seen.frame.shape[:2]
        self.places.append(to_pixels(seen.percept.position.numpy().astype(np.float64), size))
        self.truths.append(seen.truth.positions[0].astype(np.float64))
        visible = seen.truth.visible_masks[0]
        self.hidden.append(seen.truth.object_masks[0].any((1, 2)) & ~visible.any((1, 2)))
        shown = (seen.output.present.visible_masks[0].numpy() > 0.5) & seen.bound.numpy()[:, None, None]
        shared = np.einsum("ohw,khw->ok", visible.astype(np.float64), shown.astype(np.float64))
        self.overlap = shared if self.overlap is None else self.overlap + shared

    def slot_of(self, thing: int) -> int | None:
        """The slot that has covered most of what was seen of the object."""
        if self.overlap is None or not self.overlap[thing].any():
            return None
        return int(self.overlap[thing].argmax())

    def hidden_error(self, movers: int, size: tuple[int, int]) -> tuple[float, int]:
        """Mean distance between belief and truth of hidden movers, in % of the diagonal, and how many such frames."""
        distances = []
        for places, truth, hidden in zip(self.places, self.truths, self.hidden, strict=True):
            for thing in range(movers):
                slot = self.slot_of(thing)
                if hidden[thing] and slot is not None:
                    distances.append(float(np.hypot(*(places[slot] - truth[thing]))))
        return (100 * float(np.mean(distances)) / diagonal(size), len(distances)) if distances else (float("nan"), 0)

    def peak(self, thing: int, first: int, end: int) -> float:
        """The largest surprise about the object from frame `first` up to `end`."""
        assert self.overlap is not None
        return peak(np.nan_to_num(self.history.curve("surprise")), self.overlap[thing], first, end)


@dataclass(frozen=True)
class Numbers:
    """What the demonstration found. Errors are % of the image's diagonal, surprise is the paper's slot error."""

    seed: int
    frames: int
    hidden_frames: int              # frames in which a mover was wholly hidden, both scenes together
    hidden_error: float             # mean distance between believed and true place in them
    removed_at: int                 # frame
    surprise_control: float         # largest surprise about that object, until it leaves the image, when it comes out
    surprise_vanished: float        # and in the same frames when it does not
    phantom_frames: int = 0         # frames of the control in which some slot is at no object
    over_seeds: SurpriseRatios | None = None    # the same comparison in other scenes

    def sentences(self) -> str:
        """They say what was measured, whether it flatters the network or not."""
        if not (np.isfinite(self.hidden_error) and np.isfinite(self.surprise_control + self.surprise_vanished)):
            return (
                "Two objects cross behind a screen, and in the second film one of them is taken away while hidden. "
                "This network never took hold of them, so it has no belief about them. Is it trained?"
            )
        times = ratio(self.surprise_vanished, self.surprise_control)
        kept = "keeps" if self.hidden_error < 10 else "loses"
        judged = f"{times:.1f} times" if times > 1 else f"no more than (x {times:.2f})"
        floor = " (less than a bit counts as one)" if self.surprise_control < 1 else ""
        return (
            f"Two objects cross behind a screen; in {self.hidden_frames} frames one of them cannot be seen at all, and "
            f"the network {kept} it in mind, on average {self.hidden_error:.1f} % of the image diagonal from where it "
            f"truly is. In the second film one of them is taken away while hidden, at frame {self.removed_at}. The "
            f"network's surprise about it rises to {self.surprise_vanished:.1f} bits (one ordinary film in "
            f"{2 ** self.surprise_vanished:.0f} holds something as unusual), {judged} its peak of "
            f"{self.surprise_control:.1f} when the object does come out{floor}."
            + ("" if self.over_seeds is None else f" {self.over_seeds.sentence()}")
            + f" {self.phantom_sentence()}"
        )

    def phantom_sentence(self) -> str:
        """Does it also believe in what is not there?"""
        if not self.phantom_frames:
            return "In the first film no slot ever holds something that is not there."
        return f"In {self.phantom_frames} of the first film's frames some slot holds a phantom: something not there."


def demonstrate(model: LociLooped, folder: Path, seed: int | None = None) -> Numbers:
    """Watch both scenes and write films, panels, curves, numbers and a page into the folder.

    Without a seed, ten scenes are compared first, and the one in the middle is shown: no other is as typical.
    """
    size = model.config.frame
    over_seeds = surprise_ratios(model) if seed is None else None
    seed = over_seeds.typical if seed is None and over_seeds is not None else seed or 0
    runs = {kind: _watch(model, kind, seed, size, folder) for kind in TITLES}
    control, surprise = runs["control"], runs["surprise"]
    numbers = replace(_measure(control, surprise, seed, size), over_seeds=over_seeds)
    for kind, run in runs.items():
        write_png(folder / f"{kind}-panel.png", slot_panel(run.moments, TITLES[kind]))
    figure = timeline(surprise.history, surprise.source.events, "Surprise scene; in grey the control", control.history)
    write_timeline(folder / "curves.png", figure)
    write_text(folder / "numbers.json", json.dumps(_finite(asdict(numbers)), indent=2, allow_nan=False) + "\n")
    write_page(
        folder / "index.html", "What is behind the screen?", numbers.sentences(),
        [Section(TITLES[kind], NOTES[kind], folder / f"{kind}.mp4", run.source.fps, run.history, run.source.events)
         for kind, run in runs.items()],
        [Plate(TITLES[kind], folder / f"{kind}-panel.png") for kind in runs],
        [("frames with a wholly hidden object", str(numbers.hidden_frames)),
         ("distance of belief and truth while hidden", f"{numbers.hidden_error:.1f} % of the diagonal"),
         ("peak of surprise when the object comes out", f"{numbers.surprise_control:.1f} bits"),
         ("peak of surprise when it does not", f"{numbers.surprise_vanished:.1f} bits"),
         ("frames of the control with a phantom", str(numbers.phantom_frames))],
    )
    return numbers


def _finite(value: Any) -> Any:
    """JSON knows no NaN."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _watch(model: LociLooped, kind: str, seed: int, size: tuple[int, int], folder: Path) -> Run:
    source = open_source(f"vanish:seed={seed},kind={kind}", size=size)
    run, board = Run(kind, source), Storyboard(TITLES[kind])
    small: list[Picture] = []
    total = source.length or 1
    chosen = {round(number) for number in np.linspace(0.08 * total, 0.95 * total, PANEL_COLUMNS)}

    def pictures() -> Iterator[Picture]:
        for seen in watch(model, source):
            run.add(seen, seen.number in chosen)
            if kind == "surprise":
                small.append(_pair(seen))
            yield board.draw(seen)

    write_film(folder / f"{kind}.mp4", pictures(), fps=source.fps)
    if small:
        write_film(folder / f"{kind}.gif", small, fps=source.fps)
    return run


def _pair(seen: FrameResult) -> Picture:
    """What is seen beside what is believed, for a small film."""
    height, width = seen.frame.shape[:2]
    shown = overlay(seen, (4 * height, 4 * width), seen.behind_the_screen, tags=False, ghost=seen.screen)
    return np.concatenate([enlarge(seen.frame, 4), np.full((4 * height, 8, 3), 255, np.uint8), shown], axis=1)


def _measure(control: Run, surprise: Run, seed: int, size: tuple[int, int]) -> Numbers:
    removed = next(event for event in surprise.source.events if event.kind == "removed")
    thing = removed.object if removed.object is not None else 0
    movers = len(control.truths[0]) - 1
    errors = [run.hidden_error(movers if run is control else thing, size) for run in (control, surprise)]
    count = sum(number for _, number in errors)
    mean = sum(error * number for error, number in errors if number) / count if count else float("nan")
    end = end_of(np.stack(control.truths), thing, removed.frame, size)
    return Numbers(
        seed=seed, frames=len(control.places) + len(surprise.places), hidden_frames=count, hidden_error=mean,
        removed_at=removed.frame, surprise_control=control.peak(thing, removed.frame, end),
        surprise_vanished=surprise.peak(thing, removed.frame, end), phantom_frames=control.phantoms,
    )
