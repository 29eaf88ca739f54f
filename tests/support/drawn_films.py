"""A world that is not in the package: discs that roll before a textured wall, behind a box that never moves and behind
a board that slides. Films are drawn at 160 x 240 with 25 frames per second, as somebody might have filmed them.

Discs turn back at the sides of the picture. The board slides to and fro in the middle, so that they do so in sight:
where one turned while it is hidden, nobody could tell where it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from loci_looped.data.clip import Clip, ObjectKind, ObjectTruth
from loci_looped.data.formats.film_writer import write_film

SIZE = (160, 240)
FPS = 25.0
FRAMES = 200
LANES = (50.0, 106.0)           # rows of the two discs
COLOURS = (
    (214, 60, 50), (60, 90, 220), (240, 200, 40), (60, 180, 80), (230, 120, 210), (245, 245, 245), (40, 200, 220),
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Disc:
    radius: float
    colour: tuple[int, int, int]
    row: float
    column: float               # at time 0
    speed: float                # pixels per second, to the right

    def place(self, time: float) -> tuple[float, float]:
        """(row, column); it turns back at the sides of the picture."""
        low, high = self.radius, SIZE[1] - 1 - self.radius
        way = (self.column - low + self.speed * time) % (2 * (high - low))
        return self.row, low + (way if way <= high - low else 2 * (high - low) - way)


@dataclass(frozen=True)
class Board:
    """Something flat in front of the discs."""

    height: float
    width: float
    colour: tuple[int, int, int]
    row: float
    column: float               # of its middle, at time 0
    speed: float = 0.0
    reach: float = 0.0          # how far from the middle of the picture it slides before it turns

    def place(self, time: float) -> tuple[float, float]:
        if not self.speed:
            return self.row, self.column
        low = SIZE[1] / 2 - self.reach
        way = (self.column - low + self.speed * time) % (4 * self.reach)
        return self.row, low + (way if way <= 2 * self.reach else 4 * self.reach - way)


@dataclass(frozen=True)
class Film:
    """All that is in a film; a seed decides it."""

    seed: int
    wall: NDArray[np.uint8]     # (H, W, 3) without anything before it
    discs: tuple[Disc, ...]
    boards: tuple[Board, ...]   # the nearer one last
    frames: int = FRAMES

    @property
    def things(self) -> tuple[Disc | Board, ...]:
        return (*self.discs, *self.boards)


def make_film(seed: int, frames: int = FRAMES, standing: bool = True, sliding: bool = True) -> Film:
    """Two discs; a box that stands, a board that slides, or both."""
    random = np.random.default_rng([17, seed])
    colours = [COLOURS[index] for index in random.permutation(len(COLOURS))]
    discs = tuple(
        Disc(float(random.uniform(13, 17)), colours.pop(), lane + float(random.uniform(-6, 6)),
             float(random.uniform(0, 400)), float(random.uniform(55, 95)))
        for lane in LANES
    )
    boards: list[Board] = []
    if sliding:
        reach = 52.0
        boards.append(Board(float(random.uniform(90, 120)), float(random.uniform(48, 60)), colours.pop(),
                            float(random.uniform(72, 88)), SIZE[1] / 2 + float(random.uniform(-reach, 3 * reach)),
                            float(random.uniform(26, 36)), reach))
    if standing:
        boards.append(Board(float(random.uniform(100, 125)), float(random.uniform(52, 72)),
                            _dark(random), 84.0, float(random.uniform(85, 155))))
    return Film(seed, _wall(random), discs, tuple(boards), frames)


def _dark(random: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in random.integers(60, 120, 3))
    return red, green, blue


def _wall(random: np.random.Generator) -> NDArray[np.uint8]:
    """A smooth, coloured texture of two scales."""
    base = random.uniform(110, 190, 3)
    coarse, fine = (
        np.stack([ndimage.gaussian_filter(random.normal(size=SIZE), scale, mode="wrap") for _ in range(3)], axis=-1)
        for scale in (18, 4)
    )
    picture = base + 16 * coarse / coarse.std() + 7 * fine / fine.std()
    return np.asarray(np.clip(np.rint(picture), 0, 255), dtype=np.uint8)


def _cover(thing: Disc | Board, time: float) -> Floats:
    """(H, W) how much of each pixel it covers."""
    rows, columns = np.mgrid[0 : SIZE[0], 0 : SIZE[1]].astype(np.float64)
    row, column = thing.place(time)
    if isinstance(thing, Disc):
        inside = thing.radius - np.hypot(rows - row, columns - column)
    else:
        inside = np.minimum(thing.height / 2 - np.abs(rows - row), thing.width / 2 - np.abs(columns - column))
    return np.asarray(np.clip(inside + 0.5, 0, 1), dtype=np.float64)


def draw(film: Film) -> NDArray[np.uint8]:
    """(T, H, W, 3)"""
    random = np.random.default_rng([18, film.seed])
    frames = np.empty((film.frames, *SIZE, 3), dtype=np.uint8)
    for number in range(film.frames):
        picture = film.wall.astype(np.float64)
        for thing in film.things:
            cover = _cover(thing, number / FPS)[..., None]
            picture = cover * np.array(thing.colour) + (1 - cover) * picture
        frames[number] = np.clip(np.rint(picture + random.normal(0, 2, picture.shape)), 0, 255)
    return frames


def truth_of(film: Film, numbers: range) -> ObjectTruth:
    """Where everything is in these frames; boards are screens."""
    count = len(film.things)
    positions = np.empty((len(numbers), count, 2), dtype=np.float32)
    whole = np.empty((len(numbers), count, *SIZE), dtype=bool)
    for step, number in enumerate(numbers):
        for index, thing in enumerate(film.things):
            positions[step, index] = thing.place(number / FPS)
            whole[step, index] = _cover(thing, number / FPS) > 0.5
    before = np.flip(np.cumsum(np.flip(whole, 1), axis=1), 1) - whole        # how many nearer things cover the pixel
    kinds: list[ObjectKind] = ["mover" for _ in film.discs]
    kinds += ["screen" for _ in film.boards]
    return ObjectTruth(
        names=tuple(f"disc {index}" for index in range(len(film.discs)))
        + tuple("board" if board.speed else "box" for board in film.boards),
        kinds=tuple(kinds),
        positions=positions, visible_masks=whole & (before == 0), object_masks=whole,
        depths=np.tile(np.arange(count, 0, -1, dtype=np.float32), (len(numbers), 1)),
    )


def write_films(folder: Path, seeds: range, frames: int = FRAMES) -> list[Path]:
    """`film-SEED.mp4` for each of the seeds, as a user would have them: nothing but pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for seed in seeds:
        path = folder / f"film-{seed:03d}.mp4"
        write_film(path, draw(make_film(seed, frames)), fps=FPS)
        paths.append(path)
    return paths


def with_truth(clip: Clip, film: Film, stride: int) -> Clip:
    """A converted film (from its first frame on) together with what is true in it."""
    numbers = range(0, stride * len(clip), stride)
    return Clip(clip.frames, clip.background, truth_of(film, numbers).resized(clip.size), source=f"drawn/{film.seed}")
