"""Is this film of the network's world? One plain sentence, and the facts behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.films.facts import FilmFacts, FilmObserver
from loci_looped.inference.explained import Explained, explained
from loci_looped.inference.watch import FrameResult

AT_HOME = 0.75
"""A network explains at least this share of what moves in films of its own world; the shipped ones about 0.9."""
DOUBTFUL = 0.6
"""Below this, outlines have little to do with things: a wall painted in its mean colour is explained to a half."""
SETTLING = 4
"""The first frames, in which a network is still finding things, are not held against it."""


@dataclass(frozen=True)
class Verdict:
    facts: FilmFacts
    explained: float            # share of what differs from the background that was predicted; NaN: nothing differs
    trained_on: str             # "generated vanish scenes"

    @property
    def at_home(self) -> bool:
        return self.explained >= AT_HOME and not self.facts.camera.moves()

    def sentence(self) -> str:
        """The verdict in one line."""
        if np.isnan(self.explained):
            return "Nothing moves here, so nothing can be said about the network."
        share = f"it explains {100 * max(0.0, self.explained):.0f} % of what moves here"
        told = f"This network was trained on {self.trained_on}; {share}."
        if self.at_home:
            return told
        if self.facts.camera.moves():
            return f"{told} It needs a camera that stands still."
        advice = "Train one on your films: loci train own-films --data.folder FOLDER."
        return f"{told} {'' if self.explained > DOUBTFUL else 'Do not believe its outlines. '}{advice}"

    def sentences(self) -> list[str]:
        """All that is known, the verdict last."""
        return [*self.facts.sentences(), self.sentence()]


class Judge:
    """Looks over a network's shoulder while it watches, in constant memory."""

    def __init__(self, trained_on: str) -> None:
        self.trained_on = trained_on
        self._observer = FilmObserver()
        self._explained = Explained()
        self._before: tuple[NDArray[np.uint8], NDArray[np.bool_]] | None = None

    def add(self, seen: FrameResult) -> None:
        front = self._observer.add(seen.picture, seen.frame, seen.background)
        if self._before is not None and seen.number >= SETTLING:
            before, stood = self._before
            expected, frame, last, empty = (
                np.asarray(picture, dtype=np.float64) / 255
                for picture in (seen.expected, seen.frame, before, seen.background)
            )
            self._explained = self._explained + explained(expected, frame, last, empty, front | stood)
        self._before = seen.frame, front

    def verdict(self) -> Verdict:
        return Verdict(self._observer.facts(), self._explained.share, self.trained_on)
