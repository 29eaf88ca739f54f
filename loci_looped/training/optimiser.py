"""Optimisers: the authors' rectified Adam, and AdamW; and the learning rate as a function of the number of updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from loci_looped.configs.training import OptimiserConfig

TRUSTED = 5
"""Rectified Adam moves nothing until so many gradients' worth of variance are known."""


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
            if group.get("held", False):
                continue
            beta1, beta2 = group["betas"]
            moving = [p for p in group["params"] if p.grad is not None or p in self.state]
            if not moving:
                continue
            gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in moving]
            states = [self._state_of(p) for p in moving]
            means, squares = [s["exp_avg"] for s in states], [s["exp_avg_sq"] for s in states]
            torch._foreach_add_([s["step"] for s in states], 1)
            torch._foreach_lerp_(means, gradients, 1 - beta1)
            torch._foreach_mul_(squares, beta2)
            torch._foreach_addcmul_(squares, gradients, gradients, 1 - beta2)
            rate_of = rectified_rate if group.get("rectified", True) else plain_rate
            rates = [rate_of(int(s["step"]), beta1, beta2) for s in states]
            sure = [i for i, rate in enumerate(rates) if rate > 0]
            if sure:
                spreads = torch._foreach_sqrt([squares[i] for i in sure])
                torch._foreach_add_(spreads, group["eps"])
                lengths = [-group["lr"] * rates[i] for i in sure]
                torch._foreach_addcdiv_([moving[i] for i in sure], [means[i] for i in sure], spreads, lengths)

    def _state_of(self, parameter: nn.Parameter) -> dict[str, Tensor]:
        state: dict[str, Tensor] = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        return state


def rectified_rate(step: int, beta1: float, beta2: float) -> float:
    """The factor on m / √v at a parameter's step (counted from 1), both biases corrected; 0 is "do not move yet"."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / (1 - beta2**step)
    if length < TRUSTED:
        return 0.0
    rectified = (length - 4) / (longest - 4) * (length - 2) / length * longest / (longest - 2)
    return math.sqrt((1 - beta2**step) * rectified) / (1 - beta1**step)


def plain_rate(step: int, beta1: float, beta2: float) -> float:
    """The same of Adam as it was: it moves from the first step on."""
    return math.sqrt(1 - beta2**step) / (1 - beta1**step)


def parameter_groups(model: nn.Module, initial: nn.Module | None = None) -> list[dict[str, Any]]:
    """The initial states, which may learn faster, if there are any; and everything else."""
    faster = [] if initial is None else list(initial.parameters())
    known = {id(parameter) for parameter in faster}
    rest = {"params": [p for p in model.parameters() if id(p) not in known], "role": "network"}
    return [{"params": faster, "role": "initial"}, rest] if faster else [rest]


def build_optimiser(groups: list[dict[str, Any]], config: OptimiserConfig) -> torch.optim.Optimizer:
    """`groups` have parameters ("params") and a "role"."""
    betas = (config.beta1, config.beta2)
    if config.kind == "radam":
        return RectifiedAdam(groups, lr=config.learning_rate, betas=betas, eps=config.epsilon)
    # Fused: one call instead of a thousand small ones, which count in a small network.
    return torch.optim.AdamW(
        groups, lr=config.learning_rate, betas=betas, eps=config.epsilon, weight_decay=0.0, fused=True
    )


def learning_rate(config: OptimiserConfig, update: int, updates: int) -> float:
    """Steps (each with its own decay), then the cosine, or the newest of them."""
    base, since = config.learning_rate, 0
    for start, rate in config.steps:
        if update >= start:
            base, since = rate, start
    base *= config.decay ** ((update - since) // config.decay_every)
    begin, share, end = 0, 1.0, updates
    for start, smaller in config.again:
        if update < start:
            end = min(start, updates)
            break
        begin, share = start, smaller
    progress = min(1.0, (update - begin) / max(1, end - begin))
    base *= config.final_share + (share - config.final_share) * (1 + math.cos(math.pi * progress)) / 2
    warming = min(1.0, (update + 1) / max(1, config.warm_start)) if config.kind == "adamw" else 1.0
    return base * warming


def set_learning_rate(optimiser: torch.optim.Optimizer, config: OptimiserConfig, update: int, updates: int) -> float:
    """Prepare the optimiser for this update; returns the network's learning rate."""
    rate = learning_rate(config, update, updates)
    for group in optimiser.param_groups:
        factor = config.initial_factor if group["role"] == "initial" and update < config.initial_until else 1.0
        group["lr"] = rate * factor * group.get("factor", 1.0)
    if any(update == start for start, _ in config.steps):
        # Each run of the paper's chain began with a fresh optimiser.
        optimiser.state.clear()
    return rate


def hold_still(optimiser: torch.optim.Optimizer, moves: frozenset[str] | None) -> None:
    """Only groups with these roles move in the next step; None is all."""
    if moves is None:
        return
    for group in optimiser.param_groups:
        group["held"] = group["role"] not in moves      # rectified Adam would go on by its momentum
        if group["held"]:
            for parameter in group["params"]:
                parameter.grad = None


def clip_gradients(parameters: Iterable[nn.Parameter], limit: float) -> float:
    """Scale gradients to the norm `limit` (0: leave them); returns the norm they had."""
    with_gradient = [p for p in parameters if p.grad is not None]
    norm = nn.utils.get_total_norm([p.grad for p in with_gradient if p.grad is not None], foreach=True)
    if limit > 0:
        nn.utils.clip_grads_with_norm_(with_gradient, limit, norm, foreach=True)
    return float(norm)


def named_state(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's tensors under the names of the parameters: what a checkpoint keeps."""
    return {
        f"{name}|{key}": value
        for name, parameter in model.named_parameters() if parameter in optimiser.state
        for key, value in optimiser.state[parameter].items()
    }


def restore_state(model: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The inverse of `named_state`. Moments get the memory layout of their parameter, which fused steps rely on."""
    parameters = dict(model.named_parameters())
    counts_there = bool(optimiser.defaults.get("fused"))        # fused steps count where the parameter is
    optimiser.state.clear()
    for label, value in tensors.items():
        name, key = label.rsplit("|", 1)
        parameter = parameters[name]
        if key == "step":
            optimiser.state[parameter][key] = value.to(parameter.device if counts_there else "cpu").clone()
        else:
            optimiser.state[parameter][key] = torch.empty_like(parameter, requires_grad=False).copy_(value)
