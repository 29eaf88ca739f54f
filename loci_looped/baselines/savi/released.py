"""The authors' names for our weights (SlotFormer's SAVi and StoSAVi), and the network that a state dict belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import torch
from torch import Tensor

from loci_looped.configs.savi import (
    CorrectorConfig,
    DecoderConfig,
    EncoderConfig,
    KernelConfig,
    PredictorConfig,
    SaviConfig,
)
from loci_looped.utils.errors import LociError

from .savi import Savi

UNUSED = ("prior_slot_layer.",)
"""Beginnings of names that the released network has and never uses."""

GRIDS = ("encoder_pos_embedding.grid", "decoder_pos_embedding.grid")
"""Fixed coordinates that a released checkpoint also holds; ours are made when needed."""

Names = Iterator[tuple[str, str]]
"""Our name and theirs, one pair after the other."""


def _layer(ours: str, theirs: str, parts: tuple[str, ...] = ("weight", "bias")) -> Names:
    for part in parts:
        yield f"{ours}.{part}", f"{theirs}.{part}"


def _encoder(config: SaviConfig) -> Names:
    for i in range(len(config.encoder.channels)):
        yield from _layer(f"encoder.convolutions.{i}", f"encoder.{i}.0")
    yield from _layer("encoder.position.linear", "encoder_pos_embedding.dense")
    yield from _layer("encoder.norm", "encoder_out_layer.0")
    yield from _layer("encoder.perceptron.linear1", "encoder_out_layer.1")
    yield from _layer("encoder.perceptron.linear2", "encoder_out_layer.3")


def _corrector() -> Names:
    theirs = "slot_attention"
    yield from _layer("corrector.token_norm", f"{theirs}.norm_inputs")
    yield from _layer("corrector.query_norm", f"{theirs}.project_q.0")
    for ours, name in (("query", "project_q.1"), ("key", "project_k"), ("value", "project_v")):
        yield from _layer(f"corrector.{ours}", f"{theirs}.{name}", ("weight",))
    yield from _layer("corrector.gru", f"{theirs}.gru", ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    yield from _layer("corrector.perceptron_norm", f"{theirs}.mlp.0")
    yield from _layer("corrector.perceptron.linear1", f"{theirs}.mlp.1")
    yield from _layer("corrector.perceptron.linear2", f"{theirs}.mlp.3")


def _kernel_head(config: SaviConfig) -> Names:
    if config.kernel.head == "mlp":
        yield from _layer("kernel_head.hidden", "kernel_dist_layer.0")
        yield from _layer("kernel_head.norm", "kernel_dist_layer.1")
    yield from _layer("kernel_head.out", f"kernel_dist_layer.{3 if config.kernel.head == 'mlp' else 0}")


def _predictor(config: SaviConfig) -> Names:
    if config.predictor.kind == "mlp":
        yield from _layer("predictor.norm", "predictor.ln")
        yield from _layer("predictor.perceptron.linear1", "predictor.mlp.0")
        yield from _layer("predictor.perceptron.linear2", "predictor.mlp.2")
        return
    for i in range(config.predictor.layers):
        ours, theirs = f"predictor.layers.{i}", f"predictor.base_predictor.transformer_encoder.layers.{i}"
        yield from _layer(f"{ours}.attention_norm", f"{theirs}.norm1")
        yield f"{ours}.project_in.weight", f"{theirs}.self_attn.in_proj_weight"
        yield f"{ours}.project_in.bias", f"{theirs}.self_attn.in_proj_bias"
        yield from _layer(f"{ours}.project_out", f"{theirs}.self_attn.out_proj")
        yield from _layer(f"{ours}.feed_forward_norm", f"{theirs}.norm2")
        yield from _layer(f"{ours}.linear1", f"{theirs}.linear1")
        yield from _layer(f"{ours}.linear2", f"{theirs}.linear2")
    for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        yield f"predictor.lstm.{part}", f"predictor.rnn.{part}_l0"
    yield from _layer("predictor.out", "predictor.out_projector")


def _decoder(config: SaviConfig) -> Names:
    count = len(config.decoder.channels)
    yield from _layer("decoder.position.linear", "decoder_pos_embedding.dense")
    for i in range(count):
        yield from _layer(f"decoder.convolutions.{i}", f"decoder.{i}.0")
    yield from _layer("decoder.paint", f"decoder.{count}")


def released_names(config: SaviConfig) -> dict[str, str]:
    """Our parameter -> the released one. `start` is the only one of another shape: theirs has a batch axis."""
    return {
        "start": "init_latents",
        **dict([*_encoder(config), *_kernel_head(config), *_corrector(), *_predictor(config), *_decoder(config)]),
    }


def released_config(
    shapes: Mapping[str, tuple[int, ...]], *, stochastic: bool, frame: tuple[int, int] = (64, 64), heads: int = 4,
    iterations: int = 2,
) -> SaviConfig:
    """The network that has tensors of these shapes; what no shape can tell is asked for."""

    def shape(name: str, axes: int) -> tuple[int, ...]:
        found = shapes.get(name)
        if found is None or len(found) != axes:
            raise LociError(
                f"These are not weights of SAVi: {name!r} "
                + ("is missing." if found is None else f"has the shape {tuple(found)} instead of {axes} axes.")
            )
        return found

    def count(pattern: str) -> int:
        found = 0
        while pattern.format(found) in shapes:
            found += 1
        return found

    _, slots, slot_width = shape("init_latents", 3)
    encoder = tuple(shape(f"encoder.{i}.0.weight", 4)[0] for i in range(count("encoder.{}.0.weight")))
    decoder = tuple(shape(f"decoder.{i}.0.weight", 4)[1] for i in range(count("decoder.{}.0.weight")))
    if not encoder or not decoder:
        raise LociError("These are not weights of SAVi: the encoder's or the decoder's convolutions are missing.")
    kind: Literal["mlp", "transformer"] = "mlp" if "predictor.ln.weight" in shapes else "transformer"
    predictor = PredictorConfig()
    if kind == "transformer":
        theirs = "predictor.base_predictor.transformer_encoder.layers."
        predictor = PredictorConfig(
            kind=kind, heads=heads, layers=count(theirs + "{}.linear1.weight"),
            feed_forward=shape(theirs + "0.linear1.weight", 2)[0],
        )
    return SaviConfig(
        frame=frame, slots=slots, slot_width=slot_width, hidden_width=shape("slot_attention.mlp.1.weight", 2)[0],
        encoder=EncoderConfig(
            channels=encoder, stride=max(1, frame[0] // 64), kernel_size=shape("encoder.0.0.weight", 4)[-1],
            token_width=shape("encoder_out_layer.3.weight", 2)[0],
        ),
        corrector=CorrectorConfig(iterations=iterations),
        predictor=predictor,
        kernel=KernelConfig(head="mlp" if "kernel_dist_layer.3.weight" in shapes else "linear", stochastic=stochastic),
        decoder=DecoderConfig(channels=decoder, kernel_size=shape("decoder.0.0.weight", 4)[-1]),
    )


def load_released(model: Savi, tensors: Mapping[str, Tensor], where: str) -> tuple[str, ...]:
    """Fill `model` from a released state dict; returns the names that were not used."""
    ours, names = {}, released_names(model.config)
    for name, parameter in model.named_parameters():
        theirs = names[name]
        if theirs not in tensors:
            raise LociError(f"{where} has no tensor {theirs!r}: it belongs to another network than this one.")
        value = tensors[theirs].squeeze(0) if name == "start" else tensors[theirs]
        if value.shape != parameter.shape:
            raise LociError(
                f"In {where} the tensor {theirs!r} is {tuple(tensors[theirs].shape)}, which does not fit our {name!r} "
                f"of {tuple(parameter.shape)}: it belongs to a network of another size."
            )
        if not value.is_floating_point() or not bool(torch.isfinite(value).all()):
            raise LociError(f"In {where} the tensor {theirs!r} does not hold finite floating-point numbers.")
        ours[name] = value
    left = sorted(set(tensors) - set(names.values()))
    foreign = [name for name in left if not name.startswith(UNUSED) and name not in GRIDS]
    if foreign:
        raise LociError(f"{where} also holds {foreign[0]!r}, which SAVi does not have: it belongs to another network.")
    model.load_state_dict(ours)
    return tuple(left)
