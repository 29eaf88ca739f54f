"""Number by number with the authors' code, gradients included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from savi_material import FILES, golden

from loci_looped.baselines.deviation import Deviation
from loci_looped.baselines.savi import Savi
from loci_looped.baselines.savi.parity import compare, golden_config, golden_model
from loci_looped.baselines.savi.released import UNUSED, load_released, released_names
from loci_looped.utils.errors import LociError


@pytest.fixture(scope="module", params=FILES)
def data(request: pytest.FixtureRequest) -> dict[str, Any]:
    return golden(request.param)


def test_every_quantity_and_gradient_agrees(data: dict[str, Any]) -> None:
    found = compare(data)
    assert not [deviation for deviation in found if not deviation.fine]
    # Everything in the file has been looked at.
    stored = {name for name in data if name != "video" and not name.startswith("weights.")}
    assert {deviation.name for deviation in found} == stored
    assert len([deviation for deviation in found if deviation.name.startswith("grad.")]) in (54, 82)


def test_a_wrong_number_is_found(data: dict[str, Any]) -> None:
    wrong = {**data, "slots": data["slots"] + 1e-8, "grad.init_latents": data["grad.init_latents"] * (1 + 1e-7)}
    assert {deviation.name for deviation in compare(wrong) if not deviation.fine} == {"slots", "grad.init_latents"}
    assert not Deviation("nothing", float("nan"), 1.0).fine


def test_the_sizes_are_read_off_the_weights(data: dict[str, Any]) -> None:
    config = golden_config(data)
    assert (config.slots, config.slot_width, config.hidden_width, config.frame) == (5, 16, 32, (64, 64))
    assert config.encoder.channels == config.decoder.channels == (8, 8, 8, 8)
    transformer = "weights.predictor.rnn.weight_ih_l0" in data
    assert config.predictor.kind == ("transformer" if transformer else "mlp")
    assert config.kernel.stochastic is not transformer
    assert config.predictor.feed_forward == (64 if transformer else 512)


def test_every_parameter_has_a_name_of_theirs(data: dict[str, Any]) -> None:
    model = golden_model(data)
    names = released_names(model.config)
    assert set(names) == {name for name, _ in model.named_parameters()}
    theirs = {n.removeprefix("weights.") for n in data if n.startswith("weights.")}
    assert theirs - set(names.values()) == {name for name in theirs if name.startswith(UNUSED)}


@pytest.mark.parametrize(("file", "preset", "slots", "ours", "theirs"), [
    ("savi_mlp", "savi", 7, 1_165_700, 1_198_980),
    ("savi_transformer", "savi-transformer", 6, 1_990_404, 2_023_684),
])
def test_parameters_of_the_published_networks(file: str, preset: str, slots: int, ours: int, theirs: int) -> None:
    """The golden networks are the published ones with every width divided by 8. Ours lack only what is never used."""

    def published(name: str, shape: tuple[int, ...]) -> int:
        if name == "init_latents":
            return slots * shape[2] * 8
        widths, kernel = (shape[:2], shape[2:]) if len(shape) == 4 else (shape, ())
        colours = ("encoder.0.0.weight", "decoder.4.weight", "decoder.4.bias")     # 3 in, 4 out
        coordinates = name.endswith("dense.weight")                                 # 4 in
        scaled = [w if w <= 4 and (name in colours or coordinates) else 8 * w for w in widths]
        return int(np.prod([*scaled, *kernel]))

    weights = {n.removeprefix("weights."): v.shape for n, v in golden(file).items() if n.startswith("weights.")}
    counts = {name: published(name, shape) for name, shape in weights.items()}
    unused = sum(count for name, count in counts.items() if name.startswith(UNUSED))
    assert sum(counts.values()) == theirs
    assert sum(p.numel() for p in Savi(preset).parameters()) == ours == theirs - unused


def test_foreign_weights_are_refused_by_name(data: dict[str, Any]) -> None:
    weights = {n.removeprefix("weights."): torch.from_numpy(v) for n, v in data.items() if n.startswith("weights.")}
    model = Savi(golden_config(data))
    assert all(name.startswith(UNUSED) for name in load_released(model, weights, "net.pth"))
    with pytest.raises(LociError, match=r"net.pth also holds 'snitch', which SAVi does not have"):
        load_released(model, {**weights, "snitch": torch.zeros(1)}, "net.pth")
    with pytest.raises(LociError, match=r"net.pth has no tensor 'init_latents'"):
        load_released(model, {n: v for n, v in weights.items() if n != "init_latents"}, "net.pth")
    with pytest.raises(LociError, match=r"'init_latents' is \(1, 4, 16\), which does not fit our 'start' of \(5, 16\)"):
        load_released(model, {**weights, "init_latents": torch.zeros(1, 4, 16)}, "net.pth")
    with pytest.raises(LociError, match="does not hold finite floating-point numbers"):
        load_released(model, {**weights, "init_latents": torch.full((1, 5, 16), torch.nan)}, "net.pth")


def test_other_golden_files_are_refused(data: dict[str, Any]) -> None:
    with pytest.raises(LociError, match="This is no golden file of SAVi"):
        compare({"video": data["video"]})
    with pytest.raises(LociError, match="holds 'mystery', which nothing here is compared with"):
        compare({**data, "mystery": np.zeros(1)})
    with pytest.raises(LociError, match="'init_latents' is missing"):
        compare({name: value for name, value in data.items() if name != "weights.init_latents"})
