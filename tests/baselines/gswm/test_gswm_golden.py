"""Number by number with the authors' code, from golden files: we never saw that code, only what it computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gswm_parts import GOLDEN, tiny

from loci_looped.baselines.deviation import Deviation
from loci_looped.baselines.gswm import Gswm, golden
from loci_looped.baselines.gswm.official import load_official, our_name
from loci_looped.utils.errors import LociError

FILES = ("gswm_balls", "gswm_background")


@pytest.fixture(scope="module", params=FILES)
def compared(request: pytest.FixtureRequest) -> tuple[golden.Arrays, dict[str, Deviation]]:
    path = GOLDEN / f"{request.param}.npz"
    return golden.read(path), {deviation.name: deviation for deviation in golden.deviations(path)}


Compared = tuple[golden.Arrays, dict[str, Deviation]]


def test_every_number_of_the_file_is_compared(compared: Compared) -> None:
    data, found = compared
    wanted = {name for name in data if name.startswith(("track.", "gen.", "grad."))}
    wanted |= {f"gradlarge.{name}" for name in data["gradlarge.names"]}
    assert wanted == set(found)


def test_codes_masks_and_losses_agree(compared: Compared) -> None:
    _, found = compared
    values = [deviation for name, deviation in found.items() if not name.startswith("grad")]
    assert {value.tolerance for value in values} == {0.0, 1e-9, 1e-6}   # ids, numbers, one single-precision picture
    assert not [value for value in values if not value.fine]


def test_gradients_agree(compared: Compared) -> None:
    _, found = compared
    values = [deviation for name, deviation in found.items() if name.startswith("grad")]
    assert len(values) > 200
    assert all(value.tolerance == 1e-8 for value in values)
    assert not [value for value in values if not value.fine]


def test_a_wrong_weight_is_noticed(tmp_path: Path) -> None:
    data = golden.read(GOLDEN / "gswm_balls.npz")
    name = "weights.fg_module.glimpse_decoder.fc.bias"
    changed = tmp_path / "changed.npz"
    values: dict[str, Any] = {**data, name: data[name] + np.float32(1e-3)}
    np.savez(changed, **values)
    found = {deviation.name: deviation for deviation in golden.deviations(changed, gradients=False)}
    assert found["track.z_where"].fine
    assert not found["track.recon_sub"].fine and not found["track.loss"].fine


@pytest.mark.parametrize("file", FILES)
def test_parameter_counts_are_the_authors(file: str) -> None:
    """Ours lack only what the authors build and never use: the second dynamics of the attribute head, two vectors."""
    data = golden.read(GOLDEN / f"{file}.npz")
    theirs = sum(value.numel() for name, value in golden.official_weights(data).items() if "running" not in name)
    ours = sum(parameter.numel() for parameter in Gswm(golden.config_of(data)).parameters())
    assert (theirs, ours) == {"gswm_balls": (5_163_279, 5_129_999), "gswm_background": (8_839_419, 8_806_139)}[file]
    assert theirs - ours == 256 * (128 + 1) + 2 * 128


def test_every_weight_of_ours_has_an_official_name() -> None:
    for file in FILES:
        data = golden.read(GOLDEN / f"{file}.npz")
        named = {our_name(name) for name in golden.official_weights(data)} - {None}
        ours = {name for name in Gswm(golden.config_of(data)).state_dict() if "num_batches" not in name}
        assert named == ours


def test_the_stem_has_two_names() -> None:
    assert our_name("fg_module.img_encoder.enc.0.weight") == our_name("fg_module.img_encoder.conv1.weight")


def test_foreign_weights_are_refused_by_name() -> None:
    weights = golden.official_weights(golden.read(GOLDEN / "gswm_balls.npz"))
    with pytest.raises(LociError, match=r"'slot_attention.gru' is no weight of G-SWM"):
        our_name("slot_attention.gru")
    with pytest.raises(LociError, match=r"this G-SWM needs \(16, 8\)"):
        load_official(tiny(), {"fg_module.glimpse_decoder.fc.weight": torch.zeros(128, 64)})
    weights.pop("fg_module.glimpse_decoder.fc.bias")
    with pytest.raises(LociError, match=r"lack 'renderer.decoder.input.bias'"):
        load_official(Gswm("gswm-balls"), weights)


def test_another_file_is_no_golden_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", video=np.zeros(3))
    with pytest.raises(LociError, match=r"no golden file of G-SWM"):
        golden.read(tmp_path / "other.npz")


def test_a_recipe_that_makes_other_numbers_is_refused() -> None:
    data = golden.read(GOLDEN / "gswm_balls.npz")
    data["recipe.gain"] = data["recipe.gain"] * 2
    with pytest.raises(LociError, match="made by the recipe"):
        golden.official_weights(data)
