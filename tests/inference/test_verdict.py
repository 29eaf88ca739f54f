"""One plain sentence about whether a film is of the network's world."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_films import draw, make_film

from loci_looped.data.films.camera_motion import CameraMotion
from loci_looped.data.films.facts import FilmFacts
from loci_looped.inference.explained import Explained, explained
from loci_looped.inference.networks import load, trained_on
from loci_looped.inference.verdict import Judge, Verdict
from loci_looped.inference.watch import watch


def _facts(moves: bool = False) -> FilmFacts:
    path = np.zeros((50, 2))
    path[:, 1] = np.linspace(0, 0.2, 50) if moves else 0
    return FilmFacts(CameraMotion(path), changing=0.1, things=2.0, thing_pixels=40.0, pixels=2400)


def test_a_copy_and_a_bare_background_explain_what_they_should() -> None:
    background, frame = np.zeros((4, 4, 3)), np.ones((4, 4, 3))
    everywhere = np.ones((4, 4), bool)
    assert explained(frame, frame, frame, background, everywhere).share == 1
    assert explained(background, frame, frame, background, everywhere).share == 0
    half = explained(frame, frame, frame, background, everywhere) + explained(
        background, frame, frame, background, everywhere)
    assert half.share == 0.5 and half.mean("background") == 1 and np.isnan(Explained().share)


def test_who_paints_everything_grey_explains_nothing() -> None:
    """A network that had learnt nothing painted all grey, and so was nearer to a grey box than the bare wall is."""
    background, grey = np.ones((40, 6, 3)), np.full((40, 6, 3), 0.4)
    frame = background.copy()
    frame[:9] = 0.3
    moving = np.zeros((40, 6), dtype=bool)
    moving[:9] = True
    assert explained(frame, frame, frame, background, moving).share == 1
    assert explained(grey, frame, frame, background, moving).share < 0.3


def test_the_sentence_says_what_it_was_trained_on_and_what_to_do() -> None:
    stranger = Verdict(_facts(), 0.12, "generated vanish scenes").sentence()
    assert stranger.startswith("This network was trained on generated vanish scenes; it explains 12 % of what moves")
    assert "loci train own-films --data.folder FOLDER" in stranger and "Do not believe" in stranger
    assert "loci train" not in Verdict(_facts(), 0.9, "films of garden").sentence()
    assert "camera that stands still" in Verdict(_facts(moves=True), 0.9, "films of garden").sentence()
    assert "Nothing moves" in Verdict(_facts(), float("nan"), "films of garden").sentence()


def test_facts_are_sentences_about_camera_and_things() -> None:
    assert _facts().sentences()[0] == "The camera stands still."
    assert "moves, by 10 %" in _facts(moves=True).sentences()[0]
    assert "2.0 things at a time, each about 1.7 % of the picture (40 pixels)" in _facts().sentences()[1]


@pytest.mark.parametrize(("source", "at_home"), [("vanish:seed=1003", True), ("drawn", False)])
def test_the_shipped_network_knows_its_own_world(source: str, at_home: bool) -> None:
    judge = Judge(trained_on("adept-small"))
    film = draw(make_film(3, frames=90))[::3]
    for seen in watch(load("adept-small"), film if source == "drawn" else source):
        judge.add(seen)
        if seen.number == 29:
            break
    verdict = judge.verdict()
    assert verdict.at_home == at_home and verdict.trained_on == "generated vanish scenes"
