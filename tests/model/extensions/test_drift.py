"""Drift and pushes: nothing at first, kept exactly, and the same in all directions and at all places."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from loci_looped.configs.extensions import Extensions
from loci_looped.configs.presets import preset
from loci_looped.model import LociLooped, Regime
from loci_looped.model.extensions.drift import DriftMemory, DriftTransition
from loci_looped.model.extensions.pushes import Pushes
from loci_looped.model.state import Sight, SlotCodes

BALLS = preset("balls-small")
PLAIN = dataclasses.replace(BALLS, extensions=dataclasses.replace(BALLS.extensions, pushes=0))
REGIME = Regime()


def some_percept(batch: int = 2, slots: int = 3) -> SlotCodes:
    draw = torch.Generator().manual_seed(5)
    gestalt = (torch.rand(batch, slots, BALLS.gestalt, generator=draw) < 0.5).float()
    place = torch.rand(batch, slots, 2, generator=draw) - 0.5
    return SlotCodes(gestalt, place, torch.full((batch, slots), 0.1), torch.zeros(batch, slots))


def awake(width: int = 8) -> Pushes:
    """Pushes that have learnt something."""
    torch.manual_seed(2)
    pushes = Pushes(width)
    for part in (pushes.of_pair, pushes.of_surroundings):
        torch.nn.init.normal_(part.height.weight)
    return pushes


def turned(vectors: torch.Tensor, angle: float) -> torch.Tensor:
    c, s = math.cos(angle), math.sin(angle)
    return vectors @ torch.tensor([[c, s], [-s, c]])


def test_other_weights_begin_as_they_do_without_pushes() -> None:
    torch.manual_seed(3)
    pushing = LociLooped(BALLS).state_dict()
    torch.manual_seed(3)
    plain = LociLooped(PLAIN).state_dict()
    assert set(pushing) - set(plain) == {name for name in pushing if name.startswith("transition.pushes.")}
    assert all(torch.equal(pushing[name], value) for name, value in plain.items())


def test_a_drift_begins_as_nothing_and_can_be_learnt() -> None:
    torch.manual_seed(0)
    transition = LociLooped(BALLS).transition
    percept, memory = some_percept(), transition.initial_memory(torch.zeros(()), 2)
    codes, after = transition(percept, torch.zeros(2, 3, 2), None, memory, None, REGIME, None)
    assert isinstance(after, DriftMemory) and torch.equal(after.drift, torch.zeros(2, 3, 2))
    codes.position.square().sum().backward()
    assert isinstance(transition, DriftTransition) and transition.pushes is not None
    for learnt in (transition.added.weight, transition.pushes.of_pair.height.weight):
        assert learnt.grad is not None and learnt.grad.abs().sum() > 0


def test_a_drift_stays_as_it_is_and_moves_places() -> None:
    torch.manual_seed(0)
    transition = LociLooped(BALLS).transition
    percept, still = some_percept(), transition.initial_memory(torch.zeros(()), 2)
    drift = torch.tensor([0.05, -0.02]).expand(2, 3, 2)
    memory = dataclasses.replace(still, drift=drift)  # type: ignore[call-arg]
    for _ in range(30):
        codes, memory = transition(percept, torch.zeros(2, 3, 2), None, memory, None, REGIME, None)
    assert isinstance(memory, DriftMemory) and torch.equal(memory.drift, drift)
    stayed, _ = transition(percept, torch.zeros(2, 3, 2), None, still, None, REGIME, None)
    assert (codes.position - stayed.position - drift).abs().max() < 0.1       # besides, what is heard of it matters


def test_who_holds_nothing_has_no_drift() -> None:
    transition = LociLooped(BALLS).transition
    percept, still = some_percept(), transition.initial_memory(torch.zeros(()), 2)
    memory = dataclasses.replace(still, drift=torch.ones(2, 3, 2))  # type: ignore[call-arg]
    bound = torch.tensor([[True, False, True], [False, True, True]])
    sight = Sight(percept, percept, torch.zeros(2, 3), bound, None)
    _, after = transition(percept, torch.ones(2, 3, 2), sight, memory, None, REGIME, None)
    assert isinstance(after, DriftMemory)
    assert torch.equal(after.drift, bound.unsqueeze(-1).expand(-1, -1, 2).float())


def test_an_unheard_drift_fits_beside_other_weights() -> None:
    """Balls' network without pushes and relations; unheard, its drift changes no other weight and, as it begins, no
    expectation. What adds to it hears how large it is."""
    unheard = dataclasses.replace(PLAIN, extensions=dataclasses.replace(PLAIN.extensions, drift_heard=False))
    without = dataclasses.replace(PLAIN, extensions=dataclasses.replace(PLAIN.extensions, drift=0.0))
    torch.manual_seed(3)
    drifting = LociLooped(unheard)
    torch.manual_seed(3)
    still = LociLooped(without)
    added = {"transition.added.weight", "transition.added.bias"}
    assert set(drifting.state_dict()) - set(still.state_dict()) == added
    assert all(torch.equal(drifting.state_dict()[name], value) for name, value in still.state_dict().items())
    percept = some_percept()
    expected = [
        network.transition(
            percept, torch.zeros(2, 3, 2), None, network.transition.initial_memory(torch.zeros(()), 2), None, REGIME,
            None,
        )[0].position for network in (drifting, still)
    ]
    assert torch.equal(*expected)
    transition = drifting.transition
    assert isinstance(transition, DriftTransition)
    torch.nn.init.zeros_(transition.added.bias)
    with torch.no_grad():
        transition.added.weight[:, -2:] = -0.5 * torch.eye(2)      # half of it is taken back at each step
    memory = dataclasses.replace(  # type: ignore[call-arg]
        transition.initial_memory(torch.zeros(()), 2), drift=torch.full((2, 3, 2), 0.08)
    )
    _, after = transition(percept, torch.zeros(2, 3, 2), None, memory, None, REGIME, None)
    assert isinstance(after, DriftMemory)
    assert torch.allclose(after.drift, torch.full((2, 3, 2), 0.04))


@pytest.mark.parametrize("angle", [0.4, math.pi / 2, 2.5])
def test_pairs_push_alike_in_all_directions(angle: float) -> None:
    pushes = awake()
    torch.nn.init.zeros_(pushes.of_surroundings.height.weight)
    draw = torch.Generator().manual_seed(1)
    places, drift = torch.rand(4, 3, 2, generator=draw) - 0.5, 0.1 * torch.randn(4, 3, 2, generator=draw)
    straight = pushes(places, drift, None)
    around = pushes(turned(places, angle) + 0.3, turned(drift, angle), None)
    for here, there in zip(straight, around, strict=True):
        assert here.abs().max() > 1e-3
        assert torch.allclose(turned(here, angle), there, atol=1e-4)


def test_surroundings_push_along_rows_as_along_columns() -> None:
    pushes = awake()
    places, drift = torch.tensor([[[0.7, -0.2]]]), torch.tensor([[[0.1, 0.05]]])
    for here, there in zip(pushes(places, drift, None), pushes(places.flip(-1), drift.flip(-1), None), strict=True):
        assert torch.allclose(here.flip(-1), there, atol=1e-6)


def test_who_takes_no_part_pushes_nobody() -> None:
    pushes = awake()
    places, drift = torch.tensor([[[0.0, 0.0], [0.0, 0.4], [0.3, 0.0]]]), torch.zeros(1, 3, 2)
    heard = torch.tensor([[True, True, False]])
    without, _ = pushes(places[:, :2], drift[:, :2], None)
    assert torch.allclose(pushes(places, drift, heard)[0][:, :2], without, atol=1e-6)
    assert not torch.allclose(pushes(places, drift, None)[0][:, :2], without, atol=1e-3)


def test_two_things_at_one_place_have_finite_pushes() -> None:
    pushes = awake()
    places = torch.zeros(1, 2, 2, requires_grad=True)
    to_drift, to_place = pushes(places, torch.zeros(1, 2, 2), None)
    (to_drift.sum() + to_place.sum()).backward()
    assert places.grad is not None and torch.isfinite(places.grad).all()


def test_pushes_without_a_drift_are_refused() -> None:
    with pytest.raises(ValueError, match=r"set extensions\.drift"):
        Extensions(pushes=8)
