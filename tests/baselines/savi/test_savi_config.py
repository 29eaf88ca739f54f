"""Sizes and presets: read without torch, stored as JSON, and refused in sentences."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from loci_looped.baselines import savi
from loci_looped.baselines.savi import PRESETS, SaviConfig, preset
from loci_looped.configs.savi import DecoderConfig, EncoderConfig, KernelConfig, PredictorConfig
from loci_looped.utils.errors import LociError


def test_the_configuration_needs_no_torch() -> None:
    code = (
        "import sys\nfrom loci_looped.baselines.savi import PRESETS\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\nprint(*PRESETS)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["savi", "savi-transformer", "savi-small"]


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
    assert preset("savi-small").token_grid == (16, 24) and preset("savi-small").doublings == 2


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
