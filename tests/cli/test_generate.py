"""`loci generate` and `loci inspect` as a user calls them, in an empty folder."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from loci_looped.cli.main import main
from loci_looped.data.formats import adept, clevrer, gswm
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.render.clips import make_clip
from loci_looped.data.scenes import balls
from loci_looped.data.store.clip_file import load_clip


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_native_clips_are_the_seeds_clips_and_runs_can_be_taken_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "vanish", "--count", "2", "--size", "24x36", "--seed", "5", "--out", "made"]) == 0
    assert "2 clips of 24x36 written to made (native)" in capsys.readouterr().out
    assert sorted(path.name for path in Path("made").iterdir()) == ["train_00005.clip", "train_00006.clip"]
    assert (load_clip("made/train_00006.clip").frames == make_clip("vanish", 6, (24, 36)).frames).all()
    written = Path("made/train_00006.clip").stat().st_mtime_ns
    assert main(["generate", "vanish", "--count", "3", "--size", "24x36", "--seed", "5", "--out", "made",
                 "--preview"]) == 0
    assert "1 clip of" in (said := capsys.readouterr().out) and "2 more were there already" in said
    assert Path("made/train_00006.clip").stat().st_mtime_ns == written
    with Image.open("made/preview.png") as sheet:
        assert sheet.width == 1400
    assert main(["generate", "vanish", "--count", "1", "--size", "32x48", "--seed", "5", "--out", "made"]) == 2
    assert "train_00005.clip is there already at 24x36" in capsys.readouterr().err
    assert main(["generate", "vanish", "--count", "1", "--size", "32x48", "--seed", "5", "--out", "made",
                 "--overwrite"]) == 0
    assert load_clip("made/train_00005.clip").size == (32, 48)


def test_test_scenes_get_adepts_names_and_folders() -> None:
    order = ["generate", "vanish-surprise", "--count", "1", "--size", "16x24", "--layout", "adept", "--out", "a"]
    assert main(order) == 0
    (folder,) = adept.videos("a")
    assert folder.name == "human_disappear_fixed_00000_1"
    clip = adept.read(folder).clip
    assert {"removed", "violation", "screen_falls"} <= {event.kind for event in clip.events}
    assert main(order) == 0                 # what is there is kept


def test_violations_come_in_pairs_that_are_equal_until_the_event() -> None:
    assert main(["generate", "violations-colour", "--count", "1", "--size", "16x24", "--out", "v"]) == 0
    control, violation = (load_clip(f"v/colour_00000_{name}.clip") for name in ("control", "violation"))
    (event,) = (event for event in violation.events if event.kind == "violation")
    assert (control.frames[: event.frame] == violation.frames[: event.frame]).all()


def test_collide_as_clevrer() -> None:
    assert main(["generate", "collide", "--count", "1", "--seed", "10000", "--size", "16x24", "--layout", "clevrer",
                 "--out", "c"]) == 0
    library = clevrer.open_library("c")
    reading = clevrer.read(library, 10_000)
    assert len(reading.clip) == 128 and reading.clip.truth is not None and reading.notes == ()


@pytest.mark.parametrize(("layout", "file"), [("gswm", "balls_occlusion-test.h5"),
                                              ("loci", "balls_occlusion-test-64x64-v1.hdf5")])
def test_balls_regenerate_the_published_split(layout: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    order = ["generate", "balls-occlusion", "--count", "2", "--seed", "198", "--split", "test", "--layout", layout,
             "--out", "b"]
    assert main(order) == 0
    clip = gswm.read(Path("b") / file, 1)
    assert (clip.frames == make_clip("balls-occlusion-test", 199).frames).all()
    assert main(order) == 2 and "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(("line", "words"), [
    (["vanish", "--size", "large", "--out", "x"], "such as 80x120"),
    (["vanish", "--count", "0", "--out", "x"], "--count is 1 or more"),
    (["vanish", "--seed", "-1", "--out", "x"], "whole number from 0 on"),
    (["vanish", "--size", "4x6", "--out", "x"], "not 4x6"),
    (["vanish", "--layout", "clevrer", "--out", "x"], "native, adept"),
    (["vanish", "--split", "test", "--out", "x"], "Only bouncing balls"),
    (["balls", "--size", "32x32", "--out", "x"], "64x64"),
    (["vanish", "--out", "file.txt"], "is a file"),
])
def test_bad_orders_are_sentences(line: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file.txt").write_text("")
    assert main(["generate", *line]) == 2
    told = capsys.readouterr().err
    assert words in told and "Traceback" not in told
    assert not [path for path in Path().rglob("*") if path.is_file() and path.name != "file.txt"]


def test_inspect_tells_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    main(["generate", "vanish-surprise", "--count", "2", "--size", "16x24", "--out", "clips"])
    capsys.readouterr()
    assert main(["inspect", "clips"]) == 0
    said = capsys.readouterr().out
    assert "clips, 2 in all" in said and "80 frames of 16x24, seed 1" in said
    assert "screen" in said and "removed" in said and "clips-sheet.png" in said
    assert Image.open("clips-sheet.png").width == 1400


def test_inspect_knows_films_frames_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (6, 20, 30, 3)).astype(np.uint8)
    write_film("film.mkv", frames, lossless=True)
    Path("frames").mkdir()
    for number, frame in enumerate(frames):
        Image.fromarray(frame).save(f"frames/{number}.png")
    gswm.write_gswm("table.h5", [balls.simulate("interaction", 0, 3)])
    for path, words in (("film.mkv", "film, 1 in all"), ("frames", "folder of frames"), ("table.h5", "G-SWM")):
        assert main(["inspect", path, "--out", "sheet.png"]) == 0
        assert words in capsys.readouterr().out
    assert "background unsure" in _said(["inspect", "frames"], capsys)


def test_inspect_finds_the_damaged_ones(capsys: pytest.CaptureFixture[str]) -> None:
    main(["generate", "balls", "--count", "5", "--out", "clips"])
    content = Path("clips/balls_interaction_00001.clip").read_bytes()
    Path("clips/balls_interaction_00001.clip").write_bytes(content[:-100])
    capsys.readouterr()
    assert main(["inspect", "clips", "--clips", "1"]) == 0
    capsys.readouterr()
    assert main(["inspect", "clips", "--clips", "1", "--check"]) == 2
    told = capsys.readouterr()
    assert "balls_interaction_00001.clip" in told.out and "1 of the clips" in told.err


@pytest.mark.parametrize(("path", "words"), [
    ("nowhere", "nothing at nowhere"),
    ("empty", "holds nothing that can be read"),
    ("notes.txt", "no kind that can be read"),
    ("one.png", "single picture"),
])
def test_inspect_says_what_it_cannot_read(path: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    Path("notes.txt").write_text("hello")
    Image.new("RGB", (4, 4)).save("one.png")
    assert main(["inspect", path]) == 2
    assert words in capsys.readouterr().err


def test_help_answers_without_torch() -> None:
    code = "import sys; from loci_looped.cli.main import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n" \
           "assert 'torch' not in sys.modules and 'scipy' not in sys.modules"
    for verb in ("generate", "inspect"):
        done = subprocess.run([sys.executable, "-c", code, verb, "--help"], capture_output=True, text=True, check=True)
        assert "--out" in done.stdout


def _said(line: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(line) == 0
    return capsys.readouterr().out
