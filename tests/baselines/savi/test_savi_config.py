"""Sizes, presets and recipes: read without torch, stored as JSON, and refused in sentences."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from typing import Any

import pytest

from loci_looped.baselines import savi
from loci_looped.baselines.savi import PRESETS, RECIPES, SaviConfig, SaviRecipe, preset
from loci_looped.baselines.savi.config import DecoderConfig, EncoderConfig, KernelConfig, PredictorConfig
from loci_looped.utils.errors import LociError


def test_the_configuration_needs_no_torch() -> None:
    code = (
        "import sys\nfrom loci_looped.baselines.savi import PRESETS, RECIPES\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\nprint(*PRESETS)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["savi", "savi-transformer", "savi-small"] == list(RECIPES)


def test_the_public_names_are_there() -> None:
    for name in savi.__all__:
        assert getattr(savi, name) is not None
    with pytest.raises(AttributeError, match="has no 'nothing'; it has"):
        savi.nothing  # noqa: B018


@pytest.mark.parametrize("name", PRESETS)
def test_configurations_survive_json(name: str) -> None:
    assert SaviConfig.from_json(json.loads(json.dumps(PRESETS[name].to_json()))) == PRESETS[name]


def test_sizes_that_follow() -> None:
    assert preset("savi").token_grid == (64, 64) and preset("savi").doublings == 3
    assert preset("savi-small").token_grid == (20, 30) and preset("savi-small").doublings == 2


def test_unknown_presets_and_fields_are_answered_with_the_nearest() -> None:
    with pytest.raises(LociError, match=r"There is no SAVi network called 'savi-smal'\. Did you mean savi-small"):
        preset("savi-smal")
    with pytest.raises(LociError, match=r"There are savi, savi-transformer, savi-small\."):
        preset("loci")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"slot": 3}, "has no field 'slot'; did you mean 'slots'"),
        ({"predictor": {"kind": "gru"}}, r"'predictor' says kind = 'gru'; it must be one of mlp, transformer\."),
        ({"slots": 3.5}, "says slots = 3.5, but it must be of type int"),
        ({"slots": True}, "must be of type int"),
        ({"frame": "64"}, "must be a list of whole numbers"),
        ({"encoder": 3}, "'encoder' must be a JSON object, but it is int"),
    ]
    for wrong, sentence in refused:
        with pytest.raises(LociError, match=sentence):
            SaviConfig.from_json(wrong)


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"slots": 0}, "slots is 0, but SAVi needs at least one"),
    ({"frame": (64,)}, r"frame is \(64,\), but it must be two numbers"),
    ({"frame": (60, 60)}, "Slots tiled to 8 x 8 do not become frames of 60 x 60 by doubling at most 4 times"),
    ({"encoder": EncoderConfig(stride=3)}, "encoder.stride 3 does not divide frames of 64 x 64"),
    ({"encoder": EncoderConfig(channels=())}, "must name one width or more"),
    ({"decoder": DecoderConfig(kernel_size=4)}, "only odd kernels have a pixel in their middle"),
    ({"predictor": PredictorConfig(kind="transformer", heads=5)}, "does not divide the slot width 128"),
    ({"predictor": PredictorConfig(dropout=1.0)}, r"must lie in \[0, 1\)"),
    ({"kernel": KernelConfig(variance=0.0)}, "must be above 0"),
    ({"kernel": KernelConfig(kl_weight=-1.0)}, "must not be negative"),
])
def test_impossible_networks_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LociError, match=sentence):
        SaviConfig(**changes)


def test_the_rate_rises_then_falls_along_a_cosine() -> None:
    recipe = SaviRecipe(updates=1000, learning_rate=1.0, warm_up=0.1, final=0.01)
    rates = [recipe.learning_rate_at(update) for update in range(1001)]
    assert rates[0] == pytest.approx(0.01) and rates[99] == rates[100] == 1.0
    assert rates[550] == pytest.approx((1 + 0.01) / 2) and rates[1000] == pytest.approx(0.01)
    assert recipe.learning_rate_at(5000) == pytest.approx(0.01)
    assert all(later <= earlier for earlier, later in itertools.pairwise(rates[100:]))
    assert SaviRecipe(warm_up=0.0).learning_rate_at(0) == 1e-4


def test_impossible_recipes_are_refused() -> None:
    with pytest.raises(LociError, match="must be at least 1"):
        SaviRecipe(batch=0)
    with pytest.raises(LociError, match="learning_rate and gradient_norm must be above 0"):
        SaviRecipe(learning_rate=0.0)
