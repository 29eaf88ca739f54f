"""A run that begins with another network's weights: all of them and nothing else, and a sentence where it cannot be."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from drawn_films import write_films
from squares import flags_of

from loci_looped.cli.main import main
from loci_looped.configs.recipes import BEGINS_WITH, recipe
from loci_looped.configs.training import TrainConfig
from loci_looped.inference.networks import load, save_network
from loci_looped.model import LociLooped
from loci_looped.training.inherit import inheritance
from loci_looped.utils.checkpoint import checkpoints, newest_checkpoint, read_checkpoint
from loci_looped.utils.errors import LociError

Change = Callable[..., TrainConfig]


def _network(config: TrainConfig, folder: Path, seed: int = 5) -> Path:
    torch.manual_seed(seed)
    return save_network(folder, LociLooped(config.model))


def _train(config: TrainConfig, out: Path, *words: str) -> int:
    return main(["train", config.name, *flags_of(config, recipe(config.name)), "--out", str(out), *words])


def test_a_run_begins_with_the_weights_and_counts_from_zero(
    tiny: TrainConfig, changed: Change, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elder = _network(tiny, tmp_path / "elder")
    config = changed(tiny, **{"curriculum.updates": 3})
    assert _train(config, tmp_path / "run", "--begin-with", str(elder)) == 0
    first = read_checkpoint(checkpoints(tmp_path / "run" / "checkpoints")[0])
    assert first.update == 0 and first.values["started_from"] is None
    theirs = load(elder).state_dict()
    for part in ("weights", "average"):
        assert all(torch.equal(value, theirs[name]) for name, value in first.tensors[part].items())
    assert f"begins with the weights of {elder}" in " ".join(capsys.readouterr().err.split())
    last = newest_checkpoint(tmp_path / "run" / "checkpoints")
    assert last.values["begins_with"] == str(elder) and last.update >= 3
    manifest = json.loads((tmp_path / "run" / "network" / "manifest.json").read_text())
    assert manifest["begins_with"] == str(elder)
    own = {name for name, value in last.tensors["weights"].items() if not torch.equal(value, theirs[name])}
    assert own                                      # and it has learnt


def test_what_does_not_fit_stays_untrained_and_is_named(tiny: TrainConfig, tmp_path: Path) -> None:
    elder = _network(tiny, tmp_path / "elder")
    fresh = LociLooped(tiny.model).state_dict()
    name = next(iter(fresh))
    fresh[name] = torch.zeros(3, 1, 4, 1, 5)
    found = inheritance(str(elder), fresh, "loci-looped")
    assert found.weights[name] is fresh[name] and f"Untrained as yet: {name}." in found.sentence


def test_half_a_transition_is_not_taken_over(tiny: TrainConfig, tmp_path: Path) -> None:
    elder = _network(tiny, tmp_path / "elder")
    fresh = LociLooped(tiny.model).state_dict()
    name = next(key for key in fresh if key.startswith("transition."))
    fresh[name] = torch.zeros(3, 1, 4, 1, 5)
    found = inheritance(str(elder), fresh, "loci-looped")
    theirs = load(elder).state_dict()
    for key, value in found.weights.items():
        assert (value is fresh[key]) if key.startswith("transition.") else torch.equal(value, theirs[key])


def test_an_unheard_drift_is_new_beside_what_is_inherited(tiny: TrainConfig, tmp_path: Path) -> None:
    elder = _network(tiny, tmp_path / "elder")
    theirs = load(elder).state_dict()
    for heard in (False, True):
        extensions = dataclasses.replace(tiny.model.extensions, drift=20.0, drift_heard=heard)
        fresh = LociLooped(dataclasses.replace(tiny.model, extensions=extensions)).state_dict()
        found = inheritance(str(elder), fresh, "loci-looped")
        new = {name for name, value in found.weights.items() if value is fresh[name]}
        assert "transition.added.weight" in new
        if heard:       # then all that hears it has another shape, and nothing of the transition is taken
            assert {name for name in fresh if name.startswith("transition.")} == new
        else:
            assert new == {"transition.added.weight", "transition.added.bias"}
            assert "Untrained as yet: transition.added.bias, transition.added.weight." in found.sentence
            assert all(torch.equal(found.weights[name], theirs[name]) for name in theirs)


def test_who_inherits_nothing_cannot_rehearse_as_if_it_did(
    tiny: TrainConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _train(tiny, tmp_path / "run", "--rehearsal.inherited") == 2
    assert "rehearsal.inherited is for a run that begins with a network" in " ".join(capsys.readouterr().err.split())


def test_a_network_of_another_make_or_kind_is_refused(tiny: TrainConfig, changed: Change, tmp_path: Path) -> None:
    wide = dataclasses.replace(tiny.model, encoder=dataclasses.replace(tiny.model.encoder, channels=40),
                               decoder=dataclasses.replace(tiny.model.decoder, channels=40), gestalt=24)
    elder = _network(changed(tiny, model=wide), tmp_path / "wide")
    with pytest.raises(LociError, match=r"Too little of .* fits"):
        inheritance(str(elder), LociLooped(tiny.model).state_dict(), "loci-looped")
    with pytest.raises(LociError, match="is a loci-looped network, but this recipe trains a savi network"):
        inheritance(str(elder), {}, "savi")


@pytest.mark.parametrize(("words", "sentence"), [
    (["--begin-with", "nobody"], "There is no network called 'nobody'"),
    (["--begin-with"], "--begin-with needs a network"),
    (["--begin-with", "adept-small", "--start-from", "."], "leave out one of them"),
])
def test_bad_beginnings_are_told(
    words: list[str], sentence: str, tiny: TrainConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _train(tiny, tmp_path / "run", *words) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_own_films_begins_with_another_network_by_itself(
    tiny: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    elder = _network(tiny, tmp_path / "elder")
    monkeypatch.setitem(BEGINS_WITH, "own-films", str(elder))
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "cache"))
    write_films(tmp_path / "films", range(6), frames=45)
    short = dataclasses.replace(
        tiny, name="own-films", data=dataclasses.replace(tiny.data, folder=str(tmp_path / "films")),
        curriculum=dataclasses.replace(tiny.curriculum, updates=3),
    )
    assert _train(short, tmp_path / "run") == 0
    assert f"begins with the weights of {elder}" in " ".join(capsys.readouterr().err.split())
    assert newest_checkpoint(tmp_path / "run" / "checkpoints").values["begins_with"] == str(elder)
    manifest = json.loads((tmp_path / "run" / "network" / "manifest.json").read_text())
    assert manifest["begins_with"] == str(elder) and manifest["world"] == "films of films"


def test_own_films_without_films_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "own-films", "--out", str(tmp_path / "run")]) == 2
    assert "with --data.folder FOLDER" in capsys.readouterr().err and not (tmp_path / "run").exists()
