"""When a slot lets go of its object: gone, missing or double; never because it is hidden."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from loci_looped.configs.presets import preset
from loci_looped.model import LociLooped
from loci_looped.model.extensions.innovation import innovation
from loci_looped.model.extensions.letting_go import BORDER_COUNTS, GONE_COUNTS, doubts, is_double
from loci_looped.model.occlusion import explained_share
from loci_looped.model.state import Decoded, Sight, SlotCodes


def picture(masks: Tensor) -> Decoded:
    background = torch.zeros_like(masks[:, :1])
    return Decoded(
        torch.zeros(masks.shape[0], 3, *masks.shape[2:]), torch.cat([masks, background], 1), masks,
        masks.unsqueeze(2).expand(-1, -1, 3, -1, -1),
    )


def codes(places: Tensor) -> SlotCodes:
    alone = torch.zeros(places.shape[:2])
    return SlotCodes(torch.zeros(*places.shape[:2], 4), places, alone, alone)


def scene(*corners: int) -> Decoded:
    """One slot per corner, each a square of 4 pixels that begins there."""
    masks = torch.zeros(1, len(corners), 12, 12)
    for slot, corner in enumerate(corners):
        masks[0, slot, corner : corner + 4, corner : corner + 4] = 1
    return picture(masks)


YES, NO = torch.tensor([[True]]), torch.tensor([[False]])
HERE, OUTSIDE = codes(torch.zeros(1, 1, 2)), codes(torch.tensor([[[0.0, 1.2]]]))
TWO = torch.tensor([[2.0]])


def test_what_is_seen_is_not_doubted() -> None:
    assert float(doubts(TWO, HERE, scene(3), YES, YES, YES)) == 0


def test_what_should_be_seen_and_is_not_is_doubted_more_and_more() -> None:
    assert float(doubts(TWO, HERE, scene(3), YES, NO, YES)) == 3


def test_what_is_expected_to_be_hidden_is_neither_doubted_nor_confirmed() -> None:
    assert float(doubts(TWO, HERE, scene(3), NO, NO, YES)) == 2


def test_what_is_expected_outside_of_the_picture_is_soon_given_up() -> None:
    assert float(doubts(TWO, OUTSIDE, scene(3), NO, NO, YES)) == 2 + GONE_COUNTS


def test_what_is_not_where_it_should_be_at_the_border_has_left() -> None:
    at_the_border, width = codes(torch.tensor([[[0.0, 0.95]]])), 0.1
    assert float(doubts(TWO, at_the_border, scene(3), YES, NO, YES, width)) == 2 + BORDER_COUNTS
    assert BORDER_COUNTS < GONE_COUNTS
    assert float(doubts(TWO, at_the_border, scene(3), YES, NO, YES)) == 3                       # no border: missing
    assert float(doubts(TWO, at_the_border, scene(3), YES, YES, YES, width)) == 0               # it can be seen
    assert float(doubts(TWO, at_the_border, scene(3), NO, NO, YES, width)) == 2                 # something hides it
    assert float(doubts(TWO, at_the_border, scene(12), NO, NO, YES, width)) == 2 + BORDER_COUNTS    # nothing is left


def test_who_holds_nothing_has_nothing_to_doubt() -> None:
    assert float(doubts(TWO, OUTSIDE, scene(3), YES, NO, NO)) == 0


def test_a_hidden_slot_on_a_visible_slots_object_is_double() -> None:
    bound = torch.tensor([[True, True, True]])
    visible = torch.tensor([[True, False, False]])
    assert is_double(scene(3, 3, 8), visible, bound).tolist() == [[False, True, False]]
    assert not is_double(scene(3, 3, 8), visible, torch.tensor([[False, True, True]])).any()
    assert not is_double(scene(3, 6, 8), visible, bound).any()      # they only touch


def test_with_patience_a_slot_lets_go_without_it_keeps_its_object() -> None:
    """A network is talked into an object that is not there; nothing of it can be seen."""
    for patience, held in ((0, True), (3, False)):
        config = preset("adept-small")
        config = dataclasses.replace(config, extensions=dataclasses.replace(config.extensions, patience=patience))
        torch.manual_seed(0)
        model = LociLooped(config).eval()
        empty = torch.full((1, 3, *config.frame), 0.5)
        state = model.warm_up(empty, model.initial(empty), steps=1)
        state, _ = model.step(empty, state)
        slot = torch.zeros_like(state.registry.bound)
        slot[0, 0] = True
        outside = torch.where(slot.unsqueeze(-1), 1.5, state.predicted.position)
        for _ in range(5):
            registry = dataclasses.replace(
                state.registry, assigned=state.registry.assigned | (slot & (state.age < 3)),
                bound=state.registry.bound | (slot & (state.registry.assigned | (state.age < 3))),
            )
            state = dataclasses.replace(
                state, registry=registry, predicted=dataclasses.replace(state.predicted, position=outside)
            )
            with torch.no_grad():
                state, output = model.step(empty, state)
        assert bool(output.bound[0, 0]) is held
        assert bool(output.assigned[0, 0]) is held


def test_innovation_is_what_the_gate_let_in_of_the_unexpected() -> None:
    sensed, expected = codes(torch.tensor([[[0.1, 0.3], [0.1, 0.3]]])), codes(torch.zeros(1, 2, 2))
    alpha = torch.tensor([[[1.0, 0.5], [1.0, 0.5]]])
    sight = Sight(sensed, expected, torch.zeros(1, 2), torch.tensor([[True, False]]), None)
    told = innovation(sight, alpha, 10.0)
    assert torch.allclose(told, torch.tensor([[[0.5, 1.5], [0.0, 0.0]]]))


def test_a_painted_phantom_explains_nothing() -> None:
    background = torch.full((1, 3, 12, 12), 0.5)
    frame = background.clone()
    frame[..., :6] = 0.9                                # something stands in the left half
    masks = torch.zeros(1, 3, 12, 12)
    masks[0, 0, 2:4, 2:4] = masks[0, 1, 2:4, 8:10] = 1.0
    masks[0, 2, 2:4, 4:8] = 1.0
    assert torch.allclose(explained_share(masks, frame, background), torch.tensor([[1.0, 0.0, 0.5]]))
