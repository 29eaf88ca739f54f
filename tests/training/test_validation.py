"""Validation during training, with the shipped network: hidden movers are believed, and a blind one is found out."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import loci_looped
from loci_looped.training.validation import Validation, validate, validation_clips


@pytest.fixture(scope="module")
def validations() -> tuple[Validation, Validation]:
    """The shipped network, and the same with nothing left of its whole-object masks."""
    model = loci_looped.load("adept-small")
    clips = validation_clips(4, model.config.frame)
    seeing = validate(model, clips, "learned")
    assert not model.training
    painted = model.decoder.forward

    def without_objects(*arguments: object) -> object:
        decoded = painted(*arguments)       # type: ignore[arg-type]
        return dataclasses.replace(decoded, object_masks=torch.zeros_like(decoded.object_masks))

    model.decoder.forward = without_objects         # type: ignore[method-assign,assignment]
    return seeing, validate(model, clips, "learned")


def test_a_hidden_mover_painted_alone_is_still_a_whole_object(validations: tuple[Validation, Validation]) -> None:
    seeing, blind = validations
    assert seeing.hidden_mask > 90
    assert not blind.hidden_mask > 0        # nothing is imagined, or nothing was found that could be


def test_the_shipped_network_is_as_good_as_it_is_known_to_be(validations: tuple[Validation, Validation]) -> None:
    seeing, _ = validations
    assert seeing.movers_found >= 75 and seeing.successful >= 75
    assert seeing.occluded_error < 8
    assert seeing.position_gate_hidden < 0.1 < 0.5 < seeing.position_gate_visible
    assert "hidden object imagined" in seeing.line()
