"""The authors' checkpoints: files written in their layout, as the specification lists it, come back as our network."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from loci_looped.cli.main import main as loci
from loci_looped.inference import networks as storage
from loci_looped.model import LociConfig, LociLooped, preset
from loci_looped.model.released.checkpoint import official_names, read_official

ENTRIES = {"adept": 208, "clevrer": 200, "balls": 197}
BUFFERS = ("background.init", "initial_states.threshold", "initial_states.init.init")
OPTIMISERS = ("init", "encoder", "decoder", "predictor", "background")
Shapes = Iterator[tuple[str, tuple[int, ...]]]


def _wb(name: str, *shape: int, out: int | None = None) -> Shapes:
    yield f"{name}.weight", shape
    yield f"{name}.bias", (shape[0] if out is None else out,)


def _convs(name: str, into: int, out: int, first: int = 1, kernel: int = 3) -> Shapes:
    yield from _wb(f"{name}.layers.{first}", out, into, kernel, kernel)
    yield from _wb(f"{name}.layers.{first + 2}", out, out, kernel, kernel)


def _up(name: str, into: int, out: int) -> Shapes:
    yield f"{name}.alpha", (1,)
    yield from _wb(f"{name}.residual.1", into, into, 3, 3)
    yield from _wb(f"{name}.residual.3", into, out, 4, 4, out=out)


def _embedding(name: str, into: int, out: int) -> Shapes:
    yield f"{name}.alpha", (1,)
    yield from _wb(f"{name}.embeding.1", out, into)
    yield from _wb(f"{name}.embeding.3", out, out)


def released_shapes(config: LociConfig) -> Shapes:
    """Section (l) of the specification, written down independently of the reader."""
    g, (h, w), n_e, n_d = config.gestalt, config.latent, config.encoder.layers, config.decoder.layers
    c, c1 = config.encoder.channels, config.encoder.fine_channels
    full = (16 * h, 16 * w)
    yield "encoder.layers2.0.alpha", (1,)
    yield from _wb("encoder.layers2.0.layers", c1, 12, 4, 4)
    for i in range(1, n_e + 1):
        yield f"encoder.layers2.{i}.alpha", (1,)
        yield from _convs(f"encoder.layers2.{i}", c1, c1)
    yield "encoder.layers1.alpha", (1,)
    yield from _wb("encoder.layers1.layers", c, c1, 4, 4)
    for part in ("layers0", "position_encoder", "gestalt_encoder"):
        for i in range(n_e):
            yield from _convs(f"encoder.{part}.{i}", c, c)
    yield from _convs(f"encoder.position_encoder.{n_e}", c, 3)
    yield "encoder.std_encoder.alpha.init", (1,)
    yield from _wb(f"encoder.gestalt_encoder.{n_e}.layers.0", g, c, 5, 5)
    yield from _wb(f"encoder.gestalt_encoder.{n_e}.layers.2", g, g, (h + 1) // 3 + 1, (w + 1) // 3 + 1)

    yield from _wb("percept_gate_controller.layers.0", 32, 2 * (g + 5) + 3)
    yield from _wb("percept_gate_controller.layers.2", 16, 32)
    yield from _wb("percept_gate_controller.layers.4", 2, 16)

    p, code, depth = "predictor.predictor", g + 6, config.transition.layers
    n = 2 * code
    shared = config.transition.kind == "shared"
    width, memory = (2 * (n + 48), n + 48) if shared else (n, n)
    yield "predictor.std_alpha", (1,)
    yield from _embedding(f"{p}.input_embeding" if shared else f"{p}.layers.0", code, n)
    for i in range(depth):
        attention = f"{p}.attention.{i}" if shared else f"{p}.layers.{2 * i + 1}"
        yield f"{attention}.alpha", (1,)
        yield f"{attention}.attention.in_proj_weight", (3 * width, width)
        yield f"{attention}.attention.in_proj_bias", (3 * width,)
        yield from _wb(f"{attention}.attention.out_proj", width, width)
        recurrent = f"{p}.l0rds.{i}" if shared else f"{p}.layers.{2 * i + 2}"
        yield f"{recurrent}.alpha", (1,)
        for gate in "grpo":
            yield f"{recurrent}.l0rd.w_{gate}x", (memory, memory)
            yield f"{recurrent}.l0rd.w_{gate}h", (memory, memory)
            yield f"{recurrent}.l0rd.b_{gate}", (memory,)
    yield from _embedding(f"{p}.output_embeding" if shared else f"{p}.layers.{2 * depth + 1}", n, code)
    yield from _convs("predictor.bottleneck.1", g, g, kernel=1)

    c, c1 = config.decoder.channels, config.decoder.fine_channels
    for scalar in ("mask_alpha", "object_alpha", "merge.priority_encoder.index_factor",
                   "merge.priority_encoder.priority_factor"):
        yield f"decoder.{scalar}", (1,)
    yield from _convs("decoder.layer0.0", g, c, first=0)
    for i in range(1, n_d):
        yield from _convs(f"decoder.layer0.{i}", c, c)
    for kind, out, between in (("mask", 1, c1 // 3), ("object", 3, c1)):
        yield from _convs(f"decoder.to_{kind}_level0", c, c)
        yield from _up(f"decoder.to_{kind}_level1", c, out)
        yield from _convs(f"decoder.to_{kind}_level2.0", c, c)
        yield from _convs(f"decoder.to_{kind}_level2.1", c, c)
        yield from _up(f"decoder.to_{kind}_level2.2", c, between)
        yield from _up(f"decoder.to_{kind}_level2.3", between, out)

    yield "background.mask", (1, 1, *full)
    yield "background.init", (1,)
    yield "initial_states.gestalt_mean", (1, g)
    yield "initial_states.gestalt_std", (1, g)
    for scalar in ("std", "threshold", "init.init"):
        yield f"initial_states.{scalar}", (1,)


def as_today(key: str) -> str:
    return key


def released_file(name: str, path: Path, rename: Callable[[str], str] = as_today) -> dict[str, Tensor]:
    """Write a checkpoint as the authors' training script does; returns its tensors under today's names."""
    generator = torch.Generator().manual_seed(5)
    tensors = {
        key: torch.zeros(1, dtype=torch.int64) if key == "background.init" else torch.randn(shape, generator=generator)
        for key, shape in released_shapes(preset(name))
    }
    optimiser = {"state": {0: {"step": 7, "exp_avg": torch.zeros(3)}}, "param_groups": [{"lr": 1e-4, "params": [0]}]}
    content = {"model": {rename(key): value for key, value in tensors.items()}}
    torch.save({**content, **{f"optimizer_{part}": optimiser for part in OPTIMISERS}}, path)
    return tensors


def old_names(key: str) -> str:
    room, _, rest = key.partition(".")
    room = "update_module" if room == "percept_gate_controller" else room
    return f"{room}.module.{rest}"


@pytest.mark.parametrize("name", ["adept", "clevrer", "balls"])
@pytest.mark.parametrize("rename", [as_today, old_names])
def test_every_tensor_of_a_released_file_is_used(tmp_path: Path, name: str, rename: Callable[[str], str]) -> None:
    tensors = released_file(name, tmp_path / "net.pt", rename)
    assert len(tensors) == ENTRIES[name]
    checkpoint = read_official(tmp_path / "net.pt", name)
    assert checkpoint.model.config.released and checkpoint.model.config.colour_order == "bgr"
    ours, placed = dict(checkpoint.model.named_parameters()), set()
    for parameter, theirs in official_names(checkpoint.model.config).items():
        assert torch.equal(ours.pop(parameter), torch.cat([tensors[t] for t in theirs], dim=-1)), parameter
        placed |= set(theirs)
    assert not ours and set(tensors) - placed == set(BUFFERS)
    assert set(checkpoint.unused) == {*BUFFERS, *(f"optimizer_{part}" for part in OPTIMISERS)}


def test_the_command_writes_a_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = released_file("balls", tmp_path / "net.pt", old_names)
    out = tmp_path / "balls"
    order = ["import-official", str(tmp_path / "net.pt"), "--config", "balls", "--out", str(out)]
    assert loci(order) == 0
    told = capsys.readouterr().out
    assert "714,894 parameters" in told and "optimizer_background" in told and "initial_states.init.init" in told
    model = storage.load_network(out)
    assert torch.equal(model.decoder.background_logit_image, tensors["background.mask"])
    assert loci(order) == 2 and "already holds a network" in capsys.readouterr().err
    assert loci([*order, "--overwrite", "--level", "1"]) == 0
    assert storage.load_network(out).config.frame == (16, 16)
    # The network's own config.json serves as a description, too.
    description = str(out / "config.json")
    assert loci([*order[:3], description, "--out", str(tmp_path / "again")]) == 0
    assert storage.load_network(tmp_path / "again").config.frame == (16, 16)
    assert torch.equal(LociLooped.from_official(tmp_path / "net.pt", "balls").gate.layers[2].bias,
                       tensors["percept_gate_controller.layers.4.bias"])


def told(path: Path, config: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence on the error channel; nothing may have been written."""
    out = path.parent / "out"
    assert loci(["import-official", str(path), "--config", config, "--out", str(out)]) == 2
    assert not out.exists()
    captured = capsys.readouterr()
    assert captured.out == "" and "Traceback" not in captured.err
    return captured.err


