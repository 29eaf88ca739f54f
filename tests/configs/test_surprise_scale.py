"""The scale of surprise: bits say how rare something is among ordinary films."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from loci_looped.configs.surprise import MOST, ROUGH, SurpriseScale, exponential, rarity


def test_one_bit_is_what_every_second_film_reaches() -> None:
    peaks = exponential(3.0, films=1001)
    told = rarity(torch.tensor([0.0, peaks[500], peaks[750], peaks[875]]), peaks)
    assert told[0] == 0
    assert torch.allclose(told[1:], torch.tensor([1.0, 2.0, 3.0]), atol=0.02)


def test_bits_of_new_films_are_as_rare_as_they_say() -> None:
    draw = torch.Generator().manual_seed(1)
    new = -5.0 * torch.log(torch.rand(200_000, generator=draw, dtype=torch.float64))
    told = rarity(new, exponential(5.0, films=128))
    for bits in (1, 3, 5, 8):
        share = float((told >= bits).double().mean())
        assert 0.5 < share * 2**bits < 2, (bits, share)


def test_beyond_all_films_it_goes_on_as_a_straight_line_to_a_limit() -> None:
    peaks = exponential(1.0, films=64)
    beyond = torch.tensor([peaks[-1] + step for step in (1.0, 2.0, 3.0)])
    told = rarity(beyond, peaks)
    assert torch.allclose(told[1] - told[0], told[2] - told[1], atol=1e-4) and told[0] > math.log2(64) - 1
    assert rarity(torch.tensor([1e9]), peaks) == MOST


def test_it_never_falls_where_evidence_grows() -> None:
    for peaks in (exponential(2.0), (0.0,) * 60 + (1.0, 2.0, 5.0, 9.0), (0.0,) * 64, (1.0, 1.0, 2.0)):
        told = rarity(torch.linspace(0, 20, 400), peaks)
        assert (told.diff() >= 0).all() and told[0] == 0, peaks


def test_what_no_ordinary_film_shows_is_not_endless_bits_at_once() -> None:
    peaks = (0.0,) * 60 + (1.0, 2.0, 5.0, 9.0)
    assert float(rarity(torch.tensor([0.5]), peaks)) < 5 < float(rarity(torch.tensor([9.0]), peaks))


def test_a_look_has_changed_as_far_as_its_bits_usually_do_not() -> None:
    scale = replace(ROUGH, spread=(0.25, 0.0))
    difference = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    restless, steady = scale.change(difference, torch.ones(2))
    assert steady > 10 * restless
    assert torch.equal(scale.change(difference, torch.zeros(2)), torch.zeros(2))
    assert ROUGH.change(difference, torch.ones(2)).shape == (2,)            # one spread for all bits


def test_a_scale_survives_its_file() -> None:
    assert SurpriseScale.from_json(ROUGH.to_json()).to_json() == ROUGH.to_json()


@pytest.mark.parametrize(("values", "words"), [
    (None, "is an object with missing"), ({"missing": [1.0]}, "is an object with missing"),
    ({**ROUGH.to_json(), "missing": "many"}, "holds lists of numbers"),
    ({**ROUGH.to_json(), "missing": [2.0, 1.0]}, "in rising order, but missing is not"),
    ({**ROUGH.to_json(), "spread": []}, "needs numbers"), ({**ROUGH.to_json(), "spread": [math.nan]}, "needs numbers"),
])
def test_what_is_no_scale_is_refused(values: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SurpriseScale.from_json(values)
