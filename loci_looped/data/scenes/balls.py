"""Bouncing balls by G-SWM's rules: the same seeds give the same balls as the published data set.

Positions and velocities in this file are (x, y) in pixels from the image's top left corner, as in G-SWM's files.
The random draws come in G-SWM's order; attributes with one possible value draw nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.configs.scenes import SPLITS, BallsScenario, Split
from loci_looped.utils.errors import LociError

CANVAS = 64
SPEED = 3.0             # pixels per frame
SUBSTEPS = 10           # per frame
FRAMES = 100
PLACING_TRIES = 1000

PALETTE: dict[str, tuple[int, int, int]] = {
    "blue": (0, 0, 255),
    "red": (255, 0, 0),
    "yellow": (255, 255, 0),
    "fuchsia": (255, 0, 255),
    "aqua": (0, 255, 255),
}


@dataclass(frozen=True)
class Scenario:
    """One of G-SWM's ball worlds."""

    layers: tuple[int, ...]                     # one per ball; only balls of one layer can collide
    collide: bool
    overlap_at_start: bool
    seeds: tuple[int, int, int]                 # of the train, val and test split
    radius: float = 8.0
    colours: tuple[str, ...] | None = None      # fixed colours, or None: drawn
    colours_repeat: bool = True                 # drawn with replacement?


SCENARIOS: dict[BallsScenario, Scenario] = {
    "interaction": Scenario((0,) * 3, collide=True, overlap_at_start=False, seeds=(7, 8, 9)),
    "occlusion": Scenario((0,) * 3, collide=False, overlap_at_start=True, seeds=(1, 2, 3), colours_repeat=False),
    "twolayer": Scenario(
        (0,) * 3 + (1,) * 3, collide=True, overlap_at_start=False, seeds=(13, 14, 15),
        colours=("blue",) * 3 + ("red",) * 3,
    ),
    "twolayerdense": Scenario(
        (0,) * 8 + (1,) * 8, collide=True, overlap_at_start=False, seeds=(19, 20, 21), radius=5.0,
        colours=("blue",) * 8 + ("red",) * 8,
    ),
}


@dataclass(frozen=True)
class Balls:
    """M balls over T frames: everything G-SWM's files say about them, without the pictures."""

    positions: NDArray[np.float64]              # (T, M, 2) (x, y)
    velocities: NDArray[np.float64]             # (T, M, 2) pixels per frame
    colours: NDArray[np.uint8]                  # (M, 3)
    radii: NDArray[np.float64]                  # (M,)
    masses: NDArray[np.float64]                 # (M,)
    layers: NDArray[np.int64]                   # (M,)
    contacts: tuple[tuple[int, int, int], ...] = ()     # (first frame after it, ball, other ball)
    seed: int | None = None                     # where they were drawn, not read


def sequence_seed(scenario: BallsScenario, split: Split, index: int) -> int:
    """The seed of one sequence: number `index` of the stream that belongs to the split."""
    rules = _rules(scenario)
    if split not in SPLITS:
        raise LociError(f"Bouncing balls have no split {split!r}; choose one of {', '.join(SPLITS)}.")
    if index < 0:
        raise LociError(f"Sequence number {index} does not exist: numbers start at 0.")
    stream = np.random.RandomState(rules.seeds[SPLITS.index(split)])
    return int(stream.randint(0, 2**32 - 1, index + 1, dtype=np.int64)[index])


def simulate(scenario: BallsScenario, seed: int, frames: int = FRAMES) -> Balls:
    """Draw the balls of a seed and let them move."""
    rules = _rules(scenario)
    if frames < 1:
        raise LociError(f"A ball sequence of {frames} frames cannot be made; ask for 1 or more.")
    if not 0 <= seed < 2**32:
        raise LociError(f"Seed {seed} is out of range; bouncing balls take seeds from 0 to {2**32 - 1}.")
    draw = np.random.RandomState(seed)
    count = len(rules.layers)
    layers = np.array(rules.layers)
    radii, masses = np.full(count, rules.radius), np.ones(count)
    if rules.colours is None:
        names = [str(name) for name in draw.choice(list(PALETTE), size=count, replace=rules.colours_repeat)]
    else:
        names = list(rules.colours)
    velocities = draw.randn(count, 2)
    velocities = SPEED * velocities / np.linalg.norm(velocities, axis=1, keepdims=True)
    start = _place(draw, radii, rules.overlap_at_start)
    pairs = same_layer_pairs(layers) if rules.collide else []
    positions, velocities, contacts = run(start, velocities, radii, masses, pairs, frames)
    colours = np.array([PALETTE[name] for name in names], dtype=np.uint8)
    return Balls(positions, velocities, colours, radii, masses, layers, contacts, seed)