def test_another_preset_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    released_file("balls", tmp_path / "net.pt")
    assert "another preset" in told(tmp_path / "net.pt", "clevrer", capsys)
    released_file("adept", tmp_path / "adept.pt")
    assert "another network" in told(tmp_path / "adept.pt", "clevrer", capsys)
    assert "There is no network called 'ball'. Did you mean balls" in told(tmp_path / "net.pt", "ball", capsys)


def test_a_truncated_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.pt"
    released_file("balls", path)
    whole = path.read_bytes()
    for length in (0, 100, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:length])
        assert "is it complete?" in told(path, "balls", capsys)


class Malicious:
    def __init__(self, command: str):
        self.command = command

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (self.command,)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_malicious_file_executes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], zipped: bool) -> None:
    trace = tmp_path / "executed"
    content = {"model": {"encoder": Malicious(f"touch {trace}")}}
    if zipped:
        torch.save(content, tmp_path / "net.pt")
    else:
        (tmp_path / "net.pt").write_bytes(pickle.dumps(content))
    sentence = told(tmp_path / "net.pt", "balls", capsys)
    assert "holds more than tensors" in sentence and "weights_only" not in sentence     # torch advises to switch it off
    assert not trace.exists()
    # The trap itself works, or this test would prove nothing.
    pickle.loads(pickle.dumps(Malicious(f"touch {trace}")))
    assert trace.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([1, 2], "holds a list"),
        (torch.zeros(3), "holds a Tensor"),
        ({}, "no 'model' made of tensors"),
        ({"model": 3}, "no 'model' made of tensors"),
        ({"model": {1: torch.zeros(1)}}, "no 'model' made of tensors"),
        ({"model": {"a": 1.0}}, "no 'model' made of tensors"),
        ({"model": {"a": torch.zeros(1)}}, "has no tensor 'encoder"),
    ],
)
def test_other_contents_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, sentence: str
) -> None:
    torch.save(content, tmp_path / "net.pt")
    assert sentence in told(tmp_path / "net.pt", "balls", capsys)


def test_damaged_numbers_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.pt"
    tensors = released_file("balls", path)
    name = "encoder.layers1.layers.bias"
    torch.save({"model": {**tensors, name: tensors[name] * float("nan")}}, path)
    assert "NaN" in told(path, "balls", capsys)
    torch.save({"model": {**tensors, name: tensors[name].long()}}, path)
    assert "floating-point" in told(path, "balls", capsys)
    name = "predictor.predictor.l0rds.0.l0rd.w_gh"
    torch.save({"model": {**tensors, name: tensors[name][:3]}}, path)
    assert "does not fit" in told(path, "balls", capsys)
    assert "There is no file" in told(tmp_path / "none.pt", "balls", capsys)
    assert "There is no file" in told(path, str(tmp_path / "none.json"), capsys)


def test_names_that_are_left_over_are_told(tmp_path: Path) -> None:
    tensors = released_file("balls", tmp_path / "net.pt")
    torch.save({"model": {**tensors, "extra.weight": torch.zeros(1)}}, tmp_path / "net.pt")
    assert read_official(tmp_path / "net.pt", "balls").unused == tuple(sorted((*BUFFERS, "extra.weight")))
