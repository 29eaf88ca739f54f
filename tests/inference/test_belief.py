from __future__ import annotations

import torch

from loci_looped.inference.belief import Belief, believe, screen_slot, slot_on
from loci_looped.model.loci import LociLooped
from loci_looped.model.state import SlotCodes

SIZE = (40, 60)


def codes(slots: int = 5) -> SlotCodes:
    generator = torch.Generator().manual_seed(3)
    position = torch.rand(1, slots, 2, generator=generator) * 1.6 - 0.8
    return SlotCodes(torch.rand(1, slots, 32, generator=generator).round(), position, torch.full((1, slots), 0.1),
                     torch.rand(1, slots, generator=generator))


def two_discs() -> Belief:
    masks = torch.zeros(1, 2, 4, 4)
    masks[0, 0, :3, :3] = 1
    masks[0, 1, 1:, 1:] = 1
    colours = torch.zeros(1, 2, 3, 4, 4)
    colours[0, 0, 0], colours[0, 1, 1] = 1, 1
    return Belief(masks, colours, torch.tensor([[0.0, 1.0]]))


def test_the_nearer_object_hides_the_other_and_masks_add_up() -> None:
    belief = two_discs()
    visible = belief.visible_masks()
    assert torch.equal(visible[0, 1], belief.whole_masks[0, 1])
    assert visible[0, 0, 1:3, 1:3].sum() == 0 and visible[0, 0].sum() == 5
    assert visible.sum(1).max() <= 1


def test_taking_the_nearer_one_away_uncovers_the_other() -> None:
    belief, background = two_discs(), torch.full((1, 3, 4, 4), 0.25)
    whole = belief.picture(background)
    without = belief.picture(background, torch.tensor([[True, False]]))
    assert whole[0, :, 2, 2].tolist() == [0, 1, 0]
    assert without[0, :, 2, 2].tolist() == [1, 0, 0]
    assert without[0, :, 3, 3].tolist() == [0.25] * 3


def test_a_slot_painted_alone_does_not_depend_on_the_others() -> None:
    torch.manual_seed(0)
    model, background = LociLooped("adept-small").eval(), torch.full((1, 3, *SIZE), 0.5)
    everyone = believe(model, codes(), torch.ones(1, 5, dtype=torch.bool), background)
    only = torch.tensor([[False, False, True, False, False]])
    alone = believe(model, codes(), only, background)
    assert torch.allclose(everyone.whole_masks[:, 2], alone.whole_masks[:, 2], atol=1e-6)
    assert torch.allclose(everyone.whole_colours[:, 2], alone.whole_colours[:, 2], atol=1e-6)
    assert alone.whole_masks[0, [0, 1, 3, 4]].abs().max() == 0


def test_a_single_slot_looks_as_the_network_itself_paints_it() -> None:
    from loci_looped.model.active import Active
    from loci_looped.model.recruiter import without_unassigned

    torch.manual_seed(0)
    model, background = LociLooped("adept-small").eval(), torch.rand(1, 3, *SIZE)
    only = torch.tensor([[False, True, False, False, False]])
    with torch.no_grad():
        painted = model.decoder(without_unassigned(codes(), only), background, Active.of(only), None)
    picture = believe(model, codes(), only, background).picture(background)
    assert torch.allclose(picture, painted.frame, atol=1e-5)


def test_the_screen_is_the_largest_object_that_is_large_at_all() -> None:
    bound = torch.tensor([True, True, False])
    assert screen_slot(torch.tensor([50.0, 300.0, 900.0]), bound, 2400) == 1
    assert screen_slot(torch.tensor([50.0, 60.0, 900.0]), bound, 2400) is None


def test_a_true_mask_finds_the_slot_that_lies_on_it() -> None:
    masks = two_discs().whole_masks[0]
    truth = torch.zeros(4, 4, dtype=torch.bool)
    truth[1:, 1:] = True
    assert slot_on(truth, masks, torch.tensor([True, True])) == 1
    assert slot_on(truth, masks, torch.tensor([True, False])) == 0      # overlaps a little: 4 of 14 pixels
    assert slot_on(~truth & False, masks, torch.tensor([True, True])) is None
