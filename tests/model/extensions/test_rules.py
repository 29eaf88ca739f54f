"""Rules instead of learning: straight on, same look, shut when hidden, whatever the weights say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from parts import codes, lively_weights
from torch import Tensor

from loci_looped.configs.extensions import Extensions, Rules
from loci_looped.configs.network import GateConfig, LociConfig
from loci_looped.model import USE, LociLooped, Regime
from loci_looped.model.extensions.rules import RuleGate, RuleMemory
from loci_looped.model.state import Sight

Make = Callable[..., LociConfig]


@torch.no_grad()
def test_what_is_imagined_keeps_its_look_size_and_order(tiny: Make) -> None:
    """However wild the weights: bits do not flip, and places, sizes and priorities stay within their limits."""
    torch.manual_seed(0)
    limit = 0.01
    rules = Rules(displacement=True, inertia=1.0, deviation=limit, persistence=6.0)
    config = tiny(extensions=Extensions(rules=rules))
    transition = LociLooped(config).transition.double().eval()
    lively_weights(transition)
    before = codes(config)
    before = dataclasses.replace(before, gestalt=(before.gestalt > 0.5).double())
    assert before.gestalt.any() and not before.gestalt.all()
    now, memory = before, transition.initial_memory(before.position, 2)
    for _ in range(20):
        now, memory = transition(now, torch.zeros_like(before.position), None, memory, None, USE, None)
    assert torch.equal(now.gestalt > 0.5, before.gestalt > 0.5)
    assert ((now.gestalt - before.gestalt).abs() < 0.05).all()
    assert 0 < (now.position - before.position).abs().max() < 20 * limit + 1e-9
    assert 0 < (now.size - before.size).abs().max() < 2 * limit + 1e-9
    assert 0 < (now.priority - before.priority).abs().max() < 2 * limit + 1e-9


@torch.no_grad()
def test_with_inertia_an_imagined_slot_goes_straight_on(tiny: Make) -> None:
    model = LociLooped(tiny(extensions=Extensions(rules=Rules(displacement=True, inertia=1.0)))).eval()
    state = model.initial(torch.zeros(1, 3, *model.config.frame))
    everyone = torch.ones(1, 3, dtype=torch.bool)
    registry = dataclasses.replace(state.registry, assigned=everyone, bound=everyone)
    assert isinstance(state.memory, RuleMemory)
    memory = dataclasses.replace(state.memory, displacement=torch.tensor([[[0.02, -0.01]]]).expand(1, 3, 2))
    _, out = model.imagine(dataclasses.replace(state, memory=memory, registry=registry), 10)
    steps = torch.arange(10).view(10, 1)
    expected = steps * torch.tensor([0.02, -0.01]).view(1, 2)
    torch.testing.assert_close(out.percept.position[0, :, 0], expected, atol=1e-4, rtol=0)


@torch.no_grad()
def test_a_slot_is_lost_if_it_shows_nothing_where_nothing_hides_it(tiny: Make) -> None:
    model = LociLooped(tiny(extensions=Extensions(rules=Rules(open_when_lost=True))))
    assert isinstance(model.gate, RuleGate)
    height, width = model.config.frame
    state = model.initial(torch.zeros(1, 3, height, width))
    masks = torch.zeros(1, 4, height, width)
    masks[:, 2, :, width // 2 :] = 1            # the third slot fills the right half
    next_frame = dataclasses.replace(state.next_frame, visible_masks_with_background=masks)
    places = torch.tensor([[[0.0, -0.8], [0.0, 0.6], [0.0, 0.5]]])
    previous = dataclasses.replace(state.predicted, position=places, size=torch.full((1, 3), 0.1))
    lost = model.gate._lost(next_frame, previous)
    assert lost.tolist() == [[True, False, False]], "the second is hidden by the third"


def a_gate(rules: Rules, output_bias: float = 0.0) -> RuleGate:
    torch.manual_seed(0)
    gate = GateConfig(hidden_bias=0.0, output_bias=output_bias)
    return RuleGate(LociConfig(slots=5, gestalt=32, gate=gate, extensions=Extensions(rules=rules)))


def opening(gate: RuleGate, occlusion: float, regime: Regime = USE) -> Tensor:
    now, before, earlier = (codes(gate.config, 4, seed).to(dtype=torch.float32) for seed in range(3))
    hidden = torch.full((4, 5), occlusion)
    sight = Sight(now, before, hidden, torch.ones_like(hidden).bool(), None)
    return gate.learned(sight, torch.zeros(4, 5), earlier, regime)


def test_with_a_visibility_prior_what_is_hidden_starts_shut() -> None:
    gate = a_gate(Rules(visibility_prior=1.5), output_bias=0.5)
    assert opening(gate, 1.0).max() == 0 and opening(gate, 0.0).min() > 0.9


def test_the_prior_shuts_the_gate_from_the_given_occlusion_on() -> None:
    rules = Rules(visibility_prior=3.0, shuts_at=0.4, shuts_at_in_use=0.1)
    gate, learning = a_gate(rules), Regime(learning=True)
    assert opening(gate, 0.2, learning).min() > 0.5 and opening(gate, 0.6, learning).max() == 0
    assert opening(gate, 0.05).min() > 0.5 and opening(gate, 0.2).max() == 0
    same = a_gate(dataclasses.replace(rules, shuts_at_in_use=0.0))
    assert opening(same, 0.2).min() > 0.5 and opening(same, 0.6).max() == 0
