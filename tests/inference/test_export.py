"""The time step as a graph: compiled, exported and as ONNX, each against the network itself."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch

from loci_looped.cli.main import main as loci
from loci_looped.configs.network import DecoderConfig, EncoderConfig, TransitionConfig
from loci_looped.inference import export
from loci_looped.inference import networks as storage
from loci_looped.model import PRESETS, LociConfig, LociLooped, preset
from loci_looped.utils.errors import LociError

TINY = LociConfig(
    slots=3, gestalt=4, latent=(4, 5),
    encoder=EncoderConfig(channels=6, fine_channels=12, layers=1),
    decoder=DecoderConfig(channels=6, fine_channels=6, layers=1),
    transition=TransitionConfig(layers=1),
)


@pytest.fixture(autouse=True)
def no_trace() -> None:
    """torch writes every traced operation to a log that pytest would format and keep."""
    logging.getLogger("torch.__trace").disabled = True


def network(config: LociConfig = TINY) -> LociLooped:
    """Gains that start near zero are opened, so that every branch of the graph matters."""
    torch.manual_seed(0)
    model = LociLooped(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("gain") or name.endswith("size_growth"):
                parameter.fill_(0.5)
    return model


def scene(model: LociLooped, streams: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    """(background, frames (B, 3, ...)): a red bar that moves."""
    background = torch.full((streams, 3, *model.config.frame), 0.5)
    frames = background.unsqueeze(1).repeat(1, 3, 1, 1, 1)
    for t in range(3):
        frames[:, t, 0, 4:9, 2 * t : 2 * t + 6] = 1.0
    return background, frames


def worst(a: Any, b: Any) -> float:
    ours, theirs = (dict(export.named_leaves(tree, "")) for tree in (a, b))
    assert ours.keys() == theirs.keys() and len(ours) > 20
    return max((ours[name].double() - theirs[name].double()).abs().max().item() for name in ours)


def compiled_against_eager(model: LociLooped, backend: str) -> float:
    torch._dynamo.reset()
    compiled = torch.compile(model.step, fullgraph=True, backend=backend)
    background, frames = scene(model)
    deviation = 0.0
    with torch.no_grad():
        state = model.initial(background)
        for t in range(3):
            ours, theirs = model.step(frames[:, t], state), compiled(frames[:, t], state)
            deviation = max(deviation, worst(ours, theirs))
            state = ours[0]
    assert ours[1].assigned.any() and not ours[1].assigned.all()
    return deviation


def test_the_step_compiles_as_one_graph() -> None:
    assert compiled_against_eager(network(), "eager") < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_compiles_with_inductor(name: str) -> None:
    assert compiled_against_eager(network(preset(name)), "inductor") < 1e-3


@pytest.fixture(scope="module")
def captured() -> export.Captured:
    return export.capture(network(), warmup=False)


def test_torch_export_serves_every_step_and_any_number_of_streams(tmp_path: Path, captured: export.Captured) -> None:
    model = network()
    assert export.write_graph(tmp_path, captured, "step", "torch") == tmp_path / "step.pt2"
    # Captured with two streams, used with three and with one.
    assert export.deviation(tmp_path, model, "torch", graphs=["step"], streams=3) < 1e-6
    with torch.no_grad():
        model.decoder.background_logit_image.add_(1.0)
    assert export.deviation(tmp_path, model, "torch", graphs=["step"]) > 1e-3, "the comparison must be able to fail"


def test_onnx_serves_every_step_and_any_number_of_streams(tmp_path: Path, captured: export.Captured) -> None:
    pytest.importorskip("onnxruntime")
    export.write_graph(tmp_path, captured, "step", "onnx")
    for streams in (1, 3):
        assert export.deviation(tmp_path, network(), "onnx", graphs=["step"], streams=streams) < 1e-5
    signature = json.loads((tmp_path / "signature.json").read_text())
    assert signature["inputs"][0] == {
        "name": "frame", "shape": ["streams", 3, 16, 20], "type": "float32", "begins": "the frame",
    }
    following = [name.removeprefix("next.") for name in signature["outputs"] if name.startswith("next.")]
    assert following == [entry["name"].removeprefix("state.") for entry in signature["inputs"][1:]]


@pytest.mark.slow
def test_onnx_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storage.save_network(tmp_path / "net", network())
    assert loci(["export", str(tmp_path / "net"), "--out", str(tmp_path / "graphs")]) == 0
    told = capsys.readouterr().out
    assert "warmup.onnx" in told and "step.onnx" in told and "Largest difference" in told


@torch.no_grad()
def test_the_signature_tells_how_a_stream_begins(tmp_path: Path) -> None:
    """Filling the inputs as `begins` says is what `initial` does."""
    model = network()
    background = torch.rand(2, 3, *model.config.frame)
    state = model.initial(background)
    leaves = list(export.named_leaves(state, "state"))
    rows = export._described(tuple(name for name, _ in leaves), tuple(tensor for _, tensor in leaves))
    for row, (name, tensor) in zip(rows, leaves, strict=True):
        assert row["name"] == name and row["shape"][1:] == list(tensor.shape[1:])
        if row["begins"] == 0:
            assert not tensor.any(), name
        elif "every slot" in row["begins"]:
            assert not tensor[:, :-1].any() and bool((tensor[:, -1] == 1).all())
        else:
            assert torch.equal(tensor, background)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["torch", "onnx"])
@pytest.mark.parametrize("name", ["adept-small", "balls", "adept"])
def test_presets_export(tmp_path: Path, name: str, form: export.Form) -> None:
    model = network(preset(name))
    assert [path.stem for path in export.write_graphs(tmp_path, model, form)] == ["warmup", "step"]
    assert export.deviation(tmp_path, model, form) < 1e-3


@pytest.mark.parametrize("form", ["torch", "onnx"])
def test_a_full_disk_is_a_sentence_and_leaves_nothing(
    tmp_path: Path, captured: export.Captured, form: export.Form
) -> None:
    """A limit on the size of files stops the writers where a full disk would."""
    resource = pytest.importorskip("resource")
    pytest.importorskip("onnxscript")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(LociError, match=r"step\.\w+ could not be written: File too large"):
            export.write_graph(tmp_path, captured, "step", form)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def test_missing_packages_are_noticed_before_anything_is_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(export, "NEEDED", {"onnx": ("onnx", "no_such_package"), "torch": ()})
    monkeypatch.setattr(export, "capture", lambda *_, **__: pytest.fail("traced"))
    assert loci(["export", "adept-small", "--out", str(tmp_path / "graphs")]) == 2
    told = capsys.readouterr().err
    assert "needs no_such_package: pip install 'loci-looped[export]'" in told and not list(tmp_path.iterdir())
