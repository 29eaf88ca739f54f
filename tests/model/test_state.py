"""States: single streams can be reset, taken out and cut off, with everything they remember."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from loci_looped.configs.network import TransitionConfig
from loci_looped.model import LociLooped, LociState, SlotCodes

Make = Callable[..., Any]
Distance = Callable[[Any, Any], float]


def unroll(model: LociLooped, frames: Tensor, state: LociState) -> LociState:
    """Some training steps, each cut off from the one before, as e-prop does it."""
    for t in range(frames.shape[1]):
        state, _ = model.step(frames[:, t], state.detach())
    return state


def gradients(model: LociLooped, frame: Tensor, state: LociState, own: int) -> list[Tensor]:
    """Weight gradients of one more step, of the loss of one stream."""
    model.zero_grad()
    _, out = model.step(frame, state.detach())
    (out.predicted.position[own].square().sum() + out.predicted.gestalt[own].sum()).backward()
    return [p.grad.clone() for p in model.transition.parameters() if p.grad is not None]


@pytest.fixture(params=["standard", "shared"])
def scene(request: pytest.FixtureRequest, lively: Make) -> Any:
    kind = "shared" if request.param == "shared" else "standard"
    # No L0 pressure: it is there without any loss, so it would tell the number of streams.
    return lively(kind, mode="train", transition=TransitionConfig(kind=kind, l0_weight=0.0))


def test_one_stream_is_reset_with_its_history(scene: Any, distance: Distance) -> None:
    """where(): stream 1 starts anew while stream 0 goes on; both then learn as if they had been alone."""
    model, video = scene.model, scene.video
    long = unroll(model, video[:, :4], model.initial(scene.background))
    fresh = model.initial(scene.background)
    mixed = long.where(torch.tensor([True, False]), fresh)
    assert mixed.fresh
    assert distance(mixed.element(0), dataclasses.replace(long, fresh=True).element(0)) == 0
    assert len(mixed.memory.history[0]) == 4 == len(long.memory.history[0])

    mixed = unroll(model, video[:, 4:6], mixed)
    went_on = unroll(model, video[:1, 4:6], long.element(0))
    anew = unroll(model, video[1:, 4:6], model.initial(scene.background[1:]))
    for own, alone in ((0, went_on), (1, anew)):
        together = gradients(model, video[:, 6], mixed, own)
        apart = gradients(model, video[own : own + 1, 6], alone, 0)
        assert len(together) > 10
        assert distance(tuple(together), tuple(apart)) < 1e-11
    # The forgotten past would have taught something, or this test would prove nothing.
    remembered = unroll(model, video[:, 4:6], long)
    assert distance(tuple(gradients(model, video[:, 6], remembered, 1)), tuple(apart)) > 1e-6


def test_histories_of_different_lengths_meet_at_the_present(scene: Any, distance: Distance) -> None:
    model, video = scene.model, scene.video
    short = unroll(model, video[:, 2:4], model.initial(scene.background))
    long = unroll(model, video[:, :4], model.initial(scene.background))
    for first, second in ((short, long), (long, short)):
        mixed = first.where(torch.tensor([True, False]), second)
        assert [len(layer) for layer in mixed.memory.history] == [4, 4]
        for own, alone in ((0, first), (1, second)):
            together = gradients(model, video[:, 4], mixed, own)
            apart = gradients(model, video[own : own + 1, 4], alone.element(own), 0)
            assert distance(tuple(together), tuple(apart)) < 1e-11


def test_where_chooses_every_tensor(scene: Any, distance: Distance) -> None:
    model = scene.model
    with torch.no_grad():
        a = model.warm_up(scene.video[:, 0], model.initial(scene.background), 2)
        b = model.observe(scene.video[:, :3], model.initial(scene.background.flip(0)))[0]
    for choice in ([True, True], [False, True], [False, False]):
        mixed = a.where(torch.tensor(choice), b)
        for i, ours in enumerate(choice):
            assert distance(mixed.element(i), (a if ours else b).element(i)) == 0


def test_detach_cuts_everything(scene: Any, distance: Distance) -> None:
    state = unroll(scene.model, scene.video[:, :2], scene.model.initial(scene.background))
    assert state.predicted.position.requires_grad and state.next_frame.object_masks.requires_grad
    assert not state.next_frame.frame.requires_grad and not state.next_frame.visible_masks.requires_grad
    needs: list[bool] = []
    state.detach().map(lambda leaf: (needs.append(leaf.requires_grad), leaf)[1])
    assert needs and not any(needs)
    assert distance(state.detach(), state) == 0


def test_to_changes_only_fractions(scene: Any) -> None:
    state = unroll(scene.model, scene.video[:, :1], scene.model.initial(scene.background)).to(dtype=torch.float32)
    assert state.background.dtype == torch.float32 and state.memory.history[0][0].keep.dtype == torch.float32
    assert state.registry.assigned.dtype == torch.bool and state.age.dtype == torch.long


def test_codes_where() -> None:
    def filled(value: float) -> SlotCodes:
        shape = torch.full((1, 2), value)
        return SlotCodes(shape.unsqueeze(-1).expand(-1, -1, 3), shape.unsqueeze(-1).expand(-1, -1, 2), shape, shape)

    mixed = filled(1.0).where(torch.tensor([[True, False]]), filled(0.0))
    assert mixed.gestalt.tolist() == [[[1, 1, 1], [0, 0, 0]]] and mixed.position.tolist() == [[[1, 1], [0, 0]]]
    assert mixed.size.tolist() == [[1, 0]] and mixed.priority.tolist() == [[1, 0]]
