"""The optimisers and the learning rate, against hand-written and published ones."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch

from loci_looped.configs.recipes import recipe
from loci_looped.configs.training import OptimiserConfig
from loci_looped.model import LociLooped
from loci_looped.training.optimiser import (
    RectifiedAdam,
    build_optimiser,
    clip_gradients,
    learning_rate,
    named_state,
    parameter_groups,
    restore_state,
    set_learning_rate,
)


def groups_of(model: LociLooped) -> list[dict[str, Any]]:
    return parameter_groups(model, initial=model.recruiting)


def _by_hand(start: float, gradients: list[float | None], lr: float) -> list[float]:
    """One number under the released rule (spec/training.md 1), written out; None is an update without a gradient."""
    value, m, v, t, path = start, 0.0, 0.0, 0, []
    for g in gradients:
        if g is not None or t > 0:
            t += 1
            g = 0.0 if g is None else g
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            rho = 1999 - 2 * t * 0.999**t / (1 - 0.999**t)
            if rho >= 5:
                factor = (1 - 0.999**t) * (rho - 4) / 1995 * (rho - 2) / rho * 1999 / 1997
                value -= lr * math.sqrt(factor) / (1 - 0.9**t) * m / (math.sqrt(v) + 1e-16)
        path.append(value)
    return path


def test_rectified_adam_is_the_released_rule() -> None:
    random = torch.Generator().manual_seed(3)
    gradients: list[float | None] = torch.randn(20, generator=random, dtype=torch.float64).tolist()
    gradients[0] = None             # not yet touched: does not count
    gradients[11] = gradients[12] = None    # moves on by momentum
    parameter = torch.nn.Parameter(torch.tensor([0.7], dtype=torch.float64))
    optimiser = RectifiedAdam([parameter], lr=0.01)
    path = []
    for g in gradients:
        parameter.grad = None if g is None else torch.tensor([g], dtype=torch.float64)
        optimiser.step()
        path.append(parameter.item())
    assert path == pytest.approx(_by_hand(0.7, gradients, 0.01), rel=1e-12)
    assert path[4] == 0.7 and path[6] != 0.7        # five steps (from the second on) without a move
    assert path[12] != path[11] != path[10]


def test_rectified_adam_moves_like_torch_radam_once_it_moves() -> None:
    """Torch's version takes plain steps at first; from the sixth on both move by the same amount."""
    random = torch.Generator().manual_seed(0)
    ours, theirs = (torch.nn.Parameter(torch.ones(4, 3, dtype=torch.float64)) for _ in range(2))
    mine = RectifiedAdam([ours], lr=1e-2, eps=1e-16)
    published = torch.optim.RAdam([theirs], lr=1e-2, eps=1e-16)
    for step in range(1, 21):
        before = ours.detach().clone(), theirs.detach().clone()
        ours.grad = theirs.grad = torch.randn(4, 3, generator=random, dtype=torch.float64)
        mine.step()
        published.step()
        moved, moved_there = ours.detach() - before[0], theirs.detach() - before[1]
        if step <= 5:
            assert moved.abs().max() == 0 < moved_there.abs().max()
        else:
            torch.testing.assert_close(moved, moved_there, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "update", "rate"), [
    ("adept", 0, 1e-4), ("adept", 399_999, 1e-4), ("adept", 400_000, 3.333e-5), ("adept", 1_149_999, 3.333e-5),
    ("clevrer", 199_999, 1e-4), ("clevrer", 200_000, 3.3333e-5), ("clevrer", 799_999, 3.3333e-5),
    ("balls", 99_999, 4e-4), ("balls", 100_000, 3e-4), ("balls", 399_999, 4e-4 * 0.75**3), ("balls", 400_000, 1e-4),
    ("balls", 500_000, 7.5e-5), ("balls", 800_000, 5e-5), ("balls", 1_199_999, 5e-5 * 0.75**3),
])
def test_the_papers_learning_rates(name: str, update: int, rate: float) -> None:
    config = recipe(name)
    assert learning_rate(config.optimiser, update, config.curriculum.updates) == pytest.approx(rate)


