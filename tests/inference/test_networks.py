"""A network in a folder: what is stored comes back, and what is broken is told."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import loci_looped
from loci_looped.configs.network import DecoderConfig, EncoderConfig
from loci_looped.configs.recipes import recipe
from loci_looped.inference import networks as storage
from loci_looped.model import LociConfig, LociLooped
from loci_looped.utils.checkpoint import Checkpoint, write_checkpoint
from loci_looped.utils.errors import LociError

TINY = LociConfig(
    slots=2, gestalt=4, latent=(3, 4), levels=1,
    encoder=EncoderConfig(channels=6, fine_channels=12, layers=1),
    decoder=DecoderConfig(channels=6, fine_channels=6, layers=1),
)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    return storage.save_network(tmp_path / "net", LociLooped(TINY), manifest={"origin": "a test"})


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = LociLooped(TINY)
    folder = storage.save_network(tmp_path / "deep" / "net", model, manifest={"score": 0.5})
    again = loci_looped.load(folder)
    assert again.config == model.config and not again.training
    for (name, ours), theirs in zip(model.state_dict().items(), again.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name
    assert storage.read_manifest(folder) == {"score": 0.5}
    assert sorted(p.name for p in folder.iterdir()) == ["config.json", "manifest.json", "weights.safetensors"]


def test_a_run_is_opened_by_its_folder(tmp_path: Path) -> None:
    storage.save_network(tmp_path / storage.INSIDE_RUN, LociLooped(TINY))
    assert loci_looped.load(tmp_path).config == TINY
    assert storage.read_manifest(tmp_path) == {}


def test_a_run_under_way_is_opened_by_its_newest_checkpoint(tmp_path: Path) -> None:
    model = LociLooped(TINY)
    config = dataclasses.replace(recipe("adept-small"), model=TINY)
    plain, average = ({name: torch.full_like(value, number) for name, value in model.state_dict().items()}
                      for number in (1.0, 2.0))
    for update in (10, 20):
        write_checkpoint(tmp_path / "checkpoints", Checkpoint(
            update, {"weights": plain, "average": average}, {"level": TINY.level, "config": config.to_json()}))
    again = loci_looped.load(tmp_path)
    assert again.config == TINY and not again.training
    assert all(bool((value == 2).all()) for value in again.parameters())        # the moving average is what is used
    storage.save_network(tmp_path / storage.INSIDE_RUN, model)
    assert not storage.is_unfinished_run(tmp_path)


def test_a_run_without_a_checkpoint_is_told(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(LociError, match="has no weights yet"):
        loci_looped.load(tmp_path)


def test_shipped_networks_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "SHIPPED", tmp_path)
    storage.save_network(tmp_path / "tiny", LociLooped(TINY))
    assert storage.shipped_networks() == ("tiny",)
    assert loci_looped.load("tiny").config == TINY
    with pytest.raises(LociError, match="no network called 'tinny': shipped are tiny"):
        loci_looped.load("tinny")


def test_every_shipped_network_loads() -> None:
    for name in storage.shipped_networks():
        assert sum(p.numel() for p in storage.load_any(name).parameters()) > 10_000
    assert loci_looped.load("adept-small").config.slots >= 1


@pytest.mark.parametrize("missing", ["config.json", "weights.safetensors"])
def test_a_missing_file_is_named(stored: Path, missing: str) -> None:
    (stored / missing).unlink()
    with pytest.raises(LociError, match=f"There is no file .*{missing}"):
        storage.load_network(stored)
    with pytest.raises(LociError, match="holds no network"):
        loci_looped.load(stored)


def test_a_truncated_weight_file_is_told(stored: Path) -> None:
    whole = (stored / "weights.safetensors").read_bytes()
    for length in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        (stored / "weights.safetensors").write_bytes(whole[:length])
        with pytest.raises(LociError, match=r"weights\.safetensors is no complete safetensors file"):
            storage.load_network(stored)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda about: about.update(kind="slot network"), "describes a slot network; this version"),
        (lambda about: about["network"].update(slotz=3), "no field 'slotz'; did you mean 'slots'"),
        (lambda about: about["network"].update(slots="many"), "slots = 'many', but it must be of type int"),
        (lambda about: about["network"].update(bottleneck="jar"), "one of binary, sigmoid"),
        (lambda about: about["network"].update(latent=4), "not two whole numbers"),
        (lambda about: about["network"].update(encoder=[]), "'encoder' must be a JSON object"),
        (lambda about: about.pop("network"), "must be a JSON object, but it is NoneType"),
        (lambda about: about["network"].update(gestalt=5), "do not belong together"),
        (lambda about: about["network"]["encoder"].update(layers=2), "lack the tensor"),
        (lambda about: about["network"].update(levels=2), "do not belong together"),
    ],
)
def test_a_configuration_that_does_not_fit_is_told(stored: Path, change, sentence: str) -> None:  # type: ignore[no-untyped-def]
    about = json.loads((stored / "config.json").read_text())
    change(about)
    (stored / "config.json").write_text(json.dumps(about))
    with pytest.raises(LociError, match=sentence):
        storage.load_network(stored)


def test_unreadable_json_is_told(stored: Path) -> None:
    (stored / "config.json").write_text('{"kind": ')
    with pytest.raises(LociError, match="no valid JSON"):
        storage.load_network(stored)
    (stored / "manifest.json").write_text("[1]")
    with pytest.raises(LociError, match="must hold a JSON object"):
        storage.read_manifest(stored)


def test_a_network_that_went_astray_is_told(tmp_path: Path) -> None:
    model = LociLooped(TINY)
    with torch.no_grad():
        model.gate.layers[0].bias[0] = float("nan")
    storage.save_network(tmp_path, model)
    with pytest.raises(LociError, match=r"gate\.layers\.0\.bias.*NaN"):
        storage.load_network(tmp_path)


def test_an_interrupted_write_leaves_the_old_network(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (stored / "weights.safetensors").read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(LociError, match="could not be written"):
        storage.save_network(stored, LociLooped(TINY))
    assert (stored / "weights.safetensors").read_bytes() == before
    assert sorted(p.name for p in stored.iterdir()) == ["config.json", "manifest.json", "weights.safetensors"]


def test_names_and_files_that_are_no_network(tmp_path: Path) -> None:
    with pytest.raises(LociError, match="There is no network called 'no-such'"):
        loci_looped.load("no-such")
    (tmp_path / "net.pt").write_bytes(b"")
    with pytest.raises(LociError, match="loci import-official"):
        loci_looped.load(tmp_path / "net.pt")


def test_importing_the_package_costs_nothing() -> None:
    code = (
        "import sys, loci_looped; "
        "assert not {'torch', 'numpy', 'scipy', 'av'} & set(sys.modules), 'something heavy was imported'; "
        "assert loci_looped.LociConfig().slots == 7 and loci_looped.Clip.__name__ == 'Clip'; "
        "print(loci_looped.LociLooped.__name__, loci_looped.load.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["LociLooped", "load"]
    with pytest.raises(AttributeError, match="it has Clip"):
        loci_looped.lode  # noqa: B018


def test_one_flipped_bit_of_the_weights_is_noticed(tmp_path: Path) -> None:
    place = storage.save_network(tmp_path / "net", LociLooped("adept-small"))
    content = bytearray((place / storage.WEIGHTS).read_bytes())
    content[-1000] ^= 1
    (place / storage.WEIGHTS).write_bytes(content)
    with pytest.raises(LociError, match="its checksum is not the one that was stored"):
        storage.load(place)
    # Networks of before had no checksum, and are read as ever.
    config = json.loads((place / storage.CONFIG).read_text(encoding="utf-8"))
    del config["weights_sha256"]
    (place / storage.CONFIG).write_text(json.dumps(config), encoding="utf-8")
    assert storage.load(place)
