"""The decoder: who is in front, how slots make a picture, and how often it is asked to paint one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from parts import codes, lively_weights, permuted
from torch import Tensor, nn

from loci_looped.configs.network import LociConfig
from loci_looped.model import LociLooped
from loci_looped.model.active import Active
from loci_looped.model.decoder import Decoder, PriorityOrder

Make = Callable[..., LociConfig]
Distance = Callable[[Any, Any], float]


@pytest.fixture
def decoder(tiny: Make) -> Decoder:
    torch.manual_seed(0)
    decoder = Decoder(tiny()).double()
    lively_weights(decoder)
    return decoder


@torch.no_grad()
def test_who_is_in_front_by_hand() -> None:
    """Two slots on the same spot: the one of the larger key keeps its Gaussian, the other is pushed aside."""
    order = PriorityOrder().double()
    maps = torch.ones(1, 2, 1, 1).double()
    ours = order(maps, torch.tensor([[0.0, 0.0]]).double(), None)
    # Keys 0 and 25: slot 1 is in front by its index alone.
    assert ours.flatten()[0] < 1e-10 and ours.flatten()[1] == pytest.approx(1, abs=1e-10)
    ours = order(maps, torch.tensor([[2.0, 0.0]]).double(), None)
    assert ours.flatten()[0] == pytest.approx(1, abs=1e-10) and ours.flatten()[1] < 1e-10
    tie = order(maps, torch.tensor([[0.5, 0.0]]).double(), None)
    assert tie.flatten().tolist() == pytest.approx([0.5, 0.5])


@torch.no_grad()
def test_decoder_slots_can_be_permuted(decoder: Decoder, distance: Distance) -> None:
    """The index breaks ties on purpose; without it no slot is special."""
    decoder.order.index_factor.zero_()
    before, order = codes(decoder.config), [2, 0, 1]
    active = Active.of(torch.ones(2, 3, dtype=torch.bool))
    background = torch.rand(2, 3, *decoder.config.frame).double()
    ours, theirs = decoder(before, background, active, None), decoder(permuted(before, order), background, active, None)
    assert distance(ours.frame, theirs.frame) < 1e-12
    assert distance(permuted(ours.visible_masks, order), theirs.visible_masks) < 1e-12
    assert distance(permuted(ours.object_masks, order), theirs.object_masks) < 1e-12
    assert distance(permuted(ours.colours, order), theirs.colours) < 1e-12
    objects = decoder.objects(before, active)
    assert distance(permuted(objects, order), decoder.objects(permuted(before, order), active)) < 1e-12
    assert distance(ours.visible_masks[:, 0], ours.visible_masks[:, 1]) > 1e-3


class Constant(nn.Module):
    """Answers with these numbers, one row per slot, spread over the picture."""

    def __init__(self, rows: list[list[float]], shape: tuple[int, int]):
        super().__init__()
        self.rows = torch.tensor(rows).double()[..., None, None].expand(-1, -1, *shape)

    def forward(self, features: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        return self.rows[: features.shape[0]]


@torch.no_grad()
def test_composition_by_hand(decoder: Decoder) -> None:
    shape = decoder.config.frame
    decoder.mask = Constant([[1.0], [2.0], [5.0]], shape)           # type: ignore[assignment]
    decoder.object = Constant([[2.5] * 3] * 2 + [[9.0] * 3], shape)  # type: ignore[assignment]
    background = torch.full((1, 3, *shape), 0.25).double()
    two_of_three = Active.of(torch.tensor([[True, True, False]]))
    painted = decoder(codes(decoder.config, batch=1), background, two_of_three, None)
    # The third slot is not in use; the background's logit is 0.1 x 10.
    soft = torch.softmax(torch.tensor([1.0, 2.0, -1e9, 1.0]).double(), 0)
    torch.testing.assert_close(painted.visible_masks_with_background[0, :, 3, 4], soft)
    assert painted.frame[0, :, 3, 4].tolist() == pytest.approx([float(0.5 * soft[:3].sum() + 0.25 * soft[3])] * 3)
    assert painted.object_masks[0, :, 3, 4].tolist() == pytest.approx([0.5, torch.sigmoid(torch.tensor(1.0)).item(), 0])
    assert painted.colours[0, :2, :, 3, 4].flatten().tolist() == pytest.approx([0.5] * 6)


@torch.no_grad()
def test_an_unprioritised_pass_paints_no_masks(decoder: Decoder) -> None:
    calls: list[str] = []
    decoder.mask.register_forward_hook(lambda *_: calls.append("mask"))
    decoder.object.register_forward_hook(lambda *_: calls.append("object"))
    decoder.objects(codes(decoder.config), Active.of(torch.ones(2, 3, dtype=torch.bool)))
    assert calls == ["object"]


@torch.no_grad()
def test_how_often_a_step_decodes(tiny: Make) -> None:
    """Own objects, present, ahead; the first step also paints the fresh slots; a warm-up does not paint ahead."""
    torch.manual_seed(0)
    model = LociLooped(tiny()).eval()
    passes: list[int] = []
    model.decoder.trunk.register_forward_hook(lambda *_: passes.append(1))
    background, frame = torch.zeros(1, 3, *model.config.frame), torch.rand(1, 3, *model.config.frame)
    state, _ = model.settle(frame, model.initial(background))
    assert len(passes) == 3
    state, _ = model.settle(frame, state)
    assert len(passes) == 3 + 2
    state, _ = model.step(frame, state)
    assert len(passes) == 3 + 2 + 3
    state, _ = model.step(None, state)
    assert len(passes) == 3 + 2 + 3 + 1
    model.train()
    model.step(frame, state)
    assert len(passes) == 3 + 2 + 3 + 1 + 4
