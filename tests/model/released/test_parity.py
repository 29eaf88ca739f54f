"""Number by number with the authors' code, through the same tool that users run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*_level1_*.npz"))
LARGER = sorted(Path(p) for p in (ROOT.parent / "shared" / "golden").glob("*level2*.npz"))


@pytest.fixture(scope="module")
def parity() -> ModuleType:
    spec = importlib.util.spec_from_file_location("parity", ROOT / "tools" / "parity.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def changed(source: str, target: Path, **changes: np.ndarray | None) -> Path:
    """A golden file with some entries replaced, or left out (None)."""
    with np.load(ROOT / "tests" / "golden" / f"{source}.npz") as stored:
        data = {name: stored[name] for name in stored.files}
    for name, value in changes.items():
        if value is None:
            del data[name]
        else:
            data[name] = value
    np.savez(target, **data)
    return target


def entry(source: str, name: str) -> np.ndarray:
    with np.load(ROOT / "tests" / "golden" / f"{source}.npz") as stored:
        return np.asarray(stored[name])


def test_all_level_1_files_are_here() -> None:
    assert [p.stem for p in GOLDEN] == [
        "eval_level1_shared", "eval_level1_standard", "train_level1_shared", "train_level1_standard",
    ]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_agrees_with_the_released_code(parity: ModuleType, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parity.main([str(path)]) == 0
    told = capsys.readouterr().out
    assert "agrees" in told and "BAD" not in told
    quantities = ["position_next", "gate_closed", "occlusion_next", "slots_bound", "assigned", "mask_next"]
    if "train" in path.stem:
        quantities += ["gradients  encoder", "gradients  predictor", "loss", "position_loss", "time_loss"]
    else:
        quantities += ["position_encoder", "gestalt_cur", "rawmask_cur"]
    for quantity in quantities:
        assert f" {quantity} " in told


@pytest.mark.skipif(not LARGER, reason="the level-2 golden files are not on this machine")
@pytest.mark.parametrize("path", LARGER, ids=lambda p: p.stem)
def test_agrees_at_level_2(parity: ModuleType, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parity.main([str(path)]) == 0
    assert "agrees" in capsys.readouterr().out


@pytest.mark.skipif(not LARGER, reason="the level-2 golden files are not on this machine")
def test_finds_the_window_when_the_name_does_not_tell(
    parity: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = [p for p in LARGER if "bptt2" in p.stem]
    anonymous = tmp_path / "mystery.npz"
    anonymous.symlink_to(path)
    assert parity.main([str(anonymous)]) == 0
    assert "update every 2 steps; of 1, 2 this fits best" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    ["weights.encoder.layers0.0.layers.1.weight", "weights.percept_gate_controller.layers.4.bias",
     "weights.predictor.predictor.layers.2.l0rd.w_gh", "weights.decoder.merge.priority_encoder.index_factor"],
)
def test_one_perturbed_weight_is_noticed(
    parity: ModuleType, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    weight = entry("train_level1_standard", name).copy()
    weight.flat[0] += 1e-3
    path = changed("train_level1_standard", tmp_path / "perturbed.npz", **{name: weight})
    assert parity.main([str(path), "--window", "1"]) == 1
    assert "BAD" in capsys.readouterr().out


def test_one_perturbed_gradient_is_noticed(parity: ModuleType, tmp_path: Path) -> None:
    name = "grad.predictor.predictor.layers.2.l0rd.w_rh"
    gradient = entry("train_level1_standard", name).copy()
    gradient.flat[np.abs(gradient).argmin()] += 1e-8 * np.abs(gradient).max()
    path = changed("train_level1_standard", tmp_path / "perturbed.npz", **{name: gradient})
    assert parity.main([str(path), "--window", "1"]) == 1


def test_what_cannot_be_compared_is_no_agreement(
    parity: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed("eval_level1_standard", tmp_path / "more.npz", **{"step3.unheard_of": np.zeros(2)})
    assert parity.main([str(path)]) == 1
    assert "not compared: step3.unheard_of" in capsys.readouterr().out


def test_bad_files_are_told_and_exit_with_2(
    parity: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.npz"
    cases = [(tmp_path / "none.npz", "there is no file"), (broken, "cannot be read"), (broken, "cannot be read")]
    contents = [None, b"", GOLDEN[0].read_bytes()[:5000]]
    for (path, sentence), content in zip(cases, contents, strict=True):
        if content is not None:
            path.write_bytes(content)
        assert parity.main([str(path)]) == 2
        assert sentence in capsys.readouterr().err
    np.savez(broken, video=np.zeros(3))
    assert parity.main([str(broken)]) == 2
    assert "is no golden file: it has no 'background'" in capsys.readouterr().err
    changed("eval_level1_standard", broken, **{"weights.encoder.layers1.layers.weight": None})
    assert parity.main([str(broken)]) == 2
    assert "weights of no network of this kind" in capsys.readouterr().err
    changed("eval_level1_standard", broken, **{"weights.decoder.mask_alpha": None})
    assert parity.main([str(broken)]) == 2
    assert "has no tensor 'decoder.mask_alpha'" in capsys.readouterr().err
    np.savez(broken, video=np.array([{"a": 1}], dtype=object))
    assert parity.main([str(broken)]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_the_command_itself(tmp_path: Path) -> None:
    order = [sys.executable, str(ROOT / "tools" / "parity.py")]
    done = subprocess.run([*order, str(GOLDEN[0])], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.rstrip().endswith("agrees with the released code")
    done = subprocess.run([*order, str(tmp_path / "none.npz")], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("parity: there is no file")
