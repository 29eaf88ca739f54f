"""Number by number with the authors' code: codes, masks, losses, gradients, at both levels and with noise."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from loci_looped.baselines.loci_v1 import LociV1
from loci_looped.baselines.loci_v1.parity import compare, golden_network, is_golden
from loci_looped.baselines.loci_v1.released import load_released, released_config
from loci_looped.utils.errors import LociError

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = {"lociv1_eval": 0, "lociv1_train": 144, "lociv1_level2": 290, "lociv1_noise": 6}
"""Each with its number of gradients."""


def golden(name: str) -> dict[str, Any]:
    with np.load(GOLDEN / f"{name}.npz", allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}


@pytest.mark.parametrize("name", FILES)
def test_every_quantity_and_gradient_agrees(name: str) -> None:
    data = golden(name)
    found = compare(GOLDEN / f"{name}.npz", data)
    assert not [one for one in found if not one.fine], "what is stored but not compared counts as a deviation, too"
    assert is_golden(data) and len(found) > 130
    assert len([one for one in found if ".grad" in one.name or ".term." in one.name]) == FILES[name]


def test_a_wrong_number_is_found() -> None:
    data = golden("lociv1_noise")
    data["step4.position"] = data["step4.position"] + 1e-8
    data["step5.grad.initial_states.std"] = data["step5.grad.initial_states.std"] * (1 + 1e-7)
    data["step5.dreams"] = np.zeros(3)
    found = {one.name for one in compare(GOLDEN / "lociv1_noise.npz", data) if not one.fine}
    assert found == {"step4.position", "step5.grad.initial_states.std", "step5.dreams (not compared)"}


def test_a_file_without_weights_says_where_they_are(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "lociv1_noise.npz", tmp_path / "other.npz")
    with pytest.raises(LociError, match=r"holds no weights; they are in lociv1_train\.npz, which must lie beside it"):
        compare(tmp_path / "other.npz", golden("lociv1_noise"))


def test_weights_of_another_network_are_refused_by_name() -> None:
    data = golden("lociv1_eval")
    model = golden_network(data, data)
    weights = {n.removeprefix("weights."): torch.as_tensor(v) for n, v in data.items() if n.startswith("weights.")}
    with pytest.raises(LociError, match=r"has no tensor 'encoder\.layers1\.0\.layers\.0\.weight'"):
        load_released(model, {n: v for n, v in weights.items() if n != "encoder.layers1.0.layers.0.weight"}, "x.pt")
    with pytest.raises(LociError, match=r"also holds 'percept_gate'"):
        load_released(model, {**weights, "percept_gate": torch.zeros(1)}, "x.pt")
    with pytest.raises(LociError, match="belongs to a network of another size"):
        load_released(model, {**weights, "predictor.std_alpha": torch.zeros(2)}, "x.pt")
    with pytest.raises(LociError, match=r"'background\.mask' is missing"):
        released_config({}, slots=3)


def test_parameters_are_as_many_as_the_authors() -> None:
    """Without the bias image of 3 H W numbers that their network has and never uses."""
    for name, theirs, image in (("loci-v1-cater", 2_922_209, 240 * 320), ("loci-v1", 3_413_729, 320 * 480)):
        assert sum(p.numel() for p in LociV1(name).parameters()) == theirs - 3 * image
