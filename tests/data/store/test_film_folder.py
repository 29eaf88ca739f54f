"""A folder of anything: found, prepared once, cut into clips, and split without leaks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_films import FPS, draw, make_film
from numpy.typing import NDArray
from PIL import Image
from squares import square_clip

from loci_looped.data.films.prepare import Preparation
from loci_looped.data.formats import adept
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.render.clips import make_clip
from loci_looped.data.store.clip_file import save_clip
from loci_looped.data.store.collection import open_collections
from loci_looped.data.store.film_folder import CutClips, FilmFolder, PreparedFile, open_film_folder, split
from loci_looped.utils.errors import LociError

WANTED = Preparation((40, 60))


@pytest.fixture(scope="module")
def pictures() -> NDArray[np.uint8]:
    return draw(make_film(2, frames=75))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, pictures: NDArray[np.uint8]) -> Path:
    """A film, a folder of frames, a clip with truth, ADEPT data, and things that are neither."""
    folder = tmp_path_factory.mktemp("mixed")
    write_film(folder / "toy.mp4", pictures, fps=FPS)
    (folder / "frames").mkdir()
    for number, frame in enumerate(pictures[::3]):
        Image.fromarray(frame).save(folder / "frames" / f"{number}.png")
    scene = make_clip("vanish-control", 1000, (40, 60)).strided(1, 0, 25)
    save_clip(scene, folder / "scene.clip")
    adept.write(folder / "adept", "video_1", scene)
    Image.fromarray(pictures[0]).save(folder / "preview.png")
    (folder / "notes.txt").write_text("nothing to see")
    return folder


def _open(folder: Path, cache: Path, **options: float | str) -> FilmFolder:
    return open_film_folder(folder, WANTED, cache, **{"length": 20, "held_out": 0.0, **options})  # type: ignore[arg-type]


def test_all_kinds_are_found_and_previews_are_no_frames(mixed: Path) -> None:
    found = {name for collection in open_collections(mixed) for name in collection.names}
    assert found == {"toy.mp4", "frames", "scene.clip", "video_1"}


def test_mixed_films_come_out_at_one_size_and_one_length(mixed: Path, tmp_path: Path) -> None:
    folder = _open(mixed, tmp_path)
    assert {file.frames for file in folder.files} == {25} and not folder.held_out
    clips = CutClips(folder.training)
    assert {clips.pixels(index)[0].shape for index in range(len(clips))} == {(20, 40, 60, 3)}
    known = [cut.clip().truth is not None for cut in folder.training]
    assert any(known) and not all(known)


def test_a_film_is_prepared_once_and_again_when_it_changes(pictures: NDArray[np.uint8], tmp_path: Path) -> None:
    films, cache = tmp_path / "films", tmp_path / "cache"
    films.mkdir()
    write_film(films / "a.mp4", pictures, fps=FPS)
    first = _open(films, cache)
    made = {path: path.stat().st_mtime_ns for path in cache.rglob("*.clip")}
    assert _open(films, cache) == first
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.clip")} == made
    next(iter(made)).write_bytes(b"damaged")
    assert _open(films, cache) == first             # made again
    write_film(films / "a.mp4", pictures[::-1], fps=FPS)
    assert _open(films, cache).files != first.files


def test_a_moving_camera_is_refused_left_out_or_used(pictures: NDArray[np.uint8], tmp_path: Path) -> None:
    films = tmp_path / "films"
    films.mkdir()
    panned = np.stack([frame[:100, t : t + 150] for t, frame in enumerate(pictures)])
    write_film(films / "still.mp4", pictures, fps=FPS)
    write_film(films / "panned.mp4", panned, fps=FPS)
    with pytest.raises(LociError, match=r"camera moves in 1 of 2 films \(panned.mp4 by .*--data.moving-camera use"):
        _open(films, tmp_path / "cache")
    left = _open(films, tmp_path / "cache", moving_camera="leave_out")
    assert [Path(file.film).name for file in left.files] == ["still.mp4"] and "left out" in left.notes[-1]
    used = _open(films, tmp_path / "cache", moving_camera="use")
    assert len(used.files) == 2


def _files(count: int, frames: int) -> list[PreparedFile]:
    return [PreparedFile(Path(f"{number}.clip"), f"film-{number}.mp4", frames, 0) for number in range(count)]


def test_of_many_films_whole_ones_are_held_out() -> None:
    files = _files(20, 100)
    training, apart, notes = split(files, 40, 0.15)
    learnt, kept = {cut.file for cut in training}, {cut.file for cut in apart}
    assert len(kept) == 3 and learnt | kept == {file.file for file in files} and not learnt & kept
    assert (training, apart) == split(list(files), 40, 0.15)[:2] and "3 of 20 films" in notes[0]


def test_of_few_films_the_end_is_held_out() -> None:
    training, apart, _ = split(_files(2, 200), 40, 0.15)
    for file in (Path("0.clip"), Path("1.clip")):
        last = max(cut.stop for cut in training if cut.file == file)
        assert last <= min(cut.start for cut in apart if cut.file == file)
    assert split(_files(1, 50), 40, 0.15)[1] == []      # too short for both


def test_short_films_are_left_out_or_shorten_all(tmp_path: Path) -> None:
    for seed, frames in enumerate((13, 13, 9, 3)):
        save_clip(square_clip(seed, frames, (40, 60)), tmp_path / f"{seed}.clip")
    folder = _open(tmp_path, tmp_path / "cache", length=12)
    assert [file.frames for file in folder.files] == [13, 13, 9]
    assert "1 of 4 films are left out" in folder.notes[0] and "9 frames instead of 12" in folder.notes[1]


def test_films_in_which_nothing_moves_are_left_out_and_named(tmp_path: Path) -> None:
    films = tmp_path / "films"
    films.mkdir()
    for seed in range(2):
        write_film(films / f"film-{seed}.mp4", draw(make_film(seed, frames=60)), fps=FPS)
    write_film(films / "wall.mp4", np.repeat(make_film(5).wall[None], 60, axis=0), fps=FPS)
    wanted = Preparation((40, 60))
    for _ in range(2):                  # fresh, and from the cache
        found = open_film_folder(films, wanted, tmp_path / "cache", length=10, held_out=0.0)
        assert {Path(file.film).name for file in found.files} == {"film-0.mp4", "film-1.mp4"}
        assert "Nothing moves in 1 of 3 films (wall.mp4); they are left out." in found.notes
    for seed in range(2):
        (films / f"film-{seed}.mp4").unlink()
    with pytest.raises(LociError, match=r"Nothing moves in any of the 1 films \(wall\.mp4\)"):
        open_film_folder(films, wanted, tmp_path / "cache", length=10, held_out=0.0)
