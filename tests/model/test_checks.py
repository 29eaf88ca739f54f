"""What a caller may get wrong, and the sentence each mistake is answered with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from loci_looped.model import LociConfig, LociLooped, LociState, Regime


@pytest.fixture(scope="module")
def model(tiny: Callable[..., LociConfig]) -> LociLooped:
    torch.manual_seed(0)
    return LociLooped(tiny()).eval()


@pytest.fixture(scope="module")
def state(model: LociLooped) -> LociState:
    return model.initial(torch.zeros(2, 3, 16, 20))


@pytest.mark.parametrize(
    ("picture", "sentence"),
    [
        (torch.zeros(2, 3, 20, 16), "is 20 x 16 pixels, but this network works at 16 x 20: resize it first"),
        (torch.zeros(3, 16, 20), r"must be \(batch, 3, 16, 20\) in RGB, but it is \(3, 16, 20\)"),
        (torch.zeros(2, 1, 16, 20), "in RGB"),
        (torch.zeros(0, 3, 16, 20), "in RGB"),
        (torch.zeros(2, 3, 16, 20, dtype=torch.uint8), r"holds torch.uint8; divide by 255"),
        (torch.full((2, 3, 16, 20), 255.0), r"values from 255 to 255; colours must lie in \[0, 1\]"),
        (torch.full((2, 3, 16, 20), -0.5), "values from -0.5"),
        (np.zeros((2, 3, 16, 20), np.float32), r"a ndarray, but a tensor \(batch, 3, 16, 20\) is needed: torch.from"),
        (torch.full((2, 3, 16, 20), float("nan")), "NaN or infinite values"),
        (torch.full((2, 3, 16, 20), float("inf")), "NaN or infinite values"),
    ],
)
def test_pictures(model: LociLooped, state: LociState, picture: torch.Tensor, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"The frame .*{sentence}"):
        model.step(picture, state)
    with pytest.raises(ValueError, match=f"The background .*{sentence}"):
        model.initial(picture)


def test_one_bad_pixel_is_enough(model: LociLooped, state: LociState) -> None:
    frame = torch.zeros(2, 3, 16, 20)
    frame[1, 2, 15, 19] = float("nan")
    with pytest.raises(ValueError, match="NaN"):
        model.step(frame, state)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"frame": torch.zeros(3, 3, 16, 20)}, "holds 3 streams, the state 2: begin with initial"),
        ({"frame": torch.zeros(2, 3, 16, 20, dtype=torch.float64)}, "is torch.float64 on cpu, the state torch.float32"),
        ({"blackout": torch.tensor([True])}, r"blackout must be \(2,\) truth values"),
        ({"blackout": torch.zeros(2)}, "of torch.float32"),
        ({"hold": torch.zeros(2, dtype=torch.bool)}, r"hold must be \(2, 3\) truth values"),
    ],
)
def test_steps(model: LociLooped, state: LociState, changes: dict[str, Any], sentence: str) -> None:
    words = dict(changes)
    frame = words.pop("frame", torch.zeros(2, 3, 16, 20))
    with pytest.raises(ValueError, match=sentence):
        model.step(frame, state, Regime(**words))


def test_the_state_of_another_network(model: LociLooped, tiny: Callable[..., LociConfig]) -> None:
    other = LociLooped(tiny(slots=4)).initial(torch.zeros(2, 3, 16, 20))
    with pytest.raises(ValueError, match=r"belongs to another network \(4 slots of gestalt 6, frames of 16 x 20\)"):
        model.step(torch.zeros(2, 3, 16, 20), other)


def test_clips_and_imagination(model: LociLooped, state: LociState) -> None:
    with pytest.raises(ValueError, match=r"a clip \(B, T, 3, H, W\)"):
        model.observe(torch.zeros(2, 3, 16, 20), state)
    with pytest.raises(ValueError, match="one frame or more"):
        model.observe(torch.zeros(2, 0, 3, 16, 20), state)
    with pytest.raises(ValueError, match=r"blackout must be \(2, 1\)"):
        model.observe(torch.zeros(2, 1, 3, 16, 20), state, blackout=torch.zeros(2, dtype=torch.bool))
    with pytest.raises(ValueError, match="at least one step"):
        model.imagine(state, 0)
