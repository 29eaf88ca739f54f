"""The films of a world that is not in the package, to train on, and others with the truth, to measure on.

    python tools/drawn_films.py drawn                       # drawn/films: 30 films; drawn/test: 24 clips with truth
    loci train own-films --data.folder drawn/films --seed 0
    loci evaluate runs/own-films-seed0 --clips drawn/test --gate learned

Clips for measuring are prepared as anybody's films are, background and standing box estimated from the pixels; truth is
added to the result. For each of them it is told how far the estimates are from the truth.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from drawn_films import FRAMES, make_film, with_truth, write_films

from loci_looped.data.coordinates import Size, resize
from loci_looped.data.films.prepare import Preparation, prepare_film
from loci_looped.data.store.clip_file import save_clip

STRIDE = 3                      # of films with 25 frames per second, as everywhere


def write_clips(films: Path, out: Path, seeds: range, frames: int, size: Size = (40, 60)) -> list[tuple[float, float]]:
    """Films as clips with truth; for each the mean error of its background, in grey levels, and how well the standing
    box was found: the share of intersection in union."""
    told = []
    for seed in seeds:
        (shot,) = prepare_film(films / f"film-{seed:03d}.mp4", Preparation(size, stride=STRIDE))
        film = make_film(seed, frames)
        clip = with_truth(shot.clip, film, STRIDE)
        save_clip(clip, out / f"film-{seed:03d}.clip")
        assert clip.truth is not None
        box = clip.truth.object_masks[0, clip.truth.names.index("box")]
        found = np.zeros_like(box) if not shot.occluder.size else shot.occluder
        error = np.abs(clip.background.astype(np.float64) - resize(film.wall, size)).mean()
        told.append((float(error), float((found & box).sum() / (found | box).sum())))
    return told


def seeds_of(text: str) -> range:
    """"200-223" -> range(200, 224)"""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--films", type=seeds_of, default=range(30), help="seeds of films to train on, 0-29")
    parser.add_argument("--test", type=seeds_of, default=range(200, 224), help="seeds of clips with truth, 200-223")
    parser.add_argument("--frames", type=int, default=FRAMES)
    arguments = parser.parse_args()
    write_films(arguments.out / "films", arguments.films, arguments.frames)
    write_films(arguments.out / "test-films", arguments.test, arguments.frames)
    told = write_clips(arguments.out / "test-films", arguments.out / "test", arguments.test, arguments.frames)
    for seed, (error, overlap) in zip(arguments.test, told, strict=True):
        print(f"film {seed}: background off by {error:.1f} grey levels, standing box found to {100 * overlap:.0f} %")
    errors, overlaps = zip(*told, strict=True)
    print(
        f"{len(told)} films: background off by {np.mean(errors):.1f} grey levels on average, at most "
        f"{max(errors):.1f}; the standing box is found in {sum(overlap > 0.5 for overlap in overlaps)}"
    )


if __name__ == "__main__":
    main()
