"""The authors' names for our weights, and the network that a state dict belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from loci_looped.configs.loci_v1 import LociV1Config
from loci_looped.utils.errors import LociError

from .loci_v1 import LociV1

UNUSED = ("background.local_bias", "initial_states.threshold", "initial_states.init")
"""Of the authors' tensors: an image that nothing uses, and a constant that is part of our configuration."""

Names = Iterator[tuple[str, tuple[str, ...]]]


def released_names(config: LociV1Config) -> dict[str, tuple[str, ...]]:
    """Our name -> theirs; two of theirs stand side by side in one of our tensors, along the last axis."""
    return dict([*_encoder(config), *_predictor(config), *_decoder(config), *_rest()])


def _block(ours: str, theirs: str, *, first: int = 1, gain: bool = False) -> Names:
    """A residual block; without its leading ReLU their convolutions are one place further to the front."""
    for part in ("weight", "bias"):
        yield f"{ours}.conv1.{part}", (f"{theirs}.layers.{first}.{part}",)
        yield f"{ours}.conv2.{part}", (f"{theirs}.layers.{first + 2}.{part}",)
    if gain:
        yield f"{ours}.gain", (f"{theirs}.alpha",)


def _up(ours: str, theirs: str) -> Names:
    for part in ("weight", "bias"):
        yield f"{ours}.conv.{part}", (f"{theirs}.layers.1.{part}",)
        yield f"{ours}.spread.{part}", (f"{theirs}.layers.3.{part}",)
    yield f"{ours}.gain", (f"{theirs}.alpha",)


def _encoder(config: LociV1Config) -> Names:
    if config.levels == 2:
        yield from _block("encoder.fine_down", "encoder.layers2.0", first=0, gain=True)
        for i in range(config.encoder_layers):
            yield from _block(f"encoder.fine_blocks.{i}", f"encoder.layers2.{i + 1}", gain=True)
    yield from _block("encoder.down", "encoder.layers1.0", first=0, gain=True)
    for i in range(config.encoder_layers):
        yield from _block(f"encoder.trunk.{i}", f"encoder.layers0.{i}")
    for i in range(config.encoder_layers + 1):
        yield from _block(f"encoder.position_blocks.{i}", f"encoder.position_encoder.{i}")
        yield from _block(f"encoder.gestalt_blocks.{i}", f"encoder.gestalt_encoder.{i + 1}")
    yield from _block("encoder.to_one_cell", "encoder.gestalt_encoder.0", first=0, gain=True)
    yield "encoder.size_growth", ("encoder.std_encoder.alpha.init",)


def _predictor(config: LociV1Config) -> Names:
    layers = "predictor.predictor.layers"
    ends = (("embed", 0), ("read_out", 1 + 2 * config.predictor_layers))
    for ours, number in ends:
        yield f"predictor.{ours}.gain", (f"{layers}.{number}.alpha",)
        for part in ("weight", "bias"):
            yield f"predictor.{ours}.linear1.{part}", (f"{layers}.{number}.embeding.1.{part}",)
            yield f"predictor.{ours}.linear2.{part}", (f"{layers}.{number}.embeding.3.{part}",)
    for i in range(config.predictor_layers):
        attention, cell = f"{layers}.{1 + 2 * i}", f"{layers}.{2 + 2 * i}"
        yield f"predictor.attention.{i}.gain", (f"{attention}.alpha",)
        for part in ("weight", "bias"):
            yield f"predictor.attention.{i}.project_in.{part}", (f"{attention}.attention.in_proj_{part}",)
            yield f"predictor.attention.{i}.project_out.{part}", (f"{attention}.attention.out_proj.{part}",)
        yield f"predictor.recurrent.{i}.gain", (f"{cell}.alpha",)
        for ours, letter in (("gate", "g"), ("candidate", "r"), ("output", "p"), ("output_gate", "o")):
            both = (f"{cell}.l0rd.w_{letter}x", f"{cell}.l0rd.w_{letter}h")
            yield f"predictor.recurrent.{i}.cell.{ours}.weight", both
            yield f"predictor.recurrent.{i}.cell.{ours}.bias", (f"{cell}.l0rd.b_{letter}",)
    yield from _block("predictor.bottleneck", "predictor.bottleneck.1")
    yield "predictor.size_gain", ("predictor.std_alpha",)
    for name in ("priority_factor", "index_factor"):
        yield f"predictor.{name}", (f"predictor.priority_encoder.{name}",)


