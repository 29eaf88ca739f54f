"""What a network is made of: presets, JSON and back, and a sentence for everything that cannot be."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from loci_looped.configs.extensions import Extensions, Rules
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
        ({"extensions": Extensions(rules=Rules(visibility_prior=-1.0))}, "rules.visibility_prior is -1.0"),
        ({"extensions": Extensions(rules=Rules(deviation=-0.1))}, "rules.deviation is -0.1"),
        ({"recruiting": RecruitingConfig(candidates=0)}, "recruiting.candidates is 0"),
        ({"released": True, "extensions": Extensions(painted_objects=True)}, "extensions.painted_objects goes beyond"),
        ({"released": True, "extensions": Extensions(own_place=True)}, "extensions.own_place goes beyond"),
        ({"released": True, "extensions": Extensions(rules=Rules(displacement=True))}, "extensions.rules goes"),
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
        ({"released": 1}, "released = 1, but it must be of type bool"),
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


OLD_ADEPT_SMALL = {
    "slots": 5, "gestalt": 32, "latent": [10, 15], "level": 1, "levels": 1, "bottleneck": "binary",
    "encoder": {
        "channels": 32, "fine_channels": 12, "layers": 1, "position_prior": True, "explaining_away": True,
        "offsets": True, "gestalt_head": "attended", "size_head": "bounded", "size_limit": 0.15,
    },
    "decoder": {"channels": 32, "fine_channels": 12, "layers": 2},
    "transition": {
        "kind": "standard", "heads": 2, "layers": 2, "multiplier": 2, "l0_weight": 1e-10, "credit": "bptt",
        "residual_gain": 0.1, "size_gain": 1.0, "displacement": True, "inertia": 1.0, "speed_from": "well_seen",
        "deviation": 0.002, "persistence": 6.0,
    },
    "gate": {
        "l0_weight": 1e-4, "noise": 0.1, "hidden_bias": 0.0, "output_bias": 1.0, "open_when_lost": True,
        "visibility_prior": 3.0, "shuts_at": 0.2, "shuts_at_in_use": 0.1,
    },
    "recruiting": {
        "bound_threshold": 0.6, "candidates": 10, "minimum_error": 0.03, "minimum_error_in_use": 0.1,
        "newcomers": "behind", "suppression": 8.0,
    },
    "initialisation": "he", "own_object": "painted", "latent_grid": "aligned", "colour_order": "rgb", "official": False,
}
"""As version 0.1 wrote it beside the weights it shipped."""


def test_configurations_of_earlier_versions_are_read_in_todays_words() -> None:
    config = LociConfig.from_json(OLD_ADEPT_SMALL)
    beyond = config.extensions
    assert beyond.own_place and beyond.attended_gestalt and beyond.bounded_size == 0.15 and beyond.newcomers_behind
    assert beyond.rules == Rules(
        displacement=True, inertia=1.0, deviation=0.002, persistence=6.0, open_when_lost=True, visibility_prior=3.0,
        shuts_at=0.2, shuts_at_in_use=0.1,
    )
    assert LociConfig.from_json(config.to_json()) == config
    released = LociConfig.from_json({"slots": 3, "official": True, "colour_order": "bgr", "own_object": "whole"})
    assert released.released and not released.extensions.used()


def test_a_misspelt_field_of_an_earlier_version_is_named() -> None:
    with pytest.raises(ValueError, match="'encoder' has no field 'chanels'"):
        LociConfig.from_json({"official": False, "encoder": {"chanels": 3, "offsets": True}})