def _place(draw: np.random.RandomState, radii: NDArray[np.float64], overlap: bool) -> NDArray[np.float64]:
    """(M, 2) start positions; unless overlap is allowed, a ball is drawn again until it touches none before it.

    G-SWM's test looks at balls of every layer here, unlike the one that decides who collides.
    """
    placed = np.zeros((len(radii), 2))
    for ball, radius in enumerate(radii):
        for _ in range(PLACING_TRIES):
            placed[ball] = radius + draw.uniform(size=2) * (CANVAS - 2 * radius)
            squared = ((placed[:ball] - placed[ball]) ** 2).sum(axis=1)
            if overlap or not (squared < (radii[:ball] + radius) ** 2).any():
                break
        else:
            raise LociError(f"Ball {ball} found no free place in {PLACING_TRIES} tries; take another seed.")
    return placed


def same_layer_pairs(layers: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The pairs (i, j), i > j, that can collide, in the order in which contacts are resolved."""
    return [(i, j) for i in range(len(layers)) for j in range(i) if layers[i] == layers[j]]


def run(
    start: NDArray[np.float64],             # (M, 2)
    velocities: NDArray[np.float64],        # (M, 2)
    radii: NDArray[np.float64],             # (M,)
    masses: NDArray[np.float64],            # (M,)
    pairs: list[tuple[int, int]],           # those that collide
    frames: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[tuple[int, int, int], ...]]:
    """Positions (T, M, 2), velocities (T, M, 2) and contacts. Frame 0 is the start."""
    low, high = radii[:, None], CANVAS - radii[:, None]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    reach = (radii[first] + radii[second]) ** 2
    place, speed = start.copy(), velocities.copy()
    all_places, all_speeds = [place.copy()], [speed.copy()]
    contacts: list[tuple[int, int, int]] = []
    for frame in range(1, frames):
        for _ in range(SUBSTEPS):
            trial = place + speed / SUBSTEPS
            speed = np.where(trial < low, np.abs(speed), speed)
            speed = np.where(trial > high, -np.abs(speed), speed)
            trial = place + speed / SUBSTEPS
            apart = trial[first] - trial[second]
            for hit in np.flatnonzero((apart * apart).sum(axis=1) < reach):
                i, j = int(first[hit]), int(second[hit])
                exchange(speed, masses, i, j, apart[hit])
                if (frame, j, i) not in contacts:
                    contacts.append((frame, j, i))
            place = place + speed / SUBSTEPS
        all_places.append(place.copy())
        all_speeds.append(speed.copy())
    return np.stack(all_places), np.stack(all_speeds), tuple(contacts)


def exchange(
    speed: NDArray[np.float64], masses: NDArray[np.float64], i: int, j: int, apart: NDArray[np.float64]
) -> None:
    """Elastic contact of balls i and j along their centre line; changes `speed` (M, 2) in place."""
    line = apart / np.linalg.norm(apart)
    along_i, along_j = line @ speed[i], line @ speed[j]
    total = masses[i] + masses[j]
    speed[i] += line * 2 * masses[j] / total * (along_j - along_i)
    speed[j] += line * 2 * masses[i] / total * (along_i - along_j)


def colour_name(colour: NDArray[np.uint8]) -> str:
    """The palette's word for a colour, or its numbers."""
    rgb = tuple(int(value) for value in colour)
    return next((name for name, value in PALETTE.items() if value == rgb), "rgb({},{},{})".format(*rgb))


def _rules(scenario: str) -> Scenario:
    if scenario not in SCENARIOS:
        raise LociError(f"There is no ball scenario {scenario!r}; choose one of {', '.join(SCENARIOS)}.")
    return SCENARIOS[scenario]
