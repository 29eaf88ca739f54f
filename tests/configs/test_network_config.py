"""What a network is made of: presets, JSON and back, and a sentence for everything that cannot be."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from loci_looped.configs.network import DecoderConfig, EncoderConfig, GateConfig, RecruitingConfig, TransitionConfig
from loci_looped.model import PRESETS, LociConfig, preset


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_json(name: str) -> None:
    config = preset(name)
    assert LociConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_sizes_of_the_paper() -> None:
    adept, clevrer, balls = preset("adept"), preset("clevrer"), preset("balls")
    assert (adept.frame, adept.full_frame, adept.slots, adept.code_width) == ((80, 120), (320, 480), 7, 102)
    assert (adept.memory_width, adept.attention_width) == (204, 204)
    assert (clevrer.frame, clevrer.slots, clevrer.memory_width, clevrer.attention_width) == ((80, 120), 6, 252, 504)
    assert (balls.frame, balls.slots, balls.memory_width, balls.attention_width) == ((64, 64), 3, 84, 168)
    assert (adept.gate.l0_weight, clevrer.gate.l0_weight, balls.gate.l0_weight) == (5e-6, 5e-8, 1e-5)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"slots": 0}, "slots is 0, but a network needs at least one"),
        ({"gestalt": -1}, "gestalt is -1"),
        ({"level": 3}, "level 3 of 2 is not possible"),
        ({"level": 2, "levels": 1}, "level 2 of 1 is not possible"),
        ({"level": 0}, "level 0 of 2"),
        ({"latent": (1, 5)}, "two numbers"),
        ({"latent": (4, 5, 6)}, "two numbers"),
        ({"encoder": EncoderConfig(fine_channels=20)}, "multiple of the 12 input"),
        ({"encoder": EncoderConfig(fine_channels=0)}, "encoder.fine_channels is 0"),
        ({"encoder": EncoderConfig(channels=2)}, "at least 3"),
        ({"encoder": EncoderConfig(layers=0)}, "encoder.layers is 0, but it must be at least 1"),
        ({"decoder": DecoderConfig(layers=0)}, "decoder.layers is 0"),
        ({"transition": TransitionConfig(layers=0)}, "transition.layers is 0"),
        ({"transition": TransitionConfig(multiplier=0)}, "transition.multiplier is 0"),
        ({"transition": TransitionConfig(heads=5)}, "does not divide the attention width 204"),
        ({"transition": TransitionConfig(heads=0)}, "transition.heads is 0"),
        ({"transition": TransitionConfig(l0_weight=-1.0)}, "must not be negative"),
        ({"gate": GateConfig(l0_weight=float("nan"))}, "gate.l0_weight is nan"),
        ({"gate": GateConfig(visibility_prior=-1.0)}, "gate.visibility_prior is -1.0"),
        ({"transition": TransitionConfig(deviation=-0.1)}, "transition.deviation is -0.1"),
        ({"recruiting": RecruitingConfig(candidates=0)}, "recruiting.candidates is 0"),
        ({"official": True, "own_object": "painted"}, "but own_object goes beyond it"),
        ({"official": True, "encoder": EncoderConfig(position_prior=True)}, "encoder.position_prior goes beyond"),
        ({"official": True, "transition": TransitionConfig(displacement=True)}, "transition.displacement"),
    ],
)
def test_what_cannot_be_is_told(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        LociConfig(**change)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "must be a JSON object, but it is list"),
        ({"slot": 3}, "has no field 'slot'; did you mean 'slots'"),
        ({"zzz": 3}, "has no field 'zzz'."),
        ({"encoder": {"chanels": 3}}, "'encoder' has no field 'chanels'; did you mean 'channels'"),
        ({"slots": 3.5}, "slots = 3.5, but it must be of type int"),
        ({"slots": True}, "slots = True, but it must be of type int"),
        ({"official": 1}, "official = 1, but it must be of type bool"),
        ({"gate": {"l0_weight": "small"}}, "l0_weight = 'small'"),
        ({"colour_order": "grb"}, "it must be one of rgb, bgr"),
        ({"transition": {"kind": "other"}}, "one of standard, shared"),
        ({"latent": "wide"}, "not two whole numbers"),
        ({"latent": [4.0, 5]}, "not two whole numbers"),
        ({"latent": [4]}, "two numbers"),
    ],
)
def test_json_that_cannot_be_is_told(values: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        LociConfig.from_json(values)


def test_whole_numbers_serve_as_fractions() -> None:
    assert LociConfig.from_json({"gate": {"l0_weight": 0}}).gate.l0_weight == 0


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(ValueError, match="Did you mean adept"):
        preset("adpet")
    with pytest.raises(ValueError, match="There are adept, clevrer, balls"):
        preset("zzz")


def test_configurations_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        preset("adept").slots = 3  # type: ignore[misc]
