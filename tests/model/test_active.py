"""Working on the slots in use only: folding is exact, and so is the network that uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from loci_looped.model.active import SIZES, Active

Distance = Callable[[Any, Any], float]


@given(st.integers(1, 12), st.integers(1, 4), st.data())
def test_fold_and_unfold(batch: int, slots: int, data: st.DataObject) -> None:
    used = data.draw(st.lists(st.booleans(), min_size=batch * slots, max_size=batch * slots))
    mask = torch.tensor(used).view(batch, slots)
    gathered, dense = Active.of(mask), Active(mask, None)
    x = torch.arange(1.0, 2 * batch * slots + 1).view(batch, slots, 2)
    count = gathered.fold(x).shape[0]
    assert max(1, sum(used)) <= count <= min(batch * slots, sum(used) + batch * slots / SIZES + 1)
    assert dense.fold(x).shape[0] == batch * slots
    expected = torch.where(mask.unsqueeze(-1), x, torch.full_like(x, -7.0))
    assert torch.equal(gathered.unfold(gathered.fold(x), fill=-7.0), expected)
    assert torch.equal(dense.unfold(dense.fold(x), fill=-7.0), expected)
    total = (x * mask.unsqueeze(-1)).sum(1)
    assert torch.equal(gathered.sum_slots(gathered.fold(x)), total)
    assert torch.equal(dense.sum_slots(dense.fold(x)), total)


@pytest.mark.parametrize("kind", ["standard", "shared"])
def test_gathering_active_slots_is_exact(
    lively: Callable[..., Any], distance: Distance, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Working on the slots in use only, and working on all of them and masking, are the same network."""
    scene = lively(kind, mode="train")
    folded: list[int] = []
    scene.model.decoder.trunk.register_forward_pre_hook(lambda module, inputs: folded.append(inputs[0].shape[0]))

    def run() -> tuple[Any, list[Tensor]]:
        scene.model.zero_grad()
        state = scene.model.initial(scene.background)
        loss: Tensor = torch.zeros(()).double()
        for t in range(5):
            state, out = (scene.model.settle if t < 2 else scene.model.step)(scene.video[:, t], state)
            loss = loss + out.next_frame.frame.square().mean() + out.predicted.position.square().mean()
            loss = loss + out.sensed.gestalt.mean() + out.present.object_masks.mean()
        loss.backward()
        return (state, out), [p.grad for p in scene.model.parameters() if p.grad is not None]

    gathered, gradients = run()
    assert min(folded) < 6 and not gathered[1].assigned.all(), "some slot must be unused, or nothing is gathered"
    monkeypatch.setattr(Active, "of", staticmethod(lambda assigned: Active(assigned, None)))
    dense, dense_gradients = run()
    assert distance(gathered, dense) < 1e-12
    assert distance(tuple(gradients), tuple(dense_gradients)) < 1e-11