@pytest.mark.parametrize(("name", "until"), [("adept", 50_000), ("clevrer", 50_000), ("balls", 30_000)])
def test_initial_states_learn_thirty_times_faster_at_first(name: str, until: int) -> None:
    config = recipe(name)
    optimiser = build_optimiser(groups_of(LociLooped("balls")), config.optimiser)

    def of_initial_states(update: int) -> float:
        rate = set_learning_rate(optimiser, config.optimiser, update, config.curriculum.updates)
        initial, network = optimiser.param_groups
        assert network["lr"] == rate and len(initial["params"]) == 3
        return float(initial["lr"] / rate)

    assert of_initial_states(until - 1) == pytest.approx(30) and of_initial_states(until) == pytest.approx(1)


@pytest.mark.parametrize(("name", "fresh"), [
    ("adept", (400_000, 600_000, 800_000)), ("clevrer", (200_000, 600_000)), ("balls", (400_000, 800_000)),
])
def test_each_run_of_the_papers_chain_begins_with_a_fresh_optimiser(name: str, fresh: tuple[int, ...]) -> None:
    config = recipe(name)
    assert tuple(start for start, _ in config.optimiser.steps) == fresh
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = RectifiedAdam([{"params": [parameter], "role": "network"}], lr=1.0)
    parameter.grad = torch.ones(1)
    for update, remembers in ((fresh[0] - 1, True), (fresh[0], False), (fresh[0] + 1, True)):
        optimiser.step()
        set_learning_rate(optimiser, config.optimiser, update, config.curriculum.updates)
        assert (parameter in optimiser.state) == remembers


def test_the_cosine_may_begin_again_at_a_smaller_rate() -> None:
    once = OptimiserConfig(kind="adamw", learning_rate=1e-3, final_share=0.1, warm_start=0)
    twice = dataclasses.replace(once, again=((100, 0.5),))
    assert [learning_rate(twice, update, 160) for update in range(100)] == [
        learning_rate(once, update, 100) for update in range(100)
    ]
    assert learning_rate(twice, 100, 160) == pytest.approx(0.5e-3)
    assert learning_rate(twice, 130, 160) == pytest.approx((0.1 + 0.4 / 2) * 1e-3)
    assert learning_rate(twice, 160, 160) == pytest.approx(0.1e-3)
    assert learning_rate(twice, 40, 80) == learning_rate(once, 40, 80)      # a run that ends before has one cosine


def test_small_recipes_warm_up_and_end_with_the_final_share() -> None:
    config = OptimiserConfig(kind="adamw", learning_rate=1e-3, final_share=0.1)
    rates = [learning_rate(config, update, 10_000) for update in (0, 49, 99, 5_000, 9_999)]
    assert rates == pytest.approx([1e-5, 5e-4, 1e-3, 5.5e-4, 1e-4], rel=1e-3)


def test_gradients_are_clipped_to_the_limit_and_left_alone_without_one() -> None:
    first, second, unused = (torch.nn.Parameter(torch.zeros(size)) for size in (2, 1, 1))
    first.grad, second.grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0])
    assert clip_gradients([first, second, unused], 0.0) == 5.0
    assert first.grad.tolist() == [3.0, 0.0]
    assert clip_gradients([first, second, unused], 1.0) == 5.0
    assert first.grad.tolist() == pytest.approx([0.6, 0.0]) and second.grad.tolist() == pytest.approx([0.8])
    assert unused.grad is None


@pytest.mark.parametrize("kind", ["radam", "adamw"])
def test_a_restored_optimiser_takes_the_same_steps(kind: Any) -> None:
    """Through contiguous copies, as a checkpoint makes them, although convolutions are laid out channels last."""
    config = OptimiserConfig(kind=kind, epsilon=1e-8)
    random = torch.Generator().manual_seed(0)
    model, twin = LociLooped("balls"), LociLooped("balls")
    first, second = (build_optimiser(groups_of(network), config) for network in (model, twin))
    shapes = [p.shape for p in model.parameters()]
    gradients = [[torch.randn(shape, generator=random) for shape in shapes] for _ in range(8)]

    def step(network: LociLooped, optimiser: torch.optim.Optimizer, values: list[torch.Tensor]) -> None:
        for parameter, value in zip(network.parameters(), values, strict=True):
            parameter.grad = torch.empty_like(parameter).copy_(value)
        optimiser.step()

    for values in gradients[:6]:
        step(model, first, values)
    twin.load_state_dict(model.state_dict())
    restore_state(twin, second, {k: v.contiguous().clone() for k, v in named_state(model, first).items()})
    for values in gradients[6:]:
        step(model, first, values)
        step(twin, second, values)
    for (name, ours), theirs in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert torch.equal(ours, theirs), name
