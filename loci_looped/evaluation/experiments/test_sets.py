"""The test sets: ADEPT's "vanish" in the paper's composition, matched pairs of every violation, clips of the user's.

Scenes come from the seeds 0, 1, 2 ... Training draws its scenes from another stream of random numbers altogether, and
its quick validation looks at the seeds from 1000 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from loci_looped.data.scenes import vanish
from loci_looped.data.scenes.scene import Violation, ViolationKind
from loci_looped.data.scenes.violations import matched_scenes
from loci_looped.data.store.clip_file import clip_files, load_clip
from loci_looped.evaluation.experiments.clip_specs import Size, StoredTake, Take, VanishTake
from loci_looped.utils.errors import LociError

SetName = Literal["control", "surprise"]
FIRST_VALIDATION_SEED = 1000


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
        """The same mixture with so many scenes; of very few, at least one is a control with two movers."""
        surprise = round(scenes * self.surprise / self.total)
        one = round(scenes * self.one_mover / self.total)
        one = max(0, min(one, scenes - surprise - 1))
        return Composition(scenes - surprise - one, one, surprise)


PAPER = Composition()


@dataclass(frozen=True)
class Item:
    """One film of a test set."""

    set: SetName
    take: Take


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


def vanish_items(wanted: Composition, size: Size, seed: int = 0) -> list[Item]:
    """Every scene has a seed of its own, so the two conditions are independent samples."""
    if seed < 0:
        raise LociError(f"Seeds are whole numbers from 0 on, not {seed}.")
    items: list[Item] = []
    for offset in range(wanted.two_movers + wanted.one_mover):
        number = 2 if offset < wanted.two_movers else 1
        items.append(Item("control", control_take(seed + offset, number, size)))
    first = seed + wanted.two_movers + wanted.one_mover
    for number in range(first, first + wanted.surprise):
        scene = replace(vanish.crossing_scene(number), violation=Violation("vanish", vanish.REMOVAL_TIME, mover=1))
        items.append(Item("surprise", VanishTake(scene, size, number, "vanish/surprise")))
    return items


def control_take(seed: int, movers: int, size: Size) -> VanishTake:
    scene = vanish.crossing_scene(seed)
    return VanishTake(replace(scene, movers=scene.movers[:movers]), size, seed, f"vanish/control-{movers}")


def pair_takes(kind: ViolationKind, count: int, size: Size, seed: int = 0) -> list[tuple[VanishTake, VanishTake]]:
    """(control, violation) of so many matched pairs."""
    pairs = []
    for number in range(seed, seed + count):
        control, violation = matched_scenes(kind, number)
        pairs.append((VanishTake(control, size, number, f"vanish/{kind}-control"),
                      VanishTake(violation, size, number, f"vanish/{kind}")))
    return pairs


def stored_items(folder: Path, size: Size) -> list[Item]:
    """The `.clip` files of a folder; those in which something is taken away are the surprise set."""
    items = []
    for file in clip_files(folder):
        removed = any(event.kind == "removed" for event in load_clip(file, verify=False).events)
        items.append(Item("surprise" if removed else "control", StoredTake(file, size)))
    return items


def seeds_of(items: Sequence[Item]) -> list[int]:
    return [item.take.seed for item in items if isinstance(item.take, VanishTake)]
