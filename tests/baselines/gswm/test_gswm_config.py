"""Sizes, presets and sentences for impossible ones."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import Any

import pytest

from loci_looped.baselines.gswm import PRESETS, Gswm, GswmConfig, preset
from loci_looped.configs.rivals import RIVALS, GswmTraining
from loci_looped.utils.errors import LociError


def parameters(name: str) -> int:
    return sum(parameter.numel() for parameter in Gswm(name).parameters())


def test_presets_are_the_published_ones_and_small_ones() -> None:
    assert set(PRESETS) == {"gswm-balls", "gswm-obj3d", "gswm-adept", "gswm-small", "gswm-balls-small"}
    assert preset("gswm-adept").background == "given"
    # With a given background the authors' 3.7 million background weights are not built.
    assert {name: parameters(name) for name in PRESETS} == {
        "gswm-balls": 5_129_999, "gswm-obj3d": 8_806_139, "gswm-adept": 5_129_999, "gswm-small": 733_663,
        "gswm-balls-small": 733_663,
    }


@pytest.mark.parametrize("name", PRESETS)
def test_json_gives_back_the_same_configuration(name: str) -> None:
    assert GswmConfig.from_json(json.loads(json.dumps(preset(name).to_json()))) == preset(name)


def test_curriculum_of_the_authors() -> None:
    recipe = RIVALS["gswm-balls"]
    assert isinstance(recipe, GswmTraining)
    curriculum = recipe.curriculum
    assert [curriculum.length_at(n) for n in (0, 9_999, 10_000, 50_000, 90_000, 10**6)] == [2, 2, 4, 12, 20, 20]
    config = preset("gswm-obj3d")
    assert [config.scale_prior_mean(update) for update in (0, 5_000, 10_000, 10**6)] == [-1.5, -1.625, -1.75, -1.75]


def test_reading_the_configuration_needs_no_torch() -> None:
    code = "import sys, loci_looped.configs.gswm; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


BAD: list[tuple[dict[str, Any], str]] = [
    ({"frame": 60}, "frame is 60, but it must be a multiple of 16"),
    ({"cells": 3}, "3 x 3 cells do not divide frames of 64 x 64 pixels: cells can be 1, 2, 4, 8"),
    ({"max_objects": 0}, "max_objects is 0"),
    ({"glimpse_channels": 12}, "8 must divide it"),
    ({"hidden": 40}, "hidden is 40: above 16 it must be a multiple of 16"),
    ({"pixel_std": 0.0}, "pixel_std is 0.0, but it must be above 0"),
    ({"presence_prior": 1.0}, "presence_prior is 1.0, but it must be a probability between 0 and 1"),
    ({"discovery_dropout": 1.5}, "discovery_dropout is 1.5"),
    ({"proposal_min": 0.3, "proposal_max": 0.1}, "in this order"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD)
def test_impossible_sizes_are_told(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LociError, match=sentence):
        dataclasses.replace(preset("gswm-balls"), **changes)


def test_json_that_says_something_else_is_told() -> None:
    for values, sentence in (
        ({"cels": 4}, "no field 'cels'; did you mean 'cells'"), ({"cells": "4"}, "must be of type int"),
        ({"background": "blue"}, "must be one of none, learned, given"),
    ):
        with pytest.raises(LociError, match=sentence):
            GswmConfig.from_json(values)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(LociError, match="Did you mean gswm-small"):
        preset("gswm-smal")
