"""Each loss on a case small enough to work out by hand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from loci_looped.model import LociConfig, LociLooped, StepOutput, losses
from loci_looped.model.released.parts import released_position_change
from loci_looped.model.state import COLOUR_SHIFT, SlotCodes

Make = Callable[..., LociConfig]


@pytest.fixture
def output(tiny: Make) -> StepOutput:
    """A training step's output of one scene with three slots, to be overwritten by hand."""
    torch.manual_seed(0)
    model = LociLooped(tiny()).double().train()
    background = torch.rand(1, 3, *model.config.frame).double()
    state = model.warm_up(1 - background, model.initial(background), 1)
    return model.step(1 - background, state)[1]


def placed(position: list[list[float]], size: list[float]) -> SlotCodes:
    slots = len(size)
    return SlotCodes(
        torch.zeros(1, slots, 6).double(), torch.tensor([position]).double().requires_grad_(),
        torch.tensor([size]).double(), torch.zeros(1, slots).double(),
    )


def test_picture_loss_is_mean_cross_entropy() -> None:
    painted, target = torch.tensor([0.25, 0.5]).view(1, 1, 1, 2), torch.tensor([1.0, 0.0]).view(1, 1, 1, 2)
    assert losses.picture_loss(painted, target).item() == pytest.approx((math.log(4) + math.log(2)) / 2)
    a_hair_too_much = torch.full((1, 1, 1, 1), 1 + 1e-7)
    assert losses.picture_loss(a_hair_too_much, torch.ones(1, 1, 1, 1)).item() == 0


def test_with_a_margin_what_is_painted_wholly_wrong_can_be_taken_back() -> None:
    """Without one it costs 100, the limit of the logarithm."""
    target = torch.zeros(1, 3, 2, 2)
    for margin, cost in ((0.0, 100.0), (0.01, -math.log(0.01))):
        painted = torch.ones(1, 3, 2, 2, requires_grad=True)
        loss = losses.picture_loss(losses.kept_off(painted * 1.0, margin), target)
        assert loss.item() == pytest.approx(cost, rel=1e-4)
        if margin:
            (slope,) = torch.autograd.grad(loss, painted)
            assert float(slope.sum()) == pytest.approx(0.98 / 0.01, rel=1e-3)
    grey = torch.full((1, 3, 2, 2), 0.5)
    assert torch.equal(losses.kept_off(grey, 0.01), grey) and losses.kept_off(grey, 0.0) is grey


def test_foreground() -> None:
    background = torch.zeros(1, 3, 1, 3)
    frame = torch.tensor([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.1, 0.1, 0.0]]).T.view(1, 3, 1, 3)
    # root mean squares: 0, 0.115, 0.082; the threshold is 0.1
    assert losses.foreground(frame, background).flatten().tolist() == [0, 1, 0]


def test_balanced_picture_loss_weighs_foreground_and_background_alike() -> None:
    painted = torch.full((1, 3, 2, 2), 0.5).double()
    target = torch.ones_like(painted)
    front = torch.tensor([1.0, 0.0, 0.0, 0.0]).double().view(1, 1, 2, 2)
    # ln 2 everywhere: one foreground pixel of 1 + 1, three background pixels of 3 + 1
    expected = math.log(2) * (1 / 2 + 3 / 4)
    assert losses.balanced_picture_loss(painted, target, front).item() == pytest.approx(expected)


def test_objects_weigh_by_their_rarity_and_outlines_by_a_share_of_it() -> None:
    front = torch.zeros(1, 1, 40, 60)
    front[..., 5:8, 5:8] = 1                # 9 pixels alone
    front[..., 10:35, 30:55] = 1            # 625 pixels together
    weights = losses.objects_and_outlines(front)[0, 0]
    assert weights[6, 6] == pytest.approx(1 / (9 / 225 + 0.05), rel=1e-5), "its 15 x 15 neighbourhood holds 9 pixels"
    assert weights[22, 42] == pytest.approx(1 / 1.05, rel=1e-5)
    small, large = weights[3:10, 3:10].sum(), weights[8:37, 28:57].sum()
    assert 0.2 < small / large < 5, "without the weights it would be 1 to 70"
    assert weights[3, 3] == pytest.approx(losses.OUTLINE_WEIGHT * weights[5, 5].item())
    assert weights[2, 2] == 0 and weights[0, 59] == 0


