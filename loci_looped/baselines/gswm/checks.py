"""Sentences for what a caller may get wrong, before it fails deep inside a convolution."""

from __future__ import annotations

import torch
from torch import Tensor

from loci_looped.configs.gswm import GswmConfig
from loci_looped.utils.errors import LociError

from .state import GswmState


def check_picture(name: str, picture: Tensor, config: GswmConfig) -> None:
    """(B, 3, size, size) floating-point colours in [0, 1]."""
    if torch.compiler.is_compiling():
        return
    size = config.frame
    if picture.ndim != 4 or picture.shape[1] != 3 or picture.shape[0] < 1:
        raise LociError(f"G-SWM's {name} must be (batch, 3, {size}, {size}) in RGB, but it is {tuple(picture.shape)}.")
    if not picture.is_floating_point():
        raise LociError(f"G-SWM's {name} holds {picture.dtype}; divide by 255 to get floating-point numbers in [0, 1].")
    check_size(name, picture, config)
    # Looking at values stalls a GPU, so there only shapes are checked.
    if picture.device.type == "cpu":
        low, high = (bound.item() for bound in torch.aminmax(picture))
        if not (low >= -1e-3 and high <= 1 + 1e-3):
            finite = bool(torch.isfinite(picture).all())
            found = f"values from {low:.3g} to {high:.3g}" if finite else "NaN or infinite values"
            raise LociError(f"G-SWM's {name} has {found}; colours must lie in [0, 1].")


def check_type(picture: Tensor, weight: Tensor) -> None:
    """A picture of the network's own number type and device."""
    if picture.dtype != weight.dtype or picture.device != weight.device:
        raise LociError(
            f"The background is {picture.dtype} on {picture.device}, this G-SWM {weight.dtype} on {weight.device}: "
            "bring both to the same type and device with .to(...)."
        )


def check_size(name: str, pictures: Tensor, config: GswmConfig) -> None:
    """The last two axes."""
    height, width = pictures.shape[-2:]
    if height != width:
        raise LociError(
            f"G-SWM needs square frames, but its {name} is {height} x {width} pixels (height x width): "
            f"resize it to {config.frame} x {config.frame}."
        )
    if height != config.frame:
        raise LociError(
            f"G-SWM's {name} is {height} x {width} pixels, but this one works at {config.frame} x {config.frame}: "
            "resize it first, or choose a configuration of that size."
        )


def check_frame(frame: Tensor, state: GswmState, config: GswmConfig) -> None:
    """A frame that goes with a state."""
    if torch.compiler.is_compiling():
        return
    check_picture("frame", frame, config)
    check_state(state, config)
    known = state.background.image
    if frame.shape[0] != known.shape[0]:
        raise LociError(
            f"The frame holds {frame.shape[0]} clips, the state {known.shape[0]}: begin with initial(background) for "
            "as many clips as you step."
        )
    if frame.dtype != known.dtype or frame.device != known.device:
        raise LociError(
            f"The frame is {frame.dtype} on {frame.device}, the state {known.dtype} on {known.device}: "
            "bring both to the same type and device with .to(...)."
        )


def check_state(state: GswmState, config: GswmConfig) -> None:
    """A state that this network made."""
    if torch.compiler.is_compiling():
        return
    objects = state.tracks.objects
    found = (objects.ids.shape[1], objects.what.shape[2], objects.dynamics.shape[2], state.background.image.shape[2])
    wanted = (config.max_objects, config.what, config.dynamics, config.frame)
    if found != wanted or (state.background.memory is None) == (config.background == "learned"):
        raise LociError("The state belongs to another G-SWM: begin with this one's initial(background).")


def check_clip(frames: Tensor, background: Tensor | None, config: GswmConfig) -> None:
    """(B, T, 3, size, size), with the background that the configuration asks for."""
    size = config.frame
    if frames.ndim != 5 or frames.shape[2] != 3 or min(frames.shape[:2]) < 1:
        raise LociError(f"A clip for G-SWM must be (batch, time, 3, {size}, {size}), but it is {tuple(frames.shape)}.")
    check_size("clip", frames, config)
    if config.background == "given" and background is None:
        raise LociError(
            "This G-SWM works with a given background, but the clip came without one: pass background=, or choose "
            'background="learned".'
        )
