"""Whole objects and places read off the logits, and SAVi behind the protocol of the experiments."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from savi_material import TINY, noise_clip

from loci_looped.baselines.protocol import VideoModel
from loci_looped.baselines.savi import Decoded, Reading, Savi, SaviVideoModel, object_masks, read_slots
from loci_looped.baselines.savi.reading import box_centres
from loci_looped.data.coordinates import to_pixels
from loci_looped.utils.errors import LociError


def painted(logits: torch.Tensor) -> Decoded:
    """(B, K, H, W): a frame of which only the masks matter."""
    batch, slots, *size = logits.shape
    return Decoded(torch.zeros(batch, slots, 3, *size), logits, logits.softmax(1), torch.zeros(batch, 3, *size))


def rectangles() -> torch.Tensor:
    """Slot 0 claims rows 2-4, columns 5-10 of 12 x 20; slot 1 all the rest; slot 2 nothing."""
    logits = torch.zeros(1, 3, 12, 20)
    logits[0, 1] = 10
    logits[0, :2, 2:5, 5:11] = torch.tensor([10.0, 0.0])[:, None, None]
    return logits


def test_object_masks_stand_out_from_the_mean_logit() -> None:
    logits = torch.tensor([3.0, 0.0, -3.0, 4.0]).view(1, 4, 1, 1)
    expected = torch.sigmoid(torch.tensor([2.0, -1.0, -4.0, 3.0])).view(1, 4, 1, 1)
    torch.testing.assert_close(object_masks(logits), expected)
    torch.testing.assert_close(object_masks(logits + 5), expected)      # a shift of all says nothing
    assert object_masks(torch.zeros(2, 3, 4, 5, 6)).shape == (2, 3, 4, 5, 6)


def test_places_are_the_middles_of_boxes_row_first() -> None:
    slots = read_slots(painted(rectangles()))
    pixels = to_pixels(slots.positions[0].double().numpy(), (12, 20))
    np.testing.assert_allclose(pixels[0], (3, 7.5), atol=1e-5)
    np.testing.assert_allclose(pixels[1], (5.5, 9.5), atol=1e-5)
    assert slots.presence.tolist() == [[True, True, False]]
    assert slots.occlusion is None and not slots.hidden.any()


def test_the_threshold_decides_who_holds_an_object() -> None:
    logits = torch.zeros(1, 2, 4, 4)
    logits[0, 0, 1, 2] = 5.0        # stands out by 2.5: 0.924
    masks = object_masks(logits)
    assert 0.9 < masks.max() < 0.95
    assert read_slots(painted(logits)).presence.tolist() == [[False, False]]
    assert read_slots(painted(logits), reading=Reading(threshold=0.9)).presence.tolist() == [[True, False]]


def test_a_slot_that_paints_the_background_can_be_left_out() -> None:
    slots = read_slots(painted(rectangles()), reading=Reading(largest_share=0.5))
    assert slots.presence.tolist() == [[True, False, False]]


def test_a_slot_without_an_object_is_still_somewhere() -> None:
    masks = torch.zeros(5, 7)
    masks[3, 1] = 0.4
    assert box_centres(masks, 0.95).tolist() == [3, 1]


def test_reading_refuses_nonsense() -> None:
    with pytest.raises(LociError, match=r"threshold must lie in \(0, 1\)"):
        Reading(threshold=1.5)


def test_savi_speaks_the_protocol() -> None:
    torch.manual_seed(0)
    model, frames = SaviVideoModel(Savi(TINY)), noise_clip(TINY)
    assert isinstance(model, VideoModel)
    state = model.initial(frames[:, 0])
    with torch.no_grad():
        for t in range(2):
            state, slots = model.step(frames[:, t], state)
    assert slots.positions.shape == (2, 3, 2) and slots.positions.abs().max() <= 1
    assert slots.expectation is not None and slots.expectation.object_masks is not None
    torch.testing.assert_close(slots.expectation.visible_masks_with_background.sum(1), torch.ones(2, *TINY.frame))
    assert not slots.expectation.visible_masks_with_background[:, -1].any()
    close = model.network.predict_next(state)
    torch.testing.assert_close(slots.expectation.frame, close.frame)


def test_in_a_blackout_the_frame_is_black() -> None:
    torch.manual_seed(0)
    model, frame = SaviVideoModel(Savi(TINY)), noise_clip(TINY)[:, 0]
    state = model.initial(frame)
    _, dark = model.step(frame, state, blackout=torch.tensor([True, False]))
    _, light = model.step(frame, state)
    _, black = model.step(torch.zeros_like(frame), state)
    torch.testing.assert_close(dark.visible_masks[0], black.visible_masks[0])
    torch.testing.assert_close(dark.visible_masks[1], light.visible_masks[1])
    with pytest.raises(LociError, match=r"blackout must be \(2,\) truth values, but it is \(1,\) of torch.bool"):
        model.step(frame, state, blackout=torch.tensor([True]))


def test_savi_says_that_it_cannot_imagine() -> None:
    model = SaviVideoModel(Savi(TINY))
    with pytest.raises(LociError, match="SAVi cannot imagine without a frame"):
        model.step(None, model.initial(torch.zeros(1, 3, 16, 24)))