def test_a_mask_that_grows_beyond_its_object_costs_more_with_outlines() -> None:
    front = torch.zeros(1, 1, 40, 60)
    front[..., 10:16, 10:16] = 1
    target = torch.where(front > 0, 0.9, 0.1).expand(1, 3, -1, -1)
    grown = target.clone()
    grown[..., 9:17, 9:17] = 0.9

    def cost(loss: Callable[[Tensor, Tensor, Tensor], Tensor], where: Tensor) -> float:
        return (loss(grown, target, where) - loss(target, target, where)).item()

    with_outlines = cost(losses.object_picture_loss, losses.objects_and_outlines(front))
    assert with_outlines > 5 * cost(losses.balanced_picture_loss, front) > 0


def test_position_change(output: StepOutput) -> None:
    before = placed([[0.0, 0.0], [0.5, 0.5], [0.0, 0.0]], [0.1, 0.1, 0.0])
    after = placed([[0.3, 0.0], [0.5, 0.5], [0.0, 0.6]], [0.1, 0.3, 0.0])
    out = dataclasses.replace(
        output, previous=before, predicted=after, visibility=torch.tensor([[1.0, 0.5, 0.0]]).double()
    )
    # per slot Σ Δ²: 0.09, 0.04, 0.36, over 9 numbers
    intended = losses.position_change(out)
    assert intended.item() == pytest.approx((1.0 * 0.09 + 0.5 * 0.04 + 0.0 * 0.36) / 9)
    released = released_position_change(out)
    assert released.item() == pytest.approx(0.5 * (0.09 + 0.04 + 0.36) / 9)
    intended.backward()
    assert before.position.grad is None, "the previous prediction is no place to learn from"
    assert after.position.grad is not None and after.position.grad[0, 0, 0] != 0 and not after.position.grad[0, 2].any()


def one_pixel(height: int, width: int, row: int, column: int) -> Tensor:
    """(1, 3, 3, H, W): logits so low that everything is black, but for one white pixel of the first slot."""
    logits = torch.full((1, 3, 3, height, width), -60.0).double()
    logits[0, 0, :, row, column] = 60.0
    return logits.requires_grad_()


def test_gestalt_change_follows_the_object(output: StepOutput) -> None:
    """The same pixel, moved together with the slot's place, is no change; left behind, it is."""
    height, width = output.error.shape[2:]
    # One pixel is 2 / N wide on the grid of pixel centres that the pictures are shifted by.
    step_down, step_right = 2 / height, 2 / width
    before = placed([[0.0, 0.0]] * 3, [0.0] * 3)
    after = placed([[2 * step_down, -3 * step_right], [0.0, 0.0], [0.0, 0.0]], [0.0] * 3)
    visibility = torch.tensor([[0.5, 1.0, 1.0]]).double()
    out = dataclasses.replace(
        output, previous=before, predicted=after, visibility=visibility,
        objects_before=one_pixel(height, width, 6, 9), objects_after=one_pixel(height, width, 8, 6),
    )
    assert losses.gestalt_change(out).item() == pytest.approx(0, abs=1e-12)
    stayed = dataclasses.replace(out, objects_after=one_pixel(height, width, 6, 9))
    loss = losses.gestalt_change(stayed)
    # Two pixels differ by one, in three colours, for a slot of weight 0.5, averaged over 3 slots, 3 colours, H x W.
    assert loss.item() == pytest.approx(0.5 * 2 * 3 / (3 * 3 * height * width))
    loss.backward()
    assert stayed.objects_before.grad is None
    assert stayed.objects_after is not None and stayed.objects_after.grad is not None


