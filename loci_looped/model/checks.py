"""Sentences for what a caller may get wrong, before it fails deep inside a convolution."""

from __future__ import annotations

import torch
from torch import Tensor

from loci_looped.configs.network import LociConfig

from .regime import Regime
from .state import LociState


def check_background(background: Tensor, config: LociConfig) -> None:
    _check_picture("background", background, config)


def check_regime(regime: Regime, state: LociState) -> None:
    """`blackout` is one bool per stream, `hold` one per slot of each stream."""
    if torch.compiler.is_compiling():
        return
    batch, slots = state.occlusion.shape
    for name, value, shape in (("blackout", regime.blackout, (batch,)), ("hold", regime.hold, (batch, slots))):
        if value is not None and (value.dtype != torch.bool or tuple(value.shape) != shape):
            raise ValueError(
                f"{name} must be {shape} truth values for this state, but it is {tuple(value.shape)} of {value.dtype}."
            )


def check_frame(frame: Tensor, state: LociState, config: LociConfig) -> None:
    if torch.compiler.is_compiling():
        return
    _check_picture("frame", frame, config)
    codes, size = tuple(state.predicted.gestalt.shape[1:]), tuple(state.background.shape[2:])
    if codes != (config.slots, config.gestalt) or size != config.frame:
        raise ValueError(
            f"The state belongs to another network ({codes[0]} slots of gestalt {codes[1]}, frames of "
            f"{size[0]} x {size[1]}): begin with this network's initial(background)."
        )
    if frame.shape[0] != state.background.shape[0]:
        raise ValueError(
            f"The frame holds {frame.shape[0]} streams, the state {state.background.shape[0]}: "
            "begin with initial(background) for as many streams as you step."
        )
    if frame.dtype != state.background.dtype or frame.device != state.background.device:
        raise ValueError(
            f"The frame is {frame.dtype} on {frame.device}, the state {state.background.dtype} on "
            f"{state.background.device}: bring both to the same type and device with .to(...)."
        )


def _check_picture(name: str, picture: Tensor, config: LociConfig) -> None:
    if torch.compiler.is_compiling():
        return
    height, width = config.frame
    if not isinstance(picture, Tensor):
        raise ValueError(
            f"The {name} is a {type(picture).__name__}, but a tensor (batch, 3, {height}, {width}) is needed: "
            "torch.from_numpy(...) makes one of an array; colours go before rows and lie in [0, 1]."
        )
    if picture.ndim != 4 or picture.shape[1] != 3 or picture.shape[0] < 1:
        raise ValueError(f"The {name} must be (batch, 3, {height}, {width}) in RGB, but it is {tuple(picture.shape)}.")
    if not picture.is_floating_point():
        raise ValueError(f"The {name} holds {picture.dtype}; divide by 255 to get floating-point numbers in [0, 1].")
    if tuple(picture.shape[2:]) != (height, width):
        raise ValueError(
            f"The {name} is {picture.shape[2]} x {picture.shape[3]} pixels, but this network works at "
            f"{height} x {width}: resize it first, or choose a network of that size."
        )
    # Looking at values stalls a GPU, so there only shapes are checked.
    if picture.device.type == "cpu":
        low, high = (bound.item() for bound in torch.aminmax(picture))
        if not (low >= -1e-3 and high <= 1 + 1e-3):
            finite = bool(torch.isfinite(picture).all())
            found = f"values from {low:.3g} to {high:.3g}" if finite else "NaN or infinite values"
            raise ValueError(f"The {name} has {found}; colours must lie in [0, 1].")
