from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import loci_looped
from loci_looped.cli import watch as cli_watch
from loci_looped.cli.main import main
from loci_looped.configs.recipes import recipe
from loci_looped.data.formats import video
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.render.clips import make_clip
from loci_looped.data.store.clip_file import save_clip
from loci_looped.inference.networks import save_network
from loci_looped.inference.stream import open_source
from loci_looped.model.loci import LociLooped
from loci_looped.utils.checkpoint import Checkpoint, write_checkpoint
from loci_looped.utils.errors import LociError
from loci_looped.viz.table import COLUMNS


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    torch.manual_seed(0)
    return str(save_network(tmp_path_factory.mktemp("network"), LociLooped("adept-small")))


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("films") / "two balls.mp4"
    write_film(path, make_clip("vanish-control", 7, samples=1, size=(80, 120)).frames[:6], fps=8)
    return path


def test_a_film_becomes_a_film_a_table_curves_and_a_page(
    network: str, film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results"
    assert main(["watch", str(film), "--network", network, "--out", str(out)]) == 0
    assert "6 frames" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == ["curves.png", "film.mp4", "index.html", "table.csv"]
    assert video.info(out / "film.mp4").frames == 6
    with (out / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS and len(rows) == 6 * 5
    assert [row["slot"] for row in rows[:5]] == list("12345") and rows[-1]["frame"] == "5"
    # The pixel columns are the positions at the size of the film itself.
    assert np.isclose(float(rows[0]["row"]), (float(rows[0]["y"]) + 1) / 2 * 79, atol=0.02)
    assert np.isclose(float(rows[0]["column"]), (float(rows[0]["x"]) + 1) / 2 * 119, atol=0.02)
    page = (out / "index.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
    assert data["sections"][0]["film"].startswith("data:video/mp4;base64,") and data["sections"][0]["length"] == 6


def test_the_lights_can_be_turned_out(network: str, tmp_path: Path) -> None:
    pictures = make_clip("vanish-control", 7, samples=1, size=(40, 60)).frames[:8]
    write_film(tmp_path / "film.mp4", pictures, fps=8)
    arguments = ["watch", str(tmp_path / "film.mp4"), "--network", network]
    assert main([*arguments, "--out", str(tmp_path / "light")]) == 0
    assert main([*arguments, "--out", str(tmp_path / "dark"), "--blackout", "1"]) == 0
    light, dark = ((tmp_path / name / "table.csv").read_text().splitlines() for name in ("light", "dark"))
    assert light[: 1 + 6 * 5] == dark[: 1 + 6 * 5] and light[1 + 6 * 5 :] != dark[1 + 6 * 5 :]
    with pytest.raises(LociError, match="between 0 and 1"):
        cli_watch.main([*arguments[1:], "--blackout", "-1"])


def test_a_film_can_be_watched_in_bfloat16(network: str, film: Path, tmp_path: Path) -> None:
    tables = []
    for precision in ("single", "bfloat16"):
        out = tmp_path / precision
        assert main(["watch", str(film), "--network", network, "--precision", precision, "--out", str(out)]) == 0
        tables.append((out / "table.csv").read_text())
    assert tables[0] != tables[1] and len(tables[0].splitlines()) == len(tables[1].splitlines())


def test_clips_are_watched_and_a_folder_of_them_one_by_one(network: str, tmp_path: Path) -> None:
    clip = make_clip("vanish-control", 7, samples=1).strided(3, stop=6)
    clips = tmp_path / "clips"
    for name in ("a.clip", "b.clip"):
        save_clip(clip, clips / name)
    Image.fromarray(clip.frames[0]).save(clips / "preview.png")
    assert main(["watch", str(clips / "a.clip"), "--network", network, "--out", str(tmp_path / "one")]) == 0
    assert video.info(tmp_path / "one" / "film.mp4").frames == 2
    assert main(["watch", str(clips), "--network", network, "--out", str(tmp_path / "all")]) == 0
    assert sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "all").glob("*/table.csv")) == [
        "all/a/table.csv", "all/b/table.csv",
    ]
    source = open_source(clips / "a.clip")
    assert source.name == "a.clip" and next(source.frames()).truth is not None
    with pytest.raises(LociError, match=r"holds 2 clips.*a\.clip"):
        open_source(clips)


def test_films_that_differ_in_their_ending_get_two_folders() -> None:
    from loci_looped.cli.watch import _plain

    assert (_plain("films/good.mp4"), _plain("good.avi"), _plain("vanish:seed=7")) == (
        "good-mp4", "good-avi", "vanish-seed-7",
    )


def test_a_range_of_a_generated_scene(network: str, tmp_path: Path) -> None:
    arguments = ["watch", "vanish:seed=3", "--network", network, "--start", "4", "--stop", "12", "--stride", "4"]
    assert main([*arguments, "--out", str(tmp_path / "r")]) == 0
    assert video.info(tmp_path / "r" / "film.mp4").frames == 2


def test_a_name_cannot_break_the_page(network: str, tmp_path: Path) -> None:
    path = tmp_path / "<script>alert(1)<script>.mp4"
    write_film(path, make_clip("vanish-control", 7, samples=1).frames[:2], fps=8)
    assert main(["watch", str(path), "--network", network, "--out", str(tmp_path / "r")]) == 0
    assert "<script>alert" not in (tmp_path / "r" / "index.html").read_text()


def test_a_very_long_film_is_met_with_an_offer(
    network: str, film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from loci_looped.cli import watch

    monkeypatch.setattr(watch, "LONG", 4)
    assert main(["watch", str(film), "--network", network, "--out", str(tmp_path / "r")]) == 2
    words = capsys.readouterr().err
    assert "6 frames" in words and "--stop 2" in words and "--stride 2" in words and "--all" in words
    assert main(["watch", str(film), "--network", network, "--out", str(tmp_path / "r"), "--all"]) == 0


@pytest.mark.parametrize(("arguments", "words"), [
    (["nowhere.mp4"], "no film or folder"),
    (["vanish:seed=x"], "whole number"),
    (["vanish:seed=1", "--start", "900"], "none of them"),
    (["vanish:seed=1", "--stride", "0"], "stride"),
    (["vanish:seed=1", "--background", "nothing.png"], "no picture"),
    (["camera:97"], "no camera"),
    (["vanish:seed=1", "--live", "--stop", "3"], "no screen"),
])
def test_bad_input_is_answered_with_a_sentence_and_leaves_nothing(
    network: str, arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    out = tmp_path / "r"
    assert main(["watch", *arguments, "--network", network, "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert words in message and "Traceback" not in message
    assert not out.exists() or not list(out.iterdir())


def test_no_weights_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "vanish:seed=1", "--network", "no-such-network", "--out", str(tmp_path)]) == 2
    assert "no network called 'no-such-network'" in capsys.readouterr().err


def test_an_endless_stream_is_ended_by_the_keyboard_and_kept(
    network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import itertools
    import signal

    from loci_looped.cli.watch import watch_to_folder
    from loci_looped.inference import stream as sources
    from loci_looped.inference.networks import load

    monkeypatch.setattr(sources, "LIVE_SAMPLES", 4)
    frames = make_clip("vanish-control", 7, samples=1).frames

    def camera() -> Iterator[np.ndarray]:
        for number in itertools.count():
            if number == 7:
                signal.raise_signal(signal.SIGINT)
            yield frames[number % len(frames)]

    handler = signal.getsignal(signal.SIGINT)
    watched = watch_to_folder(load(network), sources.open_source(camera()), tmp_path)
    assert 4 < watched < 12
    assert video.info(tmp_path / "film.mp4").frames == watched
    assert signal.getsignal(signal.SIGINT) is handler


def test_the_network_of_a_run_under_way_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By watch, as is seen here; export, lab and demo open networks with `load`, which does it, too."""
    config = recipe("adept-small")
    weights = {name: tensor.clone() for name, tensor in LociLooped(config.model).state_dict().items()}
    run = tmp_path / "run"
    write_checkpoint(run / "checkpoints", Checkpoint(
        7, {"weights": weights, "average": weights}, {"config": config.to_json(), "level": config.model.level},
    ))
    line = ["watch", "vanish:seed=3", "--stop", "2", "--network", str(run), "--out", str(tmp_path / "out")]
    assert main(line) == 0 and "Watched 2 frames" in capsys.readouterr().out
    for verb in ("export", "lab", "demo"):
        text = (Path(loci_looped.__file__).parent / "cli" / f"{verb}.py").read_text(encoding="utf-8")
        assert "from loci_looped.inference.networks import load" in text
        assert any(call in text for call in ("load(arguments.network)", "load_any(arguments.network)", "load(network)"))


def test_generated_balls_are_watched_by_the_network_of_their_world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results"
    assert main(["watch", "balls:seed=7", "--stop", "9", "--blackout", "0.9", "--out", str(out)]) == 0
    assert "Watched 9 frames of balls seed=7 with balls-small." in " ".join(capsys.readouterr().out.split())
    names = [cli_watch.network_for(source) for source in ("balls:kind=occlusion", "collide:seed=1", "balls.mp4")]
    assert names == ["balls-small-occlusion", "clevrer-small", "adept-learnt"]


@pytest.mark.parametrize(("source", "sentence"), [
    ("balls:seed=7,kind=billiards", "There are no balls 'billiards'. Choose one of: interaction, occlusion"),
    ("balls:size=7", "is not understood at 'size=7'; write balls:seed=7,kind=occlusion"),
    ("collide:seed=x", "A seed is a whole number from 0 on, not 'x'; write collide:seed=7"),
])
def test_bad_words_about_generated_films_are_told(source: str, sentence: str) -> None:
    with pytest.raises(LociError, match=re.escape(sentence)):
        open_source(source, size=(64, 64))


def test_balls_that_are_not_square_and_collisions_at_half_the_rate() -> None:
    with pytest.raises(LociError, match="Bouncing balls are square pictures"):
        open_source("balls:seed=7")
    table = open_source("collide:seed=100000", size=(16, 24))
    assert table.length == 64
