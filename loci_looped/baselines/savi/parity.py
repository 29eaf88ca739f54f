"""Does our SAVi agree with the authors' code? Runs it on a golden file's weights and video, number by number.

A golden file holds `weights.NAME`, a `video` in [-1, 1], what the authors' code computed from them in float64 (noise
off), and `grad.NAME`. Sizes are read off the weights. What is stored in float32 (`*_full`) can only agree to 1e-6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from loci_looped.baselines.deviation import Deviation
from loci_looped.configs.savi import SaviConfig
from loci_looped.utils.errors import LociError

from .objective import output_loss
from .released import load_released, released_config, released_names
from .savi import Savi
from .state import SaviOutput

Golden = Mapping[str, NDArray[Any]]

CODES, IMAGES, GRADIENTS = 1e-9, 1e-6, 1e-8
PIXEL_STEP = 5
"""`*_sub`: every fifth row and column."""
TOKEN_STEP = 97
SILENT = 1e-12
"""A gradient that is zero in theory (a shift of all logits alike): compared as it is, not against its own maximum."""


def is_golden(data: Golden) -> bool:
    """Is this a golden file of SAVi, and not one of another network?"""
    return all(name in data for name in ("video", "loss_kl", "weights.slot_attention.project_k.weight"))


def _weights(data: Golden) -> dict[str, NDArray[Any]]:
    return {name.removeprefix("weights."): data[name] for name in data if name.startswith("weights.")}


def golden_config(data: Golden, *, heads: int = 4, iterations: int = 2) -> SaviConfig:
    """The network the file was made with; heads and iterations leave no trace in the weights.

    StoSAVi is known by its divergence, which is exactly 0 for SAVi.
    """
    shapes = {name: value.shape for name, value in _weights(data).items()}
    height, width = data["video"].shape[-2:]
    stochastic = bool(data["loss_kl"] != 0)
    return released_config(shapes, frame=(height, width), stochastic=stochastic, heads=heads, iterations=iterations)


def golden_model(data: Golden, *, heads: int = 4, iterations: int = 2) -> Savi:
    """The authors' weights in our network, in float64 and with everything random switched off."""
    if not is_golden(data):
        raise LociError("This is no golden file of SAVi: it lacks 'video', 'loss_kl' or slot attention.")
    model = Savi(golden_config(data, heads=heads, iterations=iterations)).double().eval()
    weights = {name: torch.from_numpy(np.asarray(value)) for name, value in _weights(data).items()}
    load_released(model, weights, "the golden file")
    return model


def compare(data: Golden, *, heads: int = 4, iterations: int = 2) -> list[Deviation]:
    """Every quantity of the file beside ours."""
    model = golden_model(data, heads=heads, iterations=iterations)
    frames = (torch.from_numpy(np.asarray(data["video"])).double() + 1) / 2
    _, output = model.observe(frames)
    loss, parts = output_loss(model, output, frames)
    torch.autograd.backward(loss)

    ours = _quantities(model, output, frames)
    ours |= {
        "loss_recon": parts["reconstruction"], "loss_total": loss,
        "loss_kl": parts.get("kernel_divergence", torch.zeros(())),
    }
    gradients = {f"grad.{name}" for name in released_names(model.config).values()}
    unknown = [
        name for name in data
        if name != "video" and not name.startswith("weights.") and name not in ours and name not in gradients
    ]
    if unknown:
        raise LociError(f"The golden file holds {unknown[0]!r}, which nothing here is compared with.")
    found = [
        _deviation(name, value, data[name], IMAGES if name.endswith("_full") else CODES)
        for name, value in ours.items() if name in data
    ]
    return found + _gradients(model, data)


def _quantities(model: Savi, output: SaviOutput, frames: Tensor) -> dict[str, Tensor]:
    """What we compute, under the golden file's names and in its shapes."""
    decoded = output.decoded
    pixels = (..., slice(None, None, PIXEL_STEP), slice(None, None, PIXEL_STEP))
    tokens = model.encoder(2 * frames.flatten(0, 1) - 1).unflatten(0, frames.shape[:2])
    logits = decoded.mask_logits.unsqueeze(3)
    return {
        "features_sub": tokens[:, :, ::TOKEN_STEP],
        "latents": output.latents,
        "kernel_dist": torch.cat([output.kernel.mean, output.kernel.log_variance], dim=-1),
        "slots": output.slots,
        "mask_logits_sub": logits[pixels],
        "rgb_sub": decoded.colours[:, -1:][pixels],
        "masks_sub": decoded.visible_masks[:, -1:].unsqueeze(3)[pixels],
        "recon_sub": decoded.reconstruction[pixels],
        "mask_logits_full": logits[0, -1],
        "recon_full": decoded.reconstruction[0, -1],
    }


def _gradients(model: Savi, data: Golden) -> list[Deviation]:
    """Each against its tensor's maximum; one that the file does not have must be absent or zero here as well."""
    names, found = released_names(model.config), []
    for name, parameter in model.named_parameters():
        theirs = f"grad.{names[name]}"
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        if theirs not in data:
            found.append(Deviation(theirs, float(gradient.abs().max()), 0.0))
            continue
        largest = float(np.abs(data[theirs]).max())
        stored = gradient.unsqueeze(0) if name == "start" else gradient
        if largest < SILENT:
            found.append(_deviation(theirs, stored, data[theirs], SILENT))
        else:
            found.append(_deviation(theirs, stored, data[theirs], GRADIENTS, scale=largest))
    return found


def _deviation(
    name: str, ours: Tensor, theirs: NDArray[Any], tolerance: float, scale: float | None = None
) -> Deviation:
    """The largest difference; images against their largest value, as float32 rounds them relative to it."""
    mine = ours.detach().double().numpy()
    if mine.shape != theirs.shape:
        raise LociError(f"{name} has the shape {theirs.shape} in the golden file, ours is {mine.shape}.")
    if scale is None:
        scale = max(1.0, float(np.abs(theirs).max(initial=0.0))) if tolerance == IMAGES else 1.0
    return Deviation(name, float(np.abs(mine - theirs.astype(np.float64)).max(initial=0.0)) / scale, tolerance)
