"""The test sets: ADEPT's "vanish" in the paper's composition, matched pairs of every violation, clips of the user's.

Scenes come from the seeds 0, 1, 2 ... Training draws its scenes from another stream of random numbers altogether, and
its validation looks at the seeds from FIRST_VALIDATION_SEED on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loci_looped.configs.scenes import ViolationKind
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import Size
from loci_looped.data.store.clip_file import clip_files
from loci_looped.data.store.clip_spec import ClipSpec, StoredClip
from loci_looped.utils.errors import LociError

SetName = Literal["control", "surprise"]
FIRST_ORDINARY, ORDINARY = 2000, 128
"""Seeds of the scenes by which surprise is calibrated."""


@dataclass(frozen=True)
class Composition:
    """How many scenes of each kind; the default is the paper's 35 control and 11 surprise scenes."""

    two_movers: int = 16
    one_mover: int = 19
    surprise: int = 11

    @property
    def total(self) -> int:
        return self.two_movers + self.one_mover + self.surprise

    def scaled(self, scenes: int) -> Composition:
        """The same mixture of another number of scenes; at least one is a control with two movers."""
        surprise = round(scenes * self.surprise / self.total)
        one = round(scenes * self.one_mover / self.total)
        one = max(0, min(one, scenes - surprise - 1))
        return Composition(scenes - surprise - one, one, surprise)


PAPER = Composition()


def composition(scenes: int | None = None, movers: int | None = None) -> Composition:
    """The paper's by default; scaled to `scenes`; with `movers`, control scenes of that kind alone."""
    if scenes is not None and scenes < 1:
        raise LociError(f"A test set of {scenes} scenes is empty: ask for one or more with --scenes.")
    if movers is None:
        return PAPER if scenes is None else PAPER.scaled(scenes)
    if movers not in (1, 2):
        raise LociError(f"Control scenes have one or two movers, not {movers}: say --movers 1 or --movers 2.")
    count = scenes or PAPER.two_movers + PAPER.one_mover
    return Composition(count if movers == 2 else 0, count if movers == 1 else 0, 0)


def vanish_specs(wanted: Composition, size: Size, seed: int = 0) -> list[ClipSpec]:
    """Every scene has a seed of its own, so the two conditions are independent samples."""
    if seed < 0:
        raise LociError(f"Seeds are whole numbers from 0 on, not {seed}.")
    kinds = ["vanish-control"] * wanted.two_movers + ["vanish-control-1"] * wanted.one_mover
    kinds += ["vanish-surprise"] * wanted.surprise
    return [ClipSpec(kind, seed + offset, size) for offset, kind in enumerate(kinds)]


def ordinary_specs(size: Size, count: int = ORDINARY) -> list[ClipSpec]:
    """Control scenes in which nothing odd happens, neither tested nor validated on: what is ordinary (`calibrate`)."""
    return [ClipSpec("vanish-control", number, size) for number in range(FIRST_ORDINARY, FIRST_ORDINARY + count)]


def pair_specs(kind: ViolationKind, count: int, size: Size, seed: int = 0) -> list[tuple[ClipSpec, ClipSpec]]:
    """`count` matched pairs (control, violation)."""
    return [(ClipSpec(f"violations-{kind}-control", number, size), ClipSpec(f"violations-{kind}", number, size))
            for number in range(seed, seed + count)]


def stored_specs(folder: Path, size: Size) -> list[StoredClip]:
    """The `.clip` files of a folder."""
    return [StoredClip(file, size) for file in clip_files(folder)]


def set_of(clip: Clip) -> SetName:
    """A clip in which something impossible happens, or something is taken away, belongs to the surprise set."""
    return "surprise" if any(event.kind in ("violation", "removed") for event in clip.events) else "control"
