"""Rivals on the command line: the same verbs as ours, and sentences for what a rival cannot do."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from gswm_parts import TINY as TINY_GSWM
from savi_material import TINY as TINY_SAVI
from squares import square_clip

from loci_looped.baselines.gswm import Gswm
from loci_looped.baselines.loci_v1 import LociV1, preset
from loci_looped.baselines.savi import Savi
from loci_looped.cli.main import main
from loci_looped.data.store.clip_file import save_clip
from loci_looped.evaluation.experiments.results import read_results
from loci_looped.inference.networks import save_network

NETWORKS: dict[str, Any] = {
    "savi": lambda: Savi(TINY_SAVI), "gswm": lambda: Gswm(TINY_GSWM),
    "loci-v1": lambda: LociV1(preset("loci-v1-small")),
}


@pytest.fixture(params=sorted(NETWORKS))
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of an untrained rival, named after its kind."""
    torch.manual_seed(0)
    return save_network(tmp_path / request.param, NETWORKS[request.param]())


def test_a_rival_is_tracked(network: Path, tmp_path: Path) -> None:
    out = tmp_path / "tracking.json"
    words = ["evaluate", str(network), "--scenes", "1", "--movers", "1", "--threads", "1", "--json", str(out)]
    assert main(words) == 0
    results = read_results(out)
    assert results.complete and {row.gate for row in results.rows} == {""}, "a rival has no gate"
    assert "mota" in {row.metric for row in results.rows}


def test_a_rival_is_watched(network: Path, tmp_path: Path) -> None:
    save_clip(square_clip(0, frames=4), tmp_path / "film.clip")
    out = tmp_path / "watched"
    assert main(["watch", str(tmp_path / "film.clip"), "--model", str(network), "--out", str(out)]) == 0
    assert (out / "film.mp4").stat().st_size > 500
    with (out / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["frame"] for row in rows} == {"0", "1", "2", "3"} and all(row["present"] in "01" for row in rows)


def test_what_a_rival_cannot_do_is_said(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_clip(square_clip(0, frames=4), tmp_path / "film.clip")
    assert main(["watch", str(tmp_path / "film.clip"), "--model", str(network), "--masks"]) == 2
    assert "are for loci-looped networks; leave them out for a rival" in capsys.readouterr().err
    assert main(["export", str(network), "--out", str(tmp_path / "x.onnx")]) == 2
    assert "not a loci-looped network, which this needs" in capsys.readouterr().err
    if network.name != "gswm":
        assert main(["evaluate", str(network), "-e", "imagination", "--scenes", "1"]) == 2
        assert "Bouncing balls are square films" in capsys.readouterr().err


def test_a_square_rival_without_imagination_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    square = dataclasses.replace(preset("loci-v1-small"), latent=(16, 16))
    network = save_network(tmp_path / "square", LociV1(square))
    assert main(["evaluate", str(network), "-e", "imagination", "--scenes", "1", "--modes", "imagine"]) == 2
    assert "cannot imagine without a frame" in capsys.readouterr().err
    found, tables = tmp_path / "found.json", tmp_path / "tables.md"
    words = ["evaluate", str(network), "-e", "imagination", "--scenes", "1", "--steps", "10", "--json", str(found)]
    assert main(words) == 0
    assert main(["report", str(found), "--out", str(tmp_path / "page.html"), "--markdown", str(tables)]) == 0
    told = tables.read_text()
    assert "| **square** | imagine | – | – | – | – |" in told     # a dash, and below it a note that says why
    assert "square cannot imagine without a frame" in told.partition("Notes of the runs")[2]
