"""`loci evaluate` through the real entry point: files, equal numbers, partial results, and sentences for mistakes."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from loci_looped.cli import evaluate
from loci_looped.cli.main import main
from loci_looped.configs.presets import preset
from loci_looped.configs.recipes import recipe
from loci_looped.data.render.clips import make_clip
from loci_looped.data.store.clip_file import save_clip
from loci_looped.evaluation.evaluated_model import open_model
from loci_looped.evaluation.experiments import evaluation, recording, scoring
from loci_looped.inference.networks import load_network, save_network
from loci_looped.model import LociLooped
from loci_looped.utils.checkpoint import Checkpoint, write_checkpoint
from loci_looped.utils.errors import LociError


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """Films are made once for all tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCI_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def tiny() -> LociLooped:
    torch.manual_seed(0)
    return LociLooped(dataclasses.replace(preset("adept-small"), slots=3, gestalt=8, latent=(4, 6)))


def square() -> LociLooped:
    """A network for bouncing balls."""
    torch.manual_seed(0)
    return LociLooped(dataclasses.replace(preset("balls-small"), gestalt=8, latent=(4, 4)))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_network(tmp_path_factory.mktemp("nets") / "tiny", tiny(), {"recipe": "test", "seed": 3}))


def rows(path: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    """The figures of a results file by experiment, model, gate (if any), conditions and metric."""
    found = json.loads(path.read_text())["rows"]
    return {
        (row["experiment"], row["model"], *([row["gate"]] if "gate" in row else []), *row.get("condition", ()),
         row["metric"]): row
        for row in found
    }


def test_every_experiment_has_gates_of_its_own() -> None:
    assert evaluation.Options("tracking").used_gates == ("learned", "open", "visibility")
    assert evaluation.Options("surprise").used_gates == ("learned",)


def test_an_evaluation_is_a_list_of_rows() -> None:
    found = evaluation.run([open_model("kalman")], evaluation.Options("tracking", scenes=1, movers=2))
    assert {(row.experiment, row.model, row.gate, row.condition) for row in found} == {("tracking", "kalman", "", ())}
    assert next(row.value for row in found if row.metric == "movers_found") == 100


def test_tracking_twice_gives_equal_files_whatever_the_threads(
    network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, threads in (("one", "1"), ("two", "2")):
        files = ["--json", str(tmp_path / f"{name}.json"), "--table", str(tmp_path / f"{name}.csv")]
        words = ["evaluate", network, "--scenes", "3", "--batch", "2", "--threads", threads, *files]
        assert main([*words, "--gate", "learned", "visibility"]) == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    told = capsys.readouterr().out
    assert "MOTA" in told and "learned" in told and "visibility" in told
    found = json.loads((tmp_path / "one.json").read_text())
    assert found["complete"] and found["command"].endswith("tiny --scenes 3 --batch 2 --gate learned visibility")
    assert found["model"]["recipe"] == "test" and len(found["model"]["weights_sha256"]) == 64
    assert found["settings"]["test_set"] == {"two_movers": 1, "one_mover": 1, "surprise": 1, "size": [16, 24]}
    keys = {("tracking", "tiny", gate, name) for gate in ("learned", "visibility")
            for name in ("error_visible", "error_occluded", "successful", "movers_found", "mota", "official_mota")}
    assert keys <= set(rows(tmp_path / "one.json")) and all("protocol" in row for row in found["rows"])
    with (tmp_path / "one.csv").open() as file:
        table = list(csv.DictReader(file))
    assert len(table) == 2 * 3 * 80 * 3 and {row["set"] for row in table} == {"control", "surprise"}


def test_the_kalman_filter_is_measured_in_the_same_way(tmp_path: Path) -> None:
    assert main(["evaluate", "kalman", "--scenes", "1", "--movers", "2", "--json", str(tmp_path / "k.json")]) == 0
    found = rows(tmp_path / "k.json")
    assert found["tracking", "kalman", "movers_found"]["value"] == 100
    assert 0 < found["tracking", "kalman", "error_occluded"]["value"] < 10
    assert ("tracking", "kalman", "inner_loop_visible") not in found            # it has no gates


def test_surprise_with_pairs(network: str, tmp_path: Path) -> None:
    arguments = ["evaluate", network, "-e", "surprise", "--scenes", "3", "--pairs", "1", "--kinds", "vanish", "colour"]
    assert main([*arguments, "--json", str(tmp_path / "s.json")]) == 0
    found, figures = json.loads((tmp_path / "s.json").read_text()), rows(tmp_path / "s.json")
    for kind, count in (("vanish", 1), ("colour", 1), ("all", 2)):
        row = figures["violations", "tiny", "learned", kind, "slot_accuracy"]
        assert row["n"] == count and row["low"] <= row["value"] <= row["high"]
    assert figures["surprise", "tiny", "learned", "reappearance", "t"]["value"] is None     # it has not learnt anything
    assert any("no t-test" in note for note in found["notes"])


def test_ablation_compares_networks_gates_and_plain_physics(network: str, tmp_path: Path) -> None:
    arguments = ["evaluate", network, "-e", "ablation", "--beside", "kalman", "--gate", "open", "--scenes", "1"]
    assert main([*arguments, "--json", str(tmp_path / "a.json")]) == 0
    found = json.loads((tmp_path / "a.json").read_text())
    figures = rows(tmp_path / "a.json")
    assert {("ablation", "tiny", "open", "mota"), ("ablation", "kalman", "mota")} <= set(figures)
    assert found["settings"]["difference_from"] == ["tiny", "open"] and found["model"]["beside"][0]["name"] == "kalman"


def test_interruptions_and_imagination_with_untrained_networks(network: str, tmp_path: Path) -> None:
    arguments = ["evaluate", network, "-e", "interruptions", "--scenes", "1", "--probabilities", "0.2", "--no-lpips"]
    assert main([*arguments, "--json", str(tmp_path / "i.json"), "--table", str(tmp_path / "i.csv")]) == 0
    figures = rows(tmp_path / "i.json")
    assert figures["interruptions", "tiny", "learned", "0.2", "visible", "psnr"]["value"] > 5
    assert figures["interruptions", "tiny", "closed", "0.2", "visible", "false_positives"]["value"] >= 0
    assert len((tmp_path / "i.csv").read_text().splitlines()) == 1 + 4 * 42       # a row for each gate and frame
    balls = save_network(tmp_path / "balls", square())
    arguments = ["evaluate", str(balls), "-e", "imagination", "--scenes", "1", "--steps", "10", "--modes", "black"]
    assert main([*arguments, "--json", str(tmp_path / "b.json"), "--films", str(tmp_path / "films")]) == 0
    figures = rows(tmp_path / "b.json")
    assert figures["imagination", "balls", "learned", "interaction", "black", "failed"]["value"] == 100
    frozen, walls = (
        figures["imagination", name, "interaction", "true places", "distance_sum"]["value"]
        for name in ("frozen ball", "constant velocity with walls")
    )
    assert 1.0 < frozen < 2.5 and walls < frozen
    assert sorted(path.suffix for path in (tmp_path / "films").iterdir()) == [".mp4", ".png"]


def test_a_network_of_another_world_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stranger = save_network(tmp_path / "stranger", square(), {"recipe": "balls-small"})
    arguments = ["-e", "imagination", "--scenes", "1", "--steps", "10", "--modes", "black"]
    assert main(["evaluate", str(stranger), *arguments, "--scenario", "occlusion"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "trained in the world balls-interaction, not in balls-occlusion" in told
    at_home = save_network(tmp_path / "at-home", square(), {"recipe": "balls-small", "world": "balls-occlusion"})
    assert main(["evaluate", str(at_home), *arguments, "--scenario", "occlusion"]) == 0
    assert "trained in the world" not in capsys.readouterr().out


def test_the_note_about_another_world_goes_into_files_and_tables(network: str, tmp_path: Path) -> None:
    stranger = save_network(tmp_path / "stranger", load_network(network), {"recipe": "adept-small"})
    found, tables = tmp_path / "found.json", tmp_path / "tables.md"
    words = ["-e", "interruptions", "--scenes", "1", "--probabilities", "0.2", "--no-lpips", "--gate", "learned"]
    assert main(["evaluate", str(stranger), *words, "--json", str(found)]) == 0
    sentence = "stranger was trained in the world vanish, not in collide: such scenes are new."
    assert sentence in json.loads(found.read_text())["notes"]
    assert main(["report", str(found), "--out", str(tmp_path / "page.html"), "--markdown", str(tables)]) == 0
    assert sentence in tables.read_text().partition("Notes of the runs")[2]


def test_more_balls_than_slots_are_named(tmp_path: Path) -> None:
    balls = save_network(tmp_path / "balls", square())
    arguments = ["evaluate", str(balls), "-e", "imagination", "--scenes", "1", "--steps", "10", "--modes", "black"]
    with pytest.raises(LociError, match="it has 6 balls, but the network has 3 slots"):
        evaluate.main([*arguments[1:], "--scenario", "twolayer"])


def test_clips_of_the_users_own(network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "clips"
    clip = make_clip("vanish-control-1", 2, (16, 24), samples=1)
    save_clip(clip, folder / "a.clip")
    save_clip(dataclasses.replace(clip, truth=None, source="film.mp4"), folder / "b.clip")
    arguments = ["evaluate", network, "--clips", str(folder), "--gate", "open", "--json", str(tmp_path / "c.json")]
    assert main(arguments) == 0
    found = json.loads((tmp_path / "c.json").read_text())
    assert not found["complete"] and "film.mp4" in found["failures"][0] and "no ground truth" in found["failures"][0]
    assert "These results are partial" in capsys.readouterr().out
    (folder / "a.clip").unlink()
    assert main(arguments) == 2
    assert "None of the 1 clips could be scored" in capsys.readouterr().err


def test_what_was_found_before_an_interruption_is_kept(
    network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = recording.record

    def stopped_at_the_second_gate(model, clips):  # type: ignore[no-untyped-def]
        if model.gate != "learned":
            raise KeyboardInterrupt
        return original(model, clips)

    monkeypatch.setattr(scoring, "record", stopped_at_the_second_gate)
    arguments = ["evaluate", network, "--scenes", "1", "--threads", "1", "--json", str(tmp_path / "p.json")]
    assert main(arguments) == 130
    found = json.loads((tmp_path / "p.json").read_text())
    assert not found["complete"] and "stopped" in found["notes"][-1]
    assert {key[2] for key in rows(tmp_path / "p.json")} == {"learned"}
    assert "partial" in capsys.readouterr().out


def test_files_are_there_even_if_nobody_reads_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(evaluate, "_tell", gone)
    main(["evaluate", "kalman", "--scenes", "1", "--movers", "2", "--json", str(tmp_path / "k.json")])
    assert json.loads((tmp_path / "k.json").read_text())["complete"]


def test_a_run_under_way_is_measured_by_its_newest_checkpoint(tmp_path: Path) -> None:
    run = tmp_path / "my-run"
    model = tiny()
    config = dataclasses.replace(recipe("adept-small"), model=model.config)
    weights = dict(model.state_dict())
    write_checkpoint(run / "checkpoints", Checkpoint(
        700, {"weights": weights, "average": weights}, {"level": 1, "seconds": 120.0, "config": config.to_json()}))
    found = open_model(str(run))
    assert found.name == "my-run" and found.facts["updates"] == 700 and found.facts["minutes"] == 2.0
    assert found.network is not None and found.frame == (16, 24) and not found.network.training
    for name, value in found.network.state_dict().items():
        assert torch.equal(value, weights[name])
    save_network(run / "network", model)
    assert open_model(str(run)).facts["kind"] == "network"


@pytest.mark.parametrize(("arguments", "told"), [
    (["no-such-network"], "There is no network called 'no-such-network'"),
    (["kalman", "-e", "surprise"], "Kalman filter predicts none"),
    (["kalman", "-e", "interruptions"], "Kalman filter predicts none"),
    (["kalman", "--scenes", "0"], "--scenes is 1 or more, not 0"),
    (["kalman", "--beside", "kalman"], "--experiment ablation"),
    (["NETWORK", "-e", "imagination"], "Bouncing balls are square"),
    (["NETWORK", "--films", "FOLDER"], "--experiment imagination measures"),
    (["NETWORK", "-e", "surprise", "--movers", "2", "--scenes", "1"], "needs surprise scenes"),
    (["NETWORK", "-e", "interruptions", "--probabilities", "1.5"], "between 0 and 1"),
    (["kalman", "--json", "FOLDER"], "is a folder"),
    (["FOLDER"], "holds no network"),
])
def test_mistakes_are_told(
    arguments: list[str], told: str, network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = {"NETWORK": network, "FOLDER": str(tmp_path)}
    assert main(["evaluate", *(real.get(word, word) for word in arguments)]) == 2
    error = capsys.readouterr().err
    assert told in error and "Traceback" not in error


def test_a_run_without_weights_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    assert main(["evaluate", str(tmp_path / "run")]) == 2
    assert "has no weights yet" in capsys.readouterr().err


def test_a_network_of_own_films_is_a_stranger_to_generated_scenes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = save_network(tmp_path / "own", tiny(), {"recipe": "adept-small", "world": "films of garden"})
    assert main(["evaluate", str(own), "--scenes", "1", "--gate", "open"]) == 0
    assert "was trained on films of garden, not in the world vanish" in " ".join(capsys.readouterr().out.split())
