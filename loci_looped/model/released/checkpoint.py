"""The authors' checkpoints: their names for our weights, and a reader that never executes what it reads."""

from __future__ import annotations

import dataclasses
import pickle
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from loci_looped.configs.network import LociConfig
from loci_looped.configs.presets import preset

from ..loci import LociLooped

UNUSED = ("background.init", "initial_states.threshold", "initial_states.init.init")
"""Buffers of the released network that ours does not need: constants and a schedule counter."""


@dataclass(frozen=True)
class OfficialCheckpoint:
    model: LociLooped
    unused: tuple[str, ...]     # what the file also holds: optimiser states, counters


Names = Iterator[tuple[str, tuple[str, ...]]]
"""Our name and theirs, one pair after the other."""


def _layer(ours: str, theirs: str) -> Names:
    for part in ("weight", "bias"):
        yield f"{ours}.{part}", (f"{theirs}.{part}",)


def _residual(ours: str, theirs: str, *, leading_relu: bool = True, gain: bool = False) -> Names:
    first = 1 if leading_relu else 0
    yield from _layer(f"{ours}.conv1", f"{theirs}.layers.{first}")
    yield from _layer(f"{ours}.conv2", f"{theirs}.layers.{first + 2}")
    if gain:
        yield f"{ours}.gain", (f"{theirs}.alpha",)


def _patch_down(ours: str, theirs: str) -> Names:
    yield f"{ours}.gain", (f"{theirs}.alpha",)
    yield from _layer(f"{ours}.conv", f"{theirs}.layers")


def _patch_up(ours: str, theirs: str) -> Names:
    yield f"{ours}.gain", (f"{theirs}.alpha",)
    yield from _layer(f"{ours}.conv", f"{theirs}.residual.1")
    yield from _layer(f"{ours}.spread", f"{theirs}.residual.3")


def _encoder(config: LociConfig) -> Names:
    layers = config.encoder.layers
    if config.levels == 2:
        yield from _patch_down("encoder.fine_down", "encoder.layers2.0")
        for i in range(layers):
            yield from _residual(f"encoder.fine_blocks.{i}", f"encoder.layers2.{i + 1}", gain=True)
    yield from _patch_down("encoder.down", "encoder.layers1")
    for i in range(layers):
        yield from _residual(f"encoder.trunk.{i}", f"encoder.layers0.{i}")
        yield from _residual(f"encoder.gestalt_blocks.{i}", f"encoder.gestalt_encoder.{i}")
    for i in range(layers + 1):
        yield from _residual(f"encoder.position_blocks.{i}", f"encoder.position_encoder.{i}")
    yield from _layer("encoder.gestalt_head.conv1", f"encoder.gestalt_encoder.{layers}.layers.0")
    yield from _layer("encoder.gestalt_head.conv2", f"encoder.gestalt_encoder.{layers}.layers.2")
    yield "encoder.size_growth", ("encoder.std_encoder.alpha.init",)


def _embedding(ours: str, theirs: str) -> Names:
    yield f"{ours}.gain", (f"{theirs}.alpha",)
    yield from _layer(f"{ours}.linear1", f"{theirs}.embeding.1")    # their spelling
    yield from _layer(f"{ours}.linear2", f"{theirs}.embeding.3")


def _attention(ours: str, theirs: str) -> Names:
    yield f"{ours}.gain", (f"{theirs}.alpha",)
    yield f"{ours}.project_in.weight", (f"{theirs}.attention.in_proj_weight",)
    yield f"{ours}.project_in.bias", (f"{theirs}.attention.in_proj_bias",)
    yield from _layer(f"{ours}.project_out", f"{theirs}.attention.out_proj")


def _recurrent(ours: str, theirs: str) -> Names:
    yield f"{ours}.gain", (f"{theirs}.alpha",)
    for name, letter in (("gate", "g"), ("candidate", "r"), ("output", "p"), ("output_gate", "o")):
        yield f"{ours}.cell.{name}.weight", (f"{theirs}.l0rd.w_{letter}x", f"{theirs}.l0rd.w_{letter}h")
        yield f"{ours}.cell.{name}.bias", (f"{theirs}.l0rd.b_{letter}",)


def _transition(config: LociConfig) -> Names:
    theirs, layers = "predictor.predictor", config.transition.layers
    shared = config.transition.kind == "shared"
    yield from _embedding("transition.embed", f"{theirs}.input_embeding" if shared else f"{theirs}.layers.0")
    for i in range(layers):
        attention, recurrent = ("attention", "l0rds") if shared else ("layers", "layers")
        at, after = (i, i) if shared else (2 * i + 1, 2 * i + 2)
        yield from _attention(f"transition.attention.{i}", f"{theirs}.{attention}.{at}")
        yield from _recurrent(f"transition.recurrent.{i}", f"{theirs}.{recurrent}.{after}")
    last = f"{theirs}.output_embeding" if shared else f"{theirs}.layers.{2 * layers + 1}"
    yield from _embedding("transition.read_out", last)
    yield from _residual("transition.bottleneck", "predictor.bottleneck.1")
    yield "transition.size_gain", ("predictor.std_alpha",)


def _decoder(config: LociConfig) -> Names:
    for factor in ("priority_factor", "index_factor"):
        yield f"decoder.order.{factor}", (f"decoder.merge.priority_encoder.{factor}",)
    for i in range(config.decoder.layers):
        yield from _residual(f"decoder.trunk.{i}", f"decoder.layer0.{i}", leading_relu=i > 0)
    for kind in ("mask", "object"):
        yield from _residual(f"decoder.{kind}.block", f"decoder.to_{kind}_level0")
        yield from _patch_up(f"decoder.{kind}.up", f"decoder.to_{kind}_level1")
        if config.levels == 2:
            yield f"decoder.{kind}.refinement.gain", (f"decoder.{kind}_alpha",)
            for i in range(2):
                yield from _residual(f"decoder.{kind}.refinement.blocks.{i}", f"decoder.to_{kind}_level2.{i}")
            yield from _patch_up(f"decoder.{kind}.refinement.up1", f"decoder.to_{kind}_level2.2")
            yield from _patch_up(f"decoder.{kind}.refinement.up2", f"decoder.to_{kind}_level2.3")
    yield "decoder.background_logit_image", ("background.mask",)


