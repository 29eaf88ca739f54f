"""The network behind the protocol: it warms up once, and its gate is used as asked."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

from loci_looped.baselines.protocol import VideoModel
from loci_looped.configs.presets import preset
from loci_looped.inference.video_model import LociVideoModel
from loci_looped.model import GateKind, LociLooped, LociState, Regime
from loci_looped.utils.errors import LociError


@pytest.fixture(scope="module")
def network() -> LociLooped:
    torch.manual_seed(0)
    return LociLooped(dataclasses.replace(preset("adept-small"), slots=3, gestalt=8, latent=(4, 6))).eval()


@pytest.fixture(scope="module")
def film() -> Tensor:
    """(T, B, 3, H, W)"""
    return torch.rand(4, 2, 3, 16, 24, generator=torch.Generator().manual_seed(1))


def begun(model: LociVideoModel) -> LociState:
    return model.initial(torch.full((2, 3, 16, 24), 0.5))


@torch.no_grad()
def test_it_speaks_the_protocol_and_says_what_the_network_says(network: LociLooped, film: Tensor) -> None:
    model = LociVideoModel(network)
    assert isinstance(model, VideoModel)
    state = begun(model)
    plain = network.warm_up(film[0], begun(model))
    for frame in film:
        state, slots = model.step(frame, state)
        plain, output = network.step(frame, plain)
        assert torch.equal(slots.positions, output.percept.position) and torch.equal(slots.presence, output.bound)
        assert slots.expectation is not None and torch.equal(slots.expectation.frame, output.next_frame.frame)
        assert slots.gate is not None and torch.equal(slots.gate, output.gate)
    assert int(state.age[0]) == 10 + len(film)                      # ten steps on the first frame, once


@pytest.mark.parametrize("gate", ["open", "visibility"])
@torch.no_grad()
def test_the_gate_is_used_as_asked(network: LociLooped, film: Tensor, gate: GateKind) -> None:
    model = LociVideoModel(network, gate)
    state = begun(model)
    regime = Regime(gate=gate)
    plain = network.warm_up(film[0], begun(model), regime=regime)
    for frame in film:
        state, slots = model.step(frame, state)
        plain, output = network.step(frame, plain, regime=regime)
        assert slots.gate is not None and torch.equal(slots.gate, output.gate)


@torch.no_grad()
def test_a_closed_gate_sees_the_first_frame_and_dreams_from_then_on(network: LociLooped, film: Tensor) -> None:
    model = LociVideoModel(network, "closed")
    state, first = model.step(film[0], begun(model))
    _, one = model.step(film[1], state)
    _, other = model.step(film[2], state)
    assert one.gate is not None and float(one.gate.max()) == 0
    assert torch.equal(one.positions, other.positions)              # whatever it is shown
    assert first.gate is not None and float(first.gate.max()) > 0


@torch.no_grad()
def test_a_blackout_is_a_black_frame_without_an_error_map(network: LociLooped, film: Tensor) -> None:
    model = LociVideoModel(network)
    state, _ = model.step(film[0], begun(model))
    dark = torch.tensor([True, False])
    _, blacked = model.step(film[1], state, blackout=dark)
    _, whatever = model.step(torch.rand_like(film[1]).where(dark.view(-1, 1, 1, 1), film[1]), state, blackout=dark)
    assert torch.equal(blacked.positions, whatever.positions)
    _, imagined = model.step(None, state)
    assert imagined.gate is not None and float(imagined.gate.max()) == 0


def test_random_places_need_a_generator(network: LociLooped) -> None:
    with pytest.raises(LociError, match="give it a generator"):
        LociVideoModel(network, placement="stochastic")
