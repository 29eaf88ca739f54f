"""The transition: no slot is special, unheard ones have no say, and what is imagined keeps its look."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from parts import codes, lively_weights, permuted
from torch import nn

from loci_looped.configs.network import LociConfig, TransitionConfig
from loci_looped.model import LociLooped
from loci_looped.model.state import Memory
from loci_looped.model.transition import Transition

Make = Callable[..., LociConfig]
Distance = Callable[[Any, Any], float]


@pytest.fixture(params=["standard", "shared"])
def transition(request: pytest.FixtureRequest, tiny: Make) -> Transition:
    torch.manual_seed(0)
    kind = "shared" if request.param == "shared" else "standard"
    module = Transition(tiny(transition=TransitionConfig(kind=kind))).double().eval()
    lively_weights(module)
    return module


def remembered(transition: Transition, batch: int = 2) -> Memory:
    empty = transition.initial_memory(torch.zeros(1).double(), batch)
    return dataclasses.replace(empty, hidden=tuple(torch.randn_like(hidden) for hidden in empty.hidden))


@torch.no_grad()
def test_transition_slots_can_be_permuted(transition: Transition, distance: Distance) -> None:
    torch.manual_seed(1)
    memory, order = remembered(transition), [2, 0, 1]
    percept, closed = codes(transition.config), torch.rand(2, 3, 2).double()
    attention_mask = torch.tensor([[True, True, False], [True, False, True]])
    moved = torch.zeros(2, 3, 2).double()
    ours, kept = transition(percept, closed, moved, memory, attention_mask, None)
    theirs, kept_too = transition(
        permuted(percept, order), permuted(closed, order), moved, permuted(memory, order),
        permuted(attention_mask, order), None,
    )
    assert distance(permuted(ours, order), theirs) < 1e-12
    assert distance(permuted(kept, order), kept_too) < 1e-12


@torch.no_grad()
def test_what_is_imagined_keeps_its_look_size_and_order(tiny: Make) -> None:
    """However wild the weights: bits do not flip, and places, sizes and priorities stay within their limits."""
    torch.manual_seed(0)
    limit = 0.01
    config = tiny(transition=TransitionConfig(displacement=True, inertia=1.0, deviation=limit, persistence=6.0))
    transition = Transition(config).double().eval()
    lively_weights(transition)
    before = codes(config)
    before = dataclasses.replace(before, gestalt=(before.gestalt > 0.5).double())
    assert before.gestalt.any() and not before.gestalt.all()
    now, memory = before, transition.initial_memory(before.position, 2)
    still, shut = torch.zeros_like(before.position), torch.ones_like(before.position)
    for _ in range(20):
        now, memory = transition(now, shut, still, memory, None, None)
    assert torch.equal(now.gestalt > 0.5, before.gestalt > 0.5)
    assert ((now.gestalt - before.gestalt).abs() < 0.05).all()
    assert 0 < (now.position - before.position).abs().max() < 20 * limit + 1e-9
    assert 0 < (now.size - before.size).abs().max() < 2 * limit + 1e-9
    assert 0 < (now.priority - before.priority).abs().max() < 2 * limit + 1e-9


@torch.no_grad()
def test_unheard_slots_have_no_say(transition: Transition, distance: Distance) -> None:
    torch.manual_seed(1)
    memory, percept, closed = remembered(transition), codes(transition.config), torch.rand(2, 3, 2).double()
    attention_mask = torch.tensor([[True, False, True]] * 2)
    still = torch.zeros(2, 3, 2).double()
    ours, _ = transition(percept, closed, still, memory, attention_mask, None)
    shouting = dataclasses.replace(percept, gestalt=percept.gestalt.index_fill(1, torch.tensor(1), 9.0))
    theirs, _ = transition(shouting, closed, still, memory, attention_mask, None)
    used = [0, 2]
    assert distance(permuted(ours, used), permuted(theirs, used)) == 0
    everyone, _ = transition(shouting, closed, still, memory, None, None)
    assert distance(permuted(ours, used), permuted(everyone, used)) > 1e-6


@torch.no_grad()
@pytest.mark.parametrize("name", ["adept", "clevrer", "balls"])
def test_the_transition_starts_as_an_identity(name: str) -> None:
    torch.manual_seed(0)
    model = LociLooped(name).double().eval()
    percept = codes(model.config)
    nowhere = torch.zeros(2, model.config.slots, 2).double()
    out, memory = model.transition(
        percept, nowhere, nowhere, model.transition.initial_memory(percept.size, 2), None, None
    )
    torch.testing.assert_close(out.position, percept.position, atol=1e-9, rtol=0)
    torch.testing.assert_close(out.priority, percept.priority, atol=1e-9, rtol=0)
    assert out.size.abs().max() < 1e-12
    assert any(bool(hidden.any()) for hidden in memory.hidden)


@torch.no_grad()
def test_the_released_shared_transition_runs_all_attention_layers_every_round(tiny: Make) -> None:
    for official, calls in ((True, 9), (False, 3)):
        config = tiny(transition=TransitionConfig(kind="shared", layers=3), official=official)
        transition, seen = Transition(config).double().eval(), []
        for layer in transition.attention:
            layer.register_forward_hook(lambda *_, seen=seen: seen.append(1))
        transition(
            codes(config), torch.zeros(2, 3, 2).double(), torch.zeros(2, 3, 2).double(),
            transition.initial_memory(torch.zeros(1).double(), 2), None, None,
        )
        assert len(seen) == calls


def test_attention_agrees_with_pytorch(tiny: Make) -> None:
    """Weights and order of heads are those of nn.MultiheadAttention, which the released network uses."""
    transition = Transition(tiny()).double()
    ours = transition.attention[0]
    width = ours.project_out.in_features
    theirs = nn.MultiheadAttention(width, ours.heads, batch_first=True).double()
    with torch.no_grad():
        ours.gain.fill_(1.0)
        theirs.in_proj_weight.copy_(ours.project_in.weight)
        theirs.in_proj_bias.copy_(ours.project_in.bias)
        theirs.out_proj.load_state_dict(ours.project_out.state_dict())
        x = torch.randn(2, 3, width).double()
        torch.testing.assert_close(ours(x, None), x + theirs(x, x, x)[0])
