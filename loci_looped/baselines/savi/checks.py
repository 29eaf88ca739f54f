"""Sentences for what a caller may get wrong, before it fails deep inside a convolution."""

from __future__ import annotations

import torch
from torch import Tensor

from loci_looped.configs.savi import SaviConfig
from loci_looped.utils.errors import LociError

from .state import SaviState


def check_clip(frames: Tensor, config: SaviConfig) -> None:
    height, width = config.frame
    if frames.ndim != 5 or frames.shape[1] < 1:
        raise LociError(
            f"A clip must be (batch, time, 3, {height}, {width}) with at least one frame, but it is "
            f"{tuple(frames.shape)}."
        )


def check_frame(frame: Tensor, config: SaviConfig) -> None:
    if torch.compiler.is_compiling():
        return
    height, width = config.frame
    if frame.ndim != 4 or frame.shape[1] != 3 or frame.shape[0] < 1:
        raise LociError(f"The frame must be (batch, 3, {height}, {width}) in RGB, but it is {tuple(frame.shape)}.")
    if not frame.is_floating_point():
        raise LociError(f"The frame holds {frame.dtype}; divide by 255 to get floating-point numbers in [0, 1].")
    if tuple(frame.shape[2:]) != (height, width):
        raise LociError(
            f"The frame is {frame.shape[2]} x {frame.shape[3]} pixels, but this SAVi works at {height} x {width}: "
            "resize it first, or choose a network of that size."
        )
    # Looking at values stalls a GPU, so there only shapes are checked.
    if frame.device.type == "cpu":
        low, high = (bound.item() for bound in torch.aminmax(frame.detach()))
        if not (low >= -1e-3 and high <= 1 + 1e-3):
            finite = bool(torch.isfinite(frame).all())
            found = f"values from {low:.3g} to {high:.3g}" if finite else "NaN or infinite values"
            raise LociError(f"The frame has {found}; colours must lie in [0, 1].")


def check_state(frame: Tensor, state: SaviState, config: SaviConfig) -> None:
    if torch.compiler.is_compiling():
        return
    batch, slots, width = state.latents.shape
    remembers = config.predictor.kind == "transformer"
    if (slots, width, bool(state.memory)) != (config.slots, config.slot_width, remembers):
        raise LociError(
            f"The state belongs to another network ({slots} slots of width {width}, "
            f"{'with' if state.memory else 'without'} a memory): begin with this network's initial(batch)."
        )
    if frame.shape[0] != batch:
        raise LociError(
            f"The frame holds {frame.shape[0]} streams, the state {batch}: begin with initial(batch) for as many "
            "streams as you step."
        )
    if frame.dtype != state.latents.dtype or frame.device != state.latents.device:
        raise LociError(
            f"The frame is {frame.dtype} on {frame.device}, the network {state.latents.dtype} on "
            f"{state.latents.device}: bring both to the same type and device with .to(...)."
        )
