from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from loci_looped.cli.main import main
from loci_looped.inference.networks import load, save_network, shipped_networks
from loci_looped.model.loci import LociLooped
from loci_looped.viz.demo import Numbers
from loci_looped.viz.typical import SurpriseRatios, end_of, peak, surprise_ratios


def test_the_sentences_say_what_was_measured_whether_it_flatters_or_not() -> None:
    good = Numbers(seed=7, frames=160, hidden_frames=29, hidden_error=3.5, removed_at=30, surprise_control=2.0,
                   surprise_vanished=10.0).sentences()
    assert "keeps it in mind" in good and "3.5 %" in good
    assert "10.0 bits (one ordinary film in 1024" in good and "5.0 times its peak of 2.0" in good
    assert "counts as one" not in good
    quiet = Numbers(7, 160, 29, 3.5, 30, 0.2, 4.0).sentences()
    assert "4.0 times its peak of 0.2 when the object does come out (less than a bit counts as one)." in quiet
    bad = Numbers(7, 160, 29, 25.0, 30, 5.0, 1.0).sentences()
    assert "loses it" in bad and "no more than (x 0.20)" in bad
    assert "no slot ever holds something that is not there" in good
    ghost = Numbers(7, 160, 29, 3.5, 30, 2.0, 10.0, phantom_frames=4).sentences()
    assert "In 4 of the first film's frames some slot holds a phantom" in ghost
    ratios = SurpriseRatios((3, 4, 5, 6), (2.0, 1.5, math.nan, 7.5))
    assert ratios.typical == 3
    assert "Over 4 scenes (seeds 3 to 6; in 3 of them a slot held the object)" in ratios.sentence()
    told = Numbers(7, 160, 29, 3.5, 30, 2.0, 10.0, 0, ratios).sentences()
    assert "between 1.5 and 7.5, in the middle at 2.0" in told
    lost = Numbers(7, 160, 0, math.nan, 30, math.nan, math.nan).sentences()
    assert "Is it trained?" in lost and "nan" not in lost


@pytest.mark.slow
def test_an_untrained_network_still_gives_films_and_an_honest_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    network = save_network(tmp_path / "network", LociLooped("adept-small"))
    out = tmp_path / "demo"
    assert main(["demo", "--network", str(network), "--out", str(out)]) == 0
    assert "Is it trained?" in capsys.readouterr().out
    assert {path.name for path in out.iterdir()} == {
        "control.mp4", "surprise.mp4", "surprise.gif", "control-panel.png", "surprise-panel.png", "curves.png",
        "numbers.json", "index.html",
    }
    assert json.loads((out / "numbers.json").read_text())["frames"] == 160


@pytest.mark.slow
@pytest.mark.skipif("adept-small" not in shipped_networks(), reason="no trained weights are shipped yet")
def test_the_shipped_network_keeps_the_hidden_ball_in_mind_and_misses_it(tmp_path: Path) -> None:
    begin = time.monotonic()
    assert main(["demo", "--out", str(tmp_path)]) == 0
    assert time.monotonic() - begin < 120
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["hidden_error"] < 10
    assert numbers["surprise_vanished"] > 1.5 * numbers["surprise_control"]


def test_surprise_counts_until_the_object_has_left_for_good() -> None:
    columns = [-1.0, 3.0, 9.0, 12.0, 8.0, 10.0, 11.0]       # in an image ten pixels wide; back again for a frame
    places = np.array([[[2.0, column]] for column in columns])
    assert end_of(places, 0, 1, (5, 10)) == 5 and end_of(places, 0, 5, (5, 10)) == 6
    assert end_of(np.array([[[2.0, 20.0]]] * 3), 0, 0, (5, 10)) == 3                # never seen: the whole film
    surprise = np.array([[9.0, 1.0], [0.0, 3.0], [0.0, 2.0], [9.0, 9.0]])
    assert peak(surprise, np.array([2.0, 30.0]), 1, 3) == 3 and np.isnan(peak(surprise, np.zeros(2), 0, 4))


@pytest.mark.skipif("adept-small" not in shipped_networks(), reason="no trained weights are shipped yet")
def test_scenes_watched_together_give_what_each_gives_alone() -> None:
    model = load("adept-small")
    together = surprise_ratios(model, (1000, 1003))
    assert together.ratios[1] == pytest.approx(surprise_ratios(model, (1003,)).ratios[0], rel=0.02)
    assert all(ratio > 0 for ratio in together.ratios)
