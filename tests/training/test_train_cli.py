"""`loci train` through its real entry point."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from squares import flags_of

from loci_looped.cli import train
from loci_looped.cli.main import main
from loci_looped.configs.recipes import ABOUT, EVERY_RECIPE, recipe
from loci_looped.configs.training import TrainConfig
from loci_looped.training.log import read_log
from loci_looped.utils.checkpoint import checkpoints, newest_checkpoint

Change = Callable[..., TrainConfig]


def _loci(*words: str) -> int:
    return main(["train", *words])


def test_help_is_quick_and_needs_no_torch() -> None:
    script = (
        "import sys; from loci_looped.cli.main import main; code = main(['train', '--help']); "
        "assert 'torch' not in sys.modules, 'torch was loaded'; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert all(text in done.stdout for text in (*EVERY_RECIPE, "--resume RUN", "--start-from RUN"))
    assert list(ABOUT) == list(EVERY_RECIPE)


def test_help_of_a_recipe_lists_its_fields_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        _loci("adept-small", "--help")
    told = capsys.readouterr().out
    assert ended.value.code == 0
    for flag in ("--curriculum.updates", "--optimiser.learning-rate", "--model.gate.l0-weight", "--seed", "--threads"):
        assert flag in told


@pytest.mark.parametrize(("words", "sentence"), [
    (["adept-smal"], "no recipe 'adept-smal'. Did you mean adept-small"),
    (["nonsense"], "There are adept, clevrer, balls"),
    (["--seed", "3"], "Which recipe?"),
    (["--resume"], "--resume needs the folder of a run"),
    (["adept-small", "--resume="], "--resume needs the folder of a run"),
    (["--resume", "/nowhere"], "no run folder /nowhere"),
    (["adept-small", "--threads", "0"], "at least one"),
    (["adept-small", "--model.slots", "2"], "up to 4 objects"),
    (["balls-small", "--model.slots", "2"], "There are up to 3 objects in clips of the world balls-interaction, but"),
    (["balls-small", "--model.latent", "10", "15", "--data.clips", "8"],
     "Bouncing balls are square pictures, so they cannot be 40x60"),
    (["adept-small", "--data.clips", "2"], "2 clips cannot fill a batch"),
    (["adept-small", "--device", "cuda"], "no CUDA device"),
])
def test_bad_input_is_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _loci(*words) == 2
    told = capsys.readouterr().err
    assert sentence in told and "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("field", "meant"), [
    ("--curriculum.update", "--curriculum.updates"), ("--optimizer.learning-rate", "--optimiser.learning-rate"),
    ("--sed", "--seed"), ("--model.slot", "--model.slots"),
])
def test_an_unknown_field_is_answered_with_the_nearest(
    field: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        _loci("adept-small", field, "5")
    told = capsys.readouterr()
    assert ended.value.code == 2 and field in told.err + told.out and meant in told.err + told.out


def test_an_impossible_value_is_told_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        _loci("adept-small", "--curriculum.hold", "9")
    assert ended.value.code == 2 and "it is a probability" in " ".join(capsys.readouterr().err.split())


def test_any_field_can_be_set() -> None:
    words = [
        "--curriculum.updates", "7", "--optimiser.learning-rate", "0.5", "--model.gate.l0-weight", "0.25",
        "--model.latent", "4", "6", "--optimiser.steps", "10", "0.1", "20", "0.01",
        "--curriculum.window-steps", "3", "2", "--no-noise", "--loss.no-balanced", "--seed", "5",
        "--threads", "2", "--out", "there",
    ]
    config, where = train.parse(words, recipe("adept-small"), "loci train")
    assert (config.curriculum.updates, config.optimiser.learning_rate, config.model.gate.l0_weight) == (7, 0.5, 0.25)
    assert config.model.latent == (4, 6) and config.optimiser.steps == ((10, 0.1), (20, 0.01))
    assert config.curriculum.window_steps == ((3, 2),) and not config.noise and not config.loss.balanced
    assert config.seed == 5 and where == train.Where(out=Path("there"), threads=2)
    touched = ("curriculum", "optimiser", "model", "noise", "loss", "seed")
    rest = dataclasses.replace(config, **{name: getattr(recipe("adept-small"), name) for name in touched})
    assert rest == recipe("adept-small")
    assert train.threads_of(["--seed", "1", "--threads=3"]) == "3" and train.threads_of([]) == "1"


def test_train_stop_and_resume(
    tiny: TrainConfig, changed: Change, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = changed(tiny, **{"curriculum.updates": 20})
    words = flags_of(config, recipe("adept-small"))
    folder = tmp_path / "run"
    assert _loci("adept-small", *words, "--minutes", "1e-6", "--out", str(folder)) == 0
    told = capsys.readouterr().err
    assert "foreground: slots placed" in told and "Finished after" in told
    first = newest_checkpoint(folder / "checkpoints")
    assert 0 < first.update < 20

    # A second run does not overwrite it, nor does a changed configuration go on with it.
    assert _loci("adept-small", *words, "--out", str(folder)) == 2
    assert f"Go on with --resume {folder}" in capsys.readouterr().err
    assert _loci("adept-small", *words, "--resume", str(folder), "--seed", "3", "--optimiser.clip", "2") == 2
    told = capsys.readouterr().err
    assert "seed: 0 -> 3" in told and "optimiser.clip: 0.5 -> 2.0" in told and "minutes" not in told
    assert _loci("--resume", str(folder), "--out", "elsewhere") == 2
    assert "leave out --out" in capsys.readouterr().err

    # The newest is damaged: the one before takes over.
    newest = checkpoints(folder / "checkpoints")[-1]
    (newest / "weights.safetensors").write_bytes(b"")
    torch.set_num_threads(1)
    assert _loci("--resume", str(folder), "--minutes", "0") == 0
    told = capsys.readouterr().err
    assert "Falling back" in told and "going on at update 0" in told and "Finished after 20 updates" in told
    assert [record["update"] for record in read_log(folder, "train")] == list(range(1, 21))
    assert (folder / "network" / "weights.safetensors").is_file()
