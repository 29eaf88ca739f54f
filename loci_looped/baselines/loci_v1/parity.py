"""Does our Loci-v1 agree with the authors' code? Runs it on a golden file's weights and video, number by number.

A golden file holds, per step, the drawn candidate places (and perhaps the noise) and what the authors' code computed in
float64. The files of level 2 and of the noise take their weights from `lociv1_train.npz` beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from loci_looped.baselines.deviation import Deviation
from loci_looped.model.gatelord import GateL0RD
from loci_looped.model.state import SlotCodes
from loci_looped.utils.errors import LociError

from .draws import Purpose
from .loci_v1 import LociV1
from .losses import faded_target, step_losses
from .released import load_released, released_config, released_names
from .state import LociV1Output, LociV1State

Golden = Mapping[str, NDArray[Any]]

CODES, IMAGES, GRADIENTS = 1e-9, 1e-6, 1e-8
WARM_UP = 3
L0_WEIGHT = 1e-3
WEIGHTS = {"prediction": 1.0, "position_change": 10.0, "object_permanence": 1000.0, "gestalt_change": 10.0}
TERMS = {
    "prediction": "prediction", "position_change": "position", "object_permanence": "permanence",
    "gestalt_change": "gestalt",
}
"""Our names of the losses, and theirs."""
STORED = {"new gestalt": "noise_gestalt_new", "bottleneck": "noise_bottleneck", "priority": "noise_priority"}
BESIDE = "lociv1_train.npz"
SINGLE_PRECISION = ("output",)
"""Stored in float32 precision in the file of level 2."""
SILENT = 1e-12
"""A gradient below this everywhere is zero but for rounding: compared as it is, not against its own maximum."""


def is_golden(data: Golden) -> bool:
    """Is this a golden file of Loci-v1, and not one of another network?"""
    return "step0.candidates" in data and "step0.bound_memory" in data


class StoredDraws:
    """The random numbers of one step, as the file has them; noise that it does not have was zero."""

    def __init__(self, data: Golden, prefix: str):
        self.data, self.prefix = data, prefix

    def places(self, like: Tensor, candidates: int) -> Tensor:
        del candidates
        return torch.as_tensor(self.data[f"{self.prefix}.candidates"]).to(like)

    def pixel(self, error: Tensor) -> Tensor:
        """The published network draws none."""
        return error.flatten(1).argmax(1)

    def normal(self, like: Tensor, purpose: Purpose) -> Tensor:
        stored = self.data.get(f"{self.prefix}.{STORED[purpose]}")
        return torch.zeros_like(like) if stored is None else torch.as_tensor(stored).to(like).view_as(like)


def golden_network(data: Golden, beside: Golden) -> LociV1:
    """The network the file was made with, in float64."""
    source = data if any(name.startswith("weights.") for name in data) else beside
    weights = {
        name.removeprefix("weights."): torch.as_tensor(value).double()
        for name, value in source.items() if name.startswith("weights.")
    }
    video = data["video"] if "video" in data else beside["video"]
    shapes = {name: tuple(value.shape) for name, value in weights.items()}
    rows = shapes["background.mask"][2]
    config = released_config(
        shapes, slots=data["step0.bound"].shape[1], level=2 if video.shape[-2] == rows else 1, l0_weight=L0_WEIGHT
    )
    model = LociV1(config).double()
    load_released(model, weights, "the golden file")
    return model


def compare(path: Path, data: Golden) -> list[Deviation]:
    """Every stored quantity of every step."""
    beside = data if "weights.background.mask" in data else _beside(path)
    model = golden_network(data, beside)
    openings = _watch_openings(model)
    training = "step0.loss" in data
    video, background = (
        torch.as_tensor((data if name in data else beside)[name]).double() for name in ("video", "background")
    )
    found: list[Deviation] = []
    state, target, compared = model.initial(background), video[:, 0], video[:, 0]
    for n in range(1 + max(int(name[4:].split(".")[0]) for name in data if name.startswith("step"))):
        t = n - WARM_UP
        frame = video[:, max(t, 0)]
        with torch.set_grad_enabled(training):
            openings.clear()
            state, output = model.step(
                frame, state, StoredDraws(data, f"step{n}"), compared=compared if training else frame,
                weight_runs=t >= 0,
            )
            ours = quantities(model, output, state) | {"openings": torch.stack(openings).mean()}
            ours["object_free_logits"] = model.decoder.objects(output.predicted)
            if training:
                # The released loop fades its warm-up target again and again; the error is of the one before.
                compared = target = video[:, t + 1] if t >= 0 else target
                faded = faded_target(target, background, model.backdrop.strength())
                losses = step_losses(model, output, faded, warm=t < 0)
                found += _gradients(model, data, output, losses, n)
                ours |= {f"loss_{theirs}": losses[name] for name, theirs in TERMS.items()}
                ours |= {
                    "loss": _total(losses), "target": faded, "background_strength": model.backdrop.strength(),
                    "object_memory_logits": model.decoder.objects(output.remembered),
                }
                target = faded
        state = state.detach()
        found += [
            _deviation(f"step{n}.{name}", value, data[f"step{n}.{name}"], single="weights.background.mask" not in data)
            for name, value in ours.items() if f"step{n}.{name}" in data
        ]
    found += [Deviation(f"{name} (not compared)", float("inf"), 0.0) for name in _left(data, found)]
    return found


def quantities(model: LociV1, output: LociV1Output, state: LociV1State) -> dict[str, Tensor]:
    """Ours under the released names and layouts."""
    painted = output.next_frame
    named = {"last": output.placed, "encoder": output.sensed, "": output.predicted}
    codes = {
        f"{name}_{suffix}".removesuffix("_"): value for suffix, code in named.items()
        for name, value in (("position", place(code)), ("gestalt", code.gestalt), ("priority", code.priority))
    }
    return codes | {
        "error_in": output.error, "bound_memory": output.visibility, "bound": output.bound.double(),
        "mask_first": output.masks_before, "object_last_logits": output.objects_before,
        "encoder_input": model.encoder.inputs(
            torch.zeros_like(painted.frame), output.error, output.masks_before, output.objects_before, output.placed
        ),
        "hidden": torch.cat([hidden.flatten(0, 1) for hidden in state.memory.hidden], dim=1),
        "mask_logits": painted.mask_logits, "object_logits": painted.object_logits, "output": painted.frame,
        "mask": painted.visible_masks_with_background, "visibility": output.shown, "visibility_max": output.weight,
        "memory_position": place(output.remembered), "memory_gestalt": output.remembered.gestalt,
    }


def place(codes: SlotCodes) -> Tensor:
    """(B, K, 3) row, column, size"""
    return torch.cat([codes.position, codes.size.unsqueeze(-1)], dim=-1)


def digest(values: Tensor) -> Tensor:
    """(3,) sum, Euclidean norm, and a sum that knows about places."""
    flat = values.detach().flatten()
    index = torch.arange(flat.numel(), dtype=flat.dtype)
    return torch.stack([flat.sum(), flat.norm(), (flat * torch.cos(index)).sum()])


def _total(losses: dict[str, Tensor]) -> Tensor:
    return torch.stack([WEIGHTS[name] * value for name, value in losses.items()]).sum()


def _watch_openings(model: LociV1) -> list[Tensor]:
    """Filled, at every step, with the share of open gates of each recurrent layer."""
    openings: list[Tensor] = []

    def look(cell: nn.Module, inputs: tuple[Any, ...], outputs: Any) -> None:
        assert isinstance(cell, GateL0RD)
        gate: Tensor = cell.gate(torch.cat(inputs[:2], dim=1))
        openings.append((gate > 0).double().mean())

    for layer in model.predictor.recurrent:
        layer.get_submodule("cell").register_forward_hook(look)
    return openings


def _gradients(
    model: LociV1, data: Golden, output: LociV1Output, losses: dict[str, Tensor], n: int
) -> list[Deviation]:
    found = []
    for name, theirs in TERMS.items():
        wanted = {code: data.get(f"step{n}.term.{theirs}.{code}") for code in ("position", "gestalt", "priority")}
        if all(stored is None for stored in wanted.values()):
            continue
        codes = output.predicted
        leaves = (codes.position, codes.size, codes.gestalt, codes.priority)
        by = torch.autograd.grad(losses[name], leaves, retain_graph=True, allow_unused=True)
        full = [torch.zeros_like(leaf) if value is None else value for leaf, value in zip(leaves, by, strict=True)]
        ours = {"position": torch.cat([full[0], full[1].unsqueeze(-1)], -1), "gestalt": full[2], "priority": full[3]}
        found += [
            _relative(f"step{n}.term.{theirs}.{code}", ours[code], stored)
            for code, stored in wanted.items() if stored is not None
        ]
    prefixes = (f"step{n}.grad.", f"step{n}.graddigest.")
    if not any(name.startswith(prefixes) for name in data):
        return found
    model.zero_grad()
    _total(losses).backward(retain_graph=True)
    parameters = dict(model.named_parameters())
    for name, several in released_names(model.config).items():
        whole = parameters[name].grad
        gradient = torch.zeros_like(parameters[name]) if whole is None else whole
        for piece, theirs in zip(gradient.chunk(len(several), dim=-1), several, strict=True):
            for prefix, value in zip(prefixes, (piece, digest(piece.contiguous())), strict=True):
                if prefix + theirs in data:
                    found.append(_relative(prefix + theirs, value, data[prefix + theirs]))
    return found


def _relative(name: str, ours: Tensor, golden: NDArray[Any]) -> Deviation:
    """Against the tensor's own maximum."""
    largest = float(np.abs(golden).max(initial=0.0))
    off = float(np.abs(ours.detach().numpy().reshape(golden.shape) - golden).max(initial=0.0))
    return Deviation(name, off / largest if largest > SILENT else off, GRADIENTS)


def _deviation(name: str, ours: Tensor, golden: NDArray[Any], *, single: bool) -> Deviation:
    mine = ours.detach().double().numpy().reshape(golden.shape)
    if name.endswith("encoder_input"):      # the frame itself is not our doing
        mine, golden = mine[:, 3:], golden[:, 3:]
    largest = float(np.abs(golden).max(initial=0.0))
    off = float(np.abs(mine - golden.astype(np.float64)).max(initial=0.0)) / max(1.0, largest)
    return Deviation(name, off, IMAGES if single and name.endswith(SINGLE_PRECISION) else CODES)


def _left(data: Golden, found: list[Deviation]) -> list[str]:
    """Stored quantities that nothing was compared with; inputs aside."""
    compared, given = {one.name for one in found}, ("candidates", *STORED.values())
    return [
        name for name in data
        if name.startswith("step") and name not in compared and not name.endswith(given)
        and "background.local_bias" not in name
    ]


def _beside(path: Path) -> dict[str, NDArray[Any]]:
    other = path.with_name(BESIDE)
    if not other.is_file():
        raise LociError(f"{path} holds no weights; they are in {BESIDE}, which must lie beside it.")
    with np.load(other, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
