"""The one loop over time: every step once, in order, with what it is shown."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from clairvoyant import FRAMES, Clairvoyant, clip_of
from torch import Tensor, nn

from loci_looped.baselines.protocol import Slots
from loci_looped.inference.pixels import frames_at
from loci_looped.inference.run import Shown, evaluation_mode, run, scan
from loci_looped.utils.errors import LociError


def test_only_the_state_crosses_from_step_to_step() -> None:
    found = list(scan(lambda given, state: (state + given, state), 10, [1, 2, 3]))
    assert found == [(0, 10), (1, 11), (2, 13)]


def test_clips_are_watched_together_from_first_to_last() -> None:
    clips = [clip_of(0), clip_of(1)]
    said = list(run(Clairvoyant(clips), clips))
    assert [t for t, _ in said] == list(range(FRAMES))
    assert said[0][1].positions.shape == (2, 2, 2)


def test_what_is_shown_may_be_another_frame_none_or_a_blackout() -> None:
    clips = [clip_of(0)]
    model, shown = Clairvoyant(clips), []
    original = model.step

    def step(frame: Tensor | None, state: int, *, blackout: Tensor | None = None) -> tuple[int, Slots]:
        shown.append((frame, blackout))
        return original(frame, state, blackout=blackout)

    model.step = step           # type: ignore[method-assign]
    told: list[Slots | None] = []

    def show(t: int, frame: Tensor, before: Slots | None) -> Shown:
        told.append(before)
        return (None, None) if t == 1 else (frame, torch.tensor([t == 2]))

    said = [slots for _, slots in run(model, clips, show=show, steps=FRAMES + 2)]
    assert shown[1] == (None, None) and bool(shown[2][1]) and len(shown) == FRAMES + 2
    assert torch.equal(shown[-1][0], frames_at(clips, FRAMES - 1))          # beyond the end the last frame stays
    assert told[0] is None and all(a is b for a, b in zip(told[1:], said, strict=False))


def test_clips_of_different_length_are_not_watched_together() -> None:
    short = dataclasses.replace(clip_of(1), frames=clip_of(1).frames[:9], truth=None)
    with pytest.raises(LociError, match="equally long"):
        next(run(Clairvoyant([clip_of(0)]), [clip_of(0), short]))


@pytest.mark.parametrize("training", [True, False])
def test_a_network_is_left_in_the_mode_it_was_in(training: bool) -> None:
    model = nn.Linear(1, 1).train(training)
    with pytest.raises(ZeroDivisionError), evaluation_mode(model):
        assert not model.training
        1 / 0       # noqa: B018
    assert model.training == training
