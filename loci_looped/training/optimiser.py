"""Optimisers: the authors' rectified Adam, and AdamW; and the learning rate as a function of the number of updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from loci_looped.model import LociLooped
from loci_looped.training.config import OptimiserConfig

WARM_START = 100
"""AdamW's learning rate rises over the first updates; rectified Adam does that by itself."""


class RectifiedAdam(torch.optim.Optimizer):
    """RAdam as the authors wrote it: no step at all while the variance cannot be trusted (the first five steps).

    A parameter that has been updated once goes on moving by its momentum in updates that give it no gradient, as it
    did under the PyTorch release the published networks were trained with.
    """

    def __init__(self, params: Iterable[Any], lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-16):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        del closure
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            longest = 2 / (1 - beta2) - 1
            for parameter in group["params"]:
                state = self.state[parameter] if parameter in self.state else None
                if parameter.grad is None and state is None:
                    continue
                if state is None:
                    state = self.state[parameter]
                    state["step"] = torch.zeros(())
                    state["exp_avg"] = torch.zeros_like(parameter)
                    state["exp_avg_sq"] = torch.zeros_like(parameter)
                gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                state["step"] += 1
                t = int(state["step"])
                state["exp_avg"].lerp_(gradient, 1 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
                length = longest - 2 * t * beta2**t / (1 - beta2**t)
                if length < 5:
                    continue
                rectified = (length - 4) / (longest - 4) * (length - 2) / length * longest / (longest - 2)
                rate = math.sqrt((1 - beta2**t) * rectified) / (1 - beta1**t)
                parameter.addcdiv_(state["exp_avg"], state["exp_avg_sq"].sqrt().add_(group["eps"]), value=-group["lr"] * rate)


def build_optimiser(model: LociLooped, config: OptimiserConfig) -> torch.optim.Optimizer:
    """Two groups: the initial states, which may learn faster, and everything else."""
    initial = list(model.recruiting.parameters())
    known = {id(parameter) for parameter in initial}
    groups = [
        {"params": initial, "role": "initial"},
        {"params": [p for p in model.parameters() if id(p) not in known], "role": "network"},
    ]
    betas = (config.beta1, config.beta2)
    if config.kind == "radam":
        return RectifiedAdam(groups, lr=config.learning_rate, betas=betas, eps=config.epsilon)
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=betas, eps=config.epsilon, weight_decay=0.0)


def learning_rate(config: OptimiserConfig, update: int, updates: int) -> float:
    """Steps (each with its own decay), then the cosine."""
    base, since = config.learning_rate, 0
    for start, rate in config.steps:
        if update >= start:
            base, since = rate, start
    base *= config.decay ** ((update - since) // config.decay_every)
    progress = min(1.0, update / updates)
    base *= config.final_share + (1 - config.final_share) * (1 + math.cos(math.pi * progress)) / 2
    return base * (min(1.0, (update + 1) / WARM_START) if config.kind == "adamw" else 1.0)


def set_learning_rate(optimiser: torch.optim.Optimizer, config: OptimiserConfig, update: int, updates: int) -> float:
    rate = learning_rate(config, update, updates)
    for group in optimiser.param_groups:
        factor = config.initial_factor if group["role"] == "initial" and update < config.initial_until else 1.0
        group["lr"] = rate * factor
    if any(update == start for start, _ in config.steps):
        # Each run of the paper's chain began with a fresh optimiser.
        optimiser.state.clear()
    return rate


def clip_gradients(parameters: Iterable[nn.Parameter], limit: float) -> float:
    """Scale gradients to the norm `limit` (0: leave them); returns the norm they had."""
    return float(nn.utils.clip_grad_norm_(list(parameters), limit if limit > 0 else math.inf))


def named_state(model: LociLooped, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's tensors under the names of the parameters: what a checkpoint keeps."""
    return {
        f"{name}|{key}": value
        for name, parameter in model.named_parameters() if parameter in optimiser.state
        for key, value in optimiser.state[parameter].items()
    }


def restore_state(model: LociLooped, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    optimiser.state.clear()
    for label, value in tensors.items():
        name, key = label.rsplit("|", 1)
        optimiser.state[parameters[name]][key] = value.clone()