def _decoder(config: LociV1Config) -> Names:
    for i in range(config.decoder_layers):
        yield from _block(f"decoder.trunk.{i}", f"decoder.layer0.{i}", first=0 if i == 0 else 1)
    for kind in ("mask", "object"):
        yield from _block(f"decoder.{kind}.block", f"decoder.to_{kind}_level0")
        yield from _up(f"decoder.{kind}.up", f"decoder.to_{kind}_level1")
        if config.levels == 2:
            for i in (0, 1):
                yield from _block(f"decoder.{kind}.fine.{i}", f"decoder.to_{kind}_level2.{i}")
            for i in (2, 3):
                yield from _up(f"decoder.{kind}.fine.{i}", f"decoder.to_{kind}_level2.{i}")
            yield f"decoder.{kind}.fine_gain", (f"decoder.{kind}_alpha",)


def _rest() -> Names:
    yield "backdrop.logit_image", ("background.mask",)
    yield "backdrop.growth", ("background.alpha",)
    yield "placement.gestalt_mean", ("initial_states.gestalt_mean",)
    yield "placement.gestalt_std", ("initial_states.gestalt_std",)
    yield "placement.size", ("initial_states.std",)


def released_config(
    shapes: Mapping[str, tuple[int, ...]], *, slots: int, level: int = 1, heads: int = 2, l0_weight: float = 1e-10
) -> LociV1Config:
    """The sizes of a state dict; slots, level, heads and the L0 weight leave no trace in it."""

    def count(prefix: str) -> int:
        found = {int(name.removeprefix(prefix).split(".")[0]) for name in shapes if name.startswith(prefix)}
        if not found:
            raise LociError(f"These are not weights of Loci-v1: nothing in them begins with {prefix!r}.")
        return 1 + max(found)

    def shape(name: str) -> tuple[int, ...]:
        if name not in shapes:
            raise LociError(f"These are not weights of Loci-v1: {name!r} is missing.")
        return shapes[name]

    rows, columns = shape("background.mask")[2:]
    channels, fine = shape("encoder.layers1.0.layers.0.weight")[:2]
    return LociV1Config(
        slots=slots, gestalt=shape("initial_states.gestalt_mean")[1], latent=(rows // 16, columns // 16), level=level,
        encoder_channels=channels, fine_channels=fine, encoder_layers=count("encoder.layers0."),
        decoder_channels=shape("decoder.layer0.0.layers.0.weight")[0], decoder_layers=count("decoder.layer0."),
        heads=heads, predictor_layers=(count("predictor.predictor.layers.") - 2) // 2, l0_weight=l0_weight,
    )


def load_released(model: LociV1, tensors: Mapping[str, Tensor], where: str) -> None:
    """Fill `model` from a released state dict; whatever does not fit is named."""
    names, ours = released_names(model.config), {}
    for name, parameter in model.named_parameters():
        missing = [theirs for theirs in names[name] if theirs not in tensors]
        if missing:
            raise LociError(f"{where} has no tensor {missing[0]!r}: it belongs to another network than this one.")
        value = torch.cat([tensors[theirs] for theirs in names[name]], dim=-1)
        if value.shape != parameter.shape:
            raise LociError(
                f"In {where} the tensor {names[name][0]!r} is {tuple(value.shape)}, which does not fit our {name!r} of "
                f"{tuple(parameter.shape)}: it belongs to a network of another size."
            )
        ours[name] = value
    known = {theirs for several in names.values() for theirs in several}
    foreign = sorted(name for name in tensors if name not in known and not name.startswith(UNUSED))
    if foreign:
        raise LociError(f"{where} also holds {foreign[0]!r}, which Loci-v1 does not have.")
    model.load_state_dict(ours)
