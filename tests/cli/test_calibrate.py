"""`loci calibrate`: the scale is stored beside the weights it was measured with, and read with them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from loci_looped.cli.main import main
from loci_looped.data.store.clip_cache import cached_clip
from loci_looped.data.store.clip_file import save_clip
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.inference.networks import SHIPPED, load
from loci_looped.utils.errors import LociError


@pytest.fixture
def network(tmp_path: Path) -> Path:
    shutil.copytree(SHIPPED / "adept-learnt", tmp_path / "network")
    (tmp_path / "network" / "surprise.json").unlink(missing_ok=True)
    return tmp_path / "network"


def test_a_scale_is_stored_and_read_again(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(2000, 2016):
        clip = cached_clip(ClipSpec("vanish-control", seed, (40, 60)))
        save_clip(clip, tmp_path / "clips" / f"{seed}.clip")
    assert load(network).surprise_scale is None
    assert main(["calibrate", str(network), "--clips", str(tmp_path / "clips")]) == 0
    assert "what is ordinary in 16 films of clips" in capsys.readouterr().out
    scale = load(network).surprise_scale
    assert scale is not None and len(scale.missing) == 16


def test_a_scale_of_other_weights_is_refused(network: Path) -> None:
    (network / "surprise.json").write_text(json.dumps({"weights_sha256": "0", "scale": {}}))
    with pytest.raises(LociError, match="measured with other weights"):
        load(network)


def test_too_few_films_are_a_sentence(network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_clip(cached_clip(ClipSpec("vanish-control", 2000, (40, 60))), tmp_path / "clips" / "one.clip")
    assert main(["calibrate", str(network), "--clips", str(tmp_path / "clips")]) == 2
    assert "1 films do not tell what is ordinary" in capsys.readouterr().err