def official_names(config: LociConfig) -> dict[str, tuple[str, ...]]:
    """Our parameter -> the released ones; two names mean that ours is both, side by side along the last axis."""
    names = dict([*_encoder(config), *_transition(config), *_decoder(config)])
    for i in range(3):
        names.update(_layer(f"gate.layers.{i}", f"percept_gate_controller.layers.{2 * i}"))
    names["recruiting.gestalt_mean"] = ("initial_states.gestalt_mean",)
    names["recruiting.gestalt_spread"] = ("initial_states.gestalt_std",)
    names["recruiting.start_size"] = ("initial_states.std",)
    return names


def official_config(config: LociConfig | str, colour_order: Literal["rgb", "bgr"] = "bgr") -> LociConfig:
    """A network as released: quirks on, colours as OpenCV reads them."""
    base = preset(config) if isinstance(config, str) else config
    return dataclasses.replace(base, released=True, colour_order=colour_order)


def load_official_tensors(model: LociLooped, tensors: dict[str, Tensor], where: str) -> tuple[str, ...]:
    """Fill `model` from a released state dict; returns the names that were not used."""
    tensors = {_today(name): value for name, value in tensors.items()}
    ours, used = {}, set(UNUSED)
    shapes = {name: p.shape for name, p in model.named_parameters()}
    for name, theirs in official_names(model.config).items():
        missing = [t for t in theirs if t not in tensors]
        if missing:
            raise ValueError(
                f"{where} has no tensor {missing[0]!r}: it is a checkpoint of another network than the configuration "
                "describes. Choose the preset it was trained with (adept, clevrer or balls)."
            )
        for t in theirs:
            if not tensors[t].is_floating_point() or tensors[t].layout != torch.strided:
                raise ValueError(f"In {where} the tensor {t!r} does not hold plain floating-point numbers.")
            if not bool(torch.isfinite(tensors[t]).all()):
                raise ValueError(f"In {where} the tensor {t!r} holds NaN or infinite numbers; the file is damaged.")
        value = _side_by_side([tensors[t] for t in theirs])
        if value is None or value.shape != shapes[name]:
            raise ValueError(
                f"In {where} the tensor {theirs[0]!r} is {tuple(tensors[theirs[0]].shape)}, which does not fit our "
                f"{name!r} of {tuple(shapes[name])}: it is a checkpoint of another preset (adept, clevrer or balls)."
            )
        ours[name] = value
        used.update(theirs)
    model.load_state_dict(ours)
    return tuple(sorted(set(tensors) - used | (set(UNUSED) & set(tensors))))


def _side_by_side(pieces: list[Tensor]) -> Tensor | None:
    """Along the last axis; None if they do not match."""
    if any(piece.ndim == 0 or piece.shape[:-1] != pieces[0].shape[:-1] for piece in pieces):
        return None
    return torch.cat(pieces, dim=-1) if len(pieces) > 1 else pieces[0]


def _today(name: str) -> str:
    """Names of older files: a `.module.` infix, and the gate under its former name."""
    name = name.replace(".module.", ".").removeprefix("module.")
    return name.replace("update_module.", "percept_gate_controller.", 1) if name.startswith("update_module.") else name


def _first_line(error: Exception) -> str:
    """What torch says, but not its advice to switch the protection off."""
    line = (str(error).splitlines() or [""])[0]
    return type(error).__name__ if not line or "weights" in line.lower() else line


def _check_sums(path: Path) -> None:
    """torch does not compare a file's own checksums: a flipped bit would become another weight."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if (damaged := archive.testzip()) is not None:
                raise OSError(f"the checksum of {damaged} is wrong")


def read_official(path: str | Path, config: LociConfig | str) -> OfficialCheckpoint:
    """Read one of the authors' `.pt` files. Tensors only: a file that wants to run code is refused."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"There is no file {path}; give the path of one of the authors' .pt checkpoints.")
    try:
        _check_sums(path)
        with warnings.catch_warnings(action="ignore"):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except PermissionError:
        raise ValueError(f"{path} is there, but you are not allowed to read it.") from None
    except pickle.UnpicklingError:
        # torch's own message advises to switch this protection off, which would let the file run anything.
        raise ValueError(
            f"{path} holds more than tensors, or is no checkpoint at all, and was not opened: reading it could run "
            "whatever somebody put into it. Ask for a file of tensors alone."
        ) from None
    except Exception as error:      # a damaged file can break the reader in any way
        raise ValueError(
            f"{path} cannot be read as a PyTorch checkpoint; is it complete? ({_first_line(error)})"
        ) from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds a {type(content).__name__}, not a dictionary with the key 'model'.")
    tensors = content.get("model", content)
    named = isinstance(tensors, dict) and all(isinstance(n, str) and isinstance(v, Tensor) for n, v in tensors.items())
    if not named or not tensors:
        raise ValueError(f"{path} has no 'model' made of tensors, so it is none of the authors' checkpoints.")
    model = LociLooped(official_config(config))
    unused = load_official_tensors(model, tensors, str(path))
    beside = tuple(str(name) for name in content if name != "model") if "model" in content else ()
    return OfficialCheckpoint(model.eval(), unused + beside)
