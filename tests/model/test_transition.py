"""The transition: no slot is special, and unheard ones have no say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from parts import codes, lively_weights, permuted
from torch import nn

from loci_looped.configs.network import LociConfig, TransitionConfig
from loci_looped.model import USE, LociLooped
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
    percept, alpha = codes(transition.config), torch.rand(2, 3, 2).double()
    attention_mask = torch.tensor([[True, True, False], [True, False, True]])
    ours, kept = transition(percept, alpha, None, memory, attention_mask, USE, None)
    theirs, kept_too = transition(
        permuted(percept, order), permuted(alpha, order), None, permuted(memory, order),
        permuted(attention_mask, order), USE, None,
    )
    assert distance(permuted(ours, order), theirs) < 1e-12
    assert distance(permuted(kept, order), kept_too) < 1e-12


@torch.no_grad()
def test_unheard_slots_have_no_say(transition: Transition, distance: Distance) -> None:
    torch.manual_seed(1)
    memory, percept, alpha = remembered(transition), codes(transition.config), torch.rand(2, 3, 2).double()
    attention_mask = torch.tensor([[True, False, True]] * 2)
    ours, _ = transition(percept, alpha, None, memory, attention_mask, USE, None)
    shouting = dataclasses.replace(percept, gestalt=percept.gestalt.index_fill(1, torch.tensor(1), 9.0))
    theirs, _ = transition(shouting, alpha, None, memory, attention_mask, USE, None)
    used = [0, 2]
    assert distance(permuted(ours, used), permuted(theirs, used)) == 0
    everyone, _ = transition(shouting, alpha, None, memory, None, USE, None)
    assert distance(permuted(ours, used), permuted(everyone, used)) > 1e-6


@torch.no_grad()
@pytest.mark.parametrize("name", ["adept", "clevrer", "balls"])
def test_the_transition_starts_as_an_identity(name: str) -> None:
    torch.manual_seed(0)
    model = LociLooped(name).double().eval()
    percept = codes(model.config)
    alpha = torch.ones(2, model.config.slots, 2).double()
    out, memory = model.transition(
        percept, alpha, None, model.transition.initial_memory(percept.size, 2), None, USE, None
    )
    torch.testing.assert_close(out.position, percept.position, atol=1e-9, rtol=0)
    torch.testing.assert_close(out.priority, percept.priority, atol=1e-9, rtol=0)
    assert out.size.abs().max() < 1e-12
    assert any(bool(hidden.any()) for hidden in memory.hidden)


@torch.no_grad()
def test_the_released_shared_transition_attends_in_every_round(tiny: Make) -> None:
    for official, calls in ((True, 9), (False, 3)):
        config = tiny(transition=TransitionConfig(kind="shared", layers=3), released=official)
        transition, seen = LociLooped(config).transition.double().eval(), []
        for layer in transition.attention:
            layer.register_forward_hook(lambda *_, seen=seen: seen.append(1))
        transition(
            codes(config), torch.ones(2, 3, 2).double(), None,
            transition.initial_memory(torch.zeros(1).double(), 2), None, USE, None,
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