def test_a_change_of_look_has_the_gradient_it_should() -> None:
    torch.manual_seed(0)
    after, before = (torch.randn(3, 3, 6, 8, dtype=torch.float64) for _ in range(2))
    now, then = (torch.rand(3, 2, dtype=torch.float64) * 1.6 - 0.8 for _ in range(2))
    weight = torch.tensor([1.0, 0.0, 0.3], dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda logits: losses._ChangeOfLook.apply(logits, now, before, then, weight), after.requires_grad_()
    )
    looks = [losses.centred(torch.sigmoid(a - COLOUR_SHIFT), place) for a, place in ((before, then), (after, now))]
    expected = (weight.view(-1, 1, 1, 1) * (looks[0] - looks[1]).square()).sum()
    torch.testing.assert_close(losses._ChangeOfLook.apply(after, now, before, then, weight), expected)


def test_gestalt_change_needs_whole_objects(output: StepOutput) -> None:
    with pytest.raises(ValueError, match="leave out extensions"):
        losses.gestalt_change(dataclasses.replace(output, objects_after=None))


def test_a_training_step_brings_what_the_losses_need(output: StepOutput) -> None:
    values: dict[str, Tensor] = {
        "position": losses.position_change(output), "gestalt": losses.gestalt_change(output),
        "centring": losses.centring(output),
    }
    assert all(bool(torch.isfinite(value)) and value.ndim == 0 and value >= 0 for value in values.values())


def test_centring_pulls_places_to_the_middle_of_their_masks(output: StepOutput) -> None:
    height, width = output.error.shape[2:]
    masks = torch.zeros(1, 3, height, width).double()
    masks[0, 0, 2, 3] = 1.0
    y, x = 2 * 2 / (height - 1) - 1, 2 * 3 / (width - 1) - 1
    sensed = placed([[y + 0.1, x - 0.2], [0.3, 0.3], [0.0, 0.0]], [0.0] * 3)
    changes: dict[str, Any] = {
        "present": dataclasses.replace(output.present, object_masks=masks), "sensed": sensed,
        "bound": torch.tensor([[True, False, False]]), "occlusion": torch.tensor([[0.05, 0.0, 0.0]]).double(),
    }
    loss = losses.centring(dataclasses.replace(output, **changes))
    # 1e-3 in the weight keeps empty masks finite, and moves the middle by a thousandth towards 0
    middle = torch.tensor([y, x]).double() / 1.001
    off = (sensed.position[0, 0] - middle).square().sum()
    assert loss.item() == pytest.approx((off / 2).item())
    # A haze far away moves the middle, unless it is too faint to count.
    hazy = masks.clone()
    hazy[0, 0, :, -2] = 0.2
    in_haze = dataclasses.replace(output, **changes | {
        "present": dataclasses.replace(output.present, object_masks=hazy)})
    assert losses.centring(in_haze).item() > 2 * loss.item()
    assert losses.centring(in_haze, above=0.5).item() == pytest.approx(loss.item())
    # Of what is cut off by something, or by the border, only a part is seen, and its middle is elsewhere.
    half_hidden = changes | {"occlusion": torch.tensor([[0.5, 0.0, 0.0]]).double()}
    assert losses.centring(dataclasses.replace(output, **half_hidden)).item() == 0
    at_border = torch.zeros_like(masks)
    at_border[0, 0, 2, 0] = 1.0
    cut_off = changes | {"present": dataclasses.replace(output.present, object_masks=at_border)}
    assert losses.centring(dataclasses.replace(output, **cut_off)).item() == 0


def test_haze_counts_what_is_shown_where_nothing_is() -> None:
    front = torch.zeros(1, 1, 24, 24)
    front[..., 8:12, 8:12] = 1
    masks = torch.zeros(1, 2, 24, 24, requires_grad=True)
    on_object = masks + front
    assert losses.haze(on_object, front) == 0         # on its object a slot may show what it likes
    faint = losses.haze(masks + 0.1, front)
    assert torch.isclose(faint, torch.tensor(0.2), atol=1e-3)               # two slots, a tenth each
    faint.backward()
    assert masks.grad is not None and (masks.grad[..., 9, 9] == 0).all() and (masks.grad[..., 20, 20] > 0).all()
