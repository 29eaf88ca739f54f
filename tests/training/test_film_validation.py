"""Validation on films nobody has annotated, and training on them through the real command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from drawn_films import make_film, with_truth, write_films
from squares import flags_of, square_clip

from loci_looped.cli.main import main
from loci_looped.configs.recipes import recipe
from loci_looped.configs.training import TrainConfig
from loci_looped.data.store.clip_file import load_clip
from loci_looped.inference.networks import trained_on
from loci_looped.model import LociLooped
from loci_looped.training.diagnostics import diagnose
from loci_looped.training.film_validation import validate_films
from loci_looped.training.log import read_log

Change = Callable[..., TrainConfig]


def test_what_is_said_without_truth_is_finite_and_told(tiny: TrainConfig) -> None:
    found = validate_films(LociLooped(tiny.model), [square_clip(seed) for seed in range(3)], "learned")
    assert found.truth is None and 0 < found.copy_error < 200 and 0 <= found.blobs_found <= 100
    assert f"explains {found.explained:.0f} % of what moves" in found.line()
    assert set(found.to_json()) >= {"prediction_error", "shut_error", "slots_per_blob"}
    assert ("nothing explained" in diagnose(2000, "recruiting", {}, found)) == (found.explained < 20)


def test_training_on_films_validates_on_held_out_films(
    tiny: TrainConfig, changed: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "cache"))
    write_films(tmp_path / "films", range(6), frames=30)
    config = changed(tiny, validation_scenes=4, **{"data.folder": str(tmp_path / "films"), "curriculum.updates": 20})
    assert main(["train", "adept-small", *flags_of(config, recipe("adept-small")), "--out", str(tmp_path / "run")]) == 0
    last = read_log(tmp_path / "run", "validation")[-1]
    assert "explained" in last and "movers_found" not in last       # no verdict of another world's scenes
    assert trained_on(tmp_path / "run") == "films of films"
    manifest = json.loads((tmp_path / "run" / "network" / "manifest.json").read_text())
    assert manifest["validation"]["explained"] == pytest.approx(last["explained"])


def test_a_converted_film_and_its_truth_fit_together(tmp_path: Path) -> None:
    write_films(tmp_path, range(2, 3))
    assert main(["convert", str(tmp_path / "film-002.mp4"), "--out", str(tmp_path / "clips")]) == 0
    clip = with_truth(load_clip(tmp_path / "clips" / "film-002-mp4.clip"), make_film(2), stride=3)
    assert clip.truth is not None and len(clip) == 67
    for disc in range(2):       # where a disc is seen, the film shows its colour
        t = int(clip.truth.visible_masks[:, disc].sum(axis=(1, 2)).argmax())
        shown = clip.frames[t][clip.truth.visible_masks[t, disc]].mean(axis=0)
        assert abs(shown - make_film(2).discs[disc].colour).max() < 40
    with pytest.raises(SystemExit):
        main(["convert"])
    assert main(["convert", str(tmp_path / "film-002.mp4"), "--out", str(tmp_path / "clips")]) == 2     # is there
