"""Relations between slots: silent at first, about pairs alone, whoever takes part."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from loci_looped.configs.extensions import Extensions
from loci_looped.configs.presets import preset
from loci_looped.model import LociLooped
from loci_looped.model.extensions.relation import Relation
from loci_looped.model.state import SlotCodes
from loci_looped.model.transition import NoAttention

_PRESET = preset("balls-small")
BALLS = dataclasses.replace(_PRESET, extensions=dataclasses.replace(_PRESET.extensions, relation=64))
ALONE = dataclasses.replace(BALLS, extensions=dataclasses.replace(BALLS.extensions, relation=0))


def awake(seed: int = 0) -> Relation:
    """A relation that has something to say."""
    torch.manual_seed(seed)
    relation = Relation(6, 8, 5)
    torch.nn.init.normal_(relation.told.weight)
    return relation


def some_slots(slots: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(1)
    return torch.randn(2, slots, 6, generator=draw), torch.rand(2, slots, 2, generator=draw) - 0.5


def test_a_network_begins_as_it_does_without_relations() -> None:
    torch.manual_seed(3)
    with_relations = LociLooped(BALLS).state_dict()
    torch.manual_seed(3)
    without = LociLooped(ALONE).state_dict()
    assert set(with_relations) - set(without) == {n for n in with_relations if n.startswith("transition.relation.")}
    assert all(torch.equal(with_relations[name], value) for name, value in without.items())


def test_relations_begin_silent_but_can_be_learnt() -> None:
    slots, places = some_slots()
    relation = Relation(6, 8, 5)
    told = relation(slots, places, None)
    assert torch.equal(told, torch.zeros(2, 3, 5))
    told.sum().backward()
    assert relation.told.weight.grad is not None and relation.told.weight.grad.abs().sum() > 0


def test_only_differences_of_places_matter() -> None:
    slots, places = some_slots()
    relation = awake()
    assert torch.allclose(relation(slots, places, None), relation(slots, places + 0.3, None), atol=1e-5)
    assert not torch.allclose(relation(slots, places, None), relation(slots, 1.5 * places, None), atol=1e-3)


def test_the_order_of_slots_does_not_matter() -> None:
    slots, places = some_slots()
    relation, order = awake(), torch.tensor([2, 0, 1])
    shuffled = relation(slots[:, order], places[:, order], None)
    assert torch.allclose(shuffled, relation(slots, places, None)[:, order], atol=1e-5)


def test_who_takes_no_part_is_not_heard_and_nobody_hears_himself() -> None:
    slots, places = some_slots()
    relation = awake()
    heard = torch.tensor([[True, True, False]] * 2)
    pair = relation(slots[:, :2], places[:, :2], None)
    assert torch.allclose(relation(slots, places, heard)[:, :2], pair, atol=1e-5)
    assert torch.equal(relation(slots[:, :1], places[:, :1], None), torch.zeros(2, 1, 5))


def test_without_attention_and_relations_slots_are_alone() -> None:
    model = LociLooped(ALONE).eval()
    assert all(isinstance(attend, NoAttention) for attend in model.transition.attention)
    draw = torch.Generator().manual_seed(0)
    codes = SlotCodes(
        torch.rand(1, 3, 16, generator=draw), torch.rand(1, 3, 2, generator=draw), torch.full((1, 3), 0.1),
        torch.zeros(1, 3),
    )
    moved = dataclasses.replace(codes, position=codes.position * torch.tensor([1.0, 1.0, -1.0]).view(1, 3, 1))
    memory = model.transition.initial_memory(codes.size, 1)
    answers = [model.imagine(dataclasses.replace(
        model.initial(torch.zeros(1, 3, 64, 64)), predicted=c, memory=memory), 1)[1].predicted for c in (codes, moved)]
    assert torch.equal(answers[0].position[:, :2], answers[1].position[:, :2])


def test_a_negative_width_is_refused() -> None:
    with pytest.raises(ValueError, match=r"extensions.relation is -1"):
        Extensions(relation=-1)
