"""The slot error is the paper's formula, the windows hold the paper's frames, the networks stay apart."""

import numpy as np
import pytest
import torch

from loci_looped.evaluation.metrics.surprise import (
    REAPPEARANCE,
    SCREEN_FALLS,
    compare,
    follow,
    mean_over_networks,
    peak,
    slot_error,
)
from loci_looped.utils.errors import LociError


def test_slot_error_is_the_formula_written_out() -> None:
    generator = torch.Generator().manual_seed(0)
    masks, prediction, target = (torch.rand(2, n, 5, 6, generator=generator).double() for n in (4, 3, 3))
    ours = slot_error(masks, prediction, target)
    for b in range(2):
        for k in range(4):
            above = below = 0.0
            for y in range(5):
                for x in range(6):
                    m = masks[b, k, y, x].item()
                    below += m
                    above += sum((m * (prediction[b, c, y, x] - target[b, c, y, x]).item()) ** 2 for c in range(3))
            assert ours[b, k].item() == pytest.approx(above / below)


def test_an_expected_object_that_is_missing_surprises_its_own_slot_only() -> None:
    target = torch.zeros(1, 3, 8, 8)
    prediction = target.clone()
    masks = torch.zeros(1, 3, 8, 8)
    masks[:, 0, 2:4, 2:4] = masks[:, 1, 6:, 6:] = 1                 # slot 2 expects nothing at all
    prediction[:, :, 2:4, 2:4] = 0.5
    assert slot_error(masks, prediction, target).tolist() == [[0.75, 0.0, 0.0]]
    bigger = [torch.nn.functional.pad(image, (0, 8, 0, 8)) for image in (masks, prediction, target)]
    assert torch.equal(slot_error(*bigger), slot_error(masks, prediction, target))     # the image's size plays no part


def test_windows_hold_the_papers_frames() -> None:
    frames = np.arange(80.0)[:, None]
    assert peak(frames, REAPPEARANCE).tolist() == [49] and peak(-frames, REAPPEARANCE).tolist() == [-31]
    assert peak(frames, SCREEN_FALLS).tolist() == [79] and peak(-frames, SCREEN_FALLS).tolist() == [-51]
    with pytest.raises(LociError, match="'screen falls' begins at frame 51, but the clip has 40 frames"):
        peak(frames[:40], SCREEN_FALLS)


def test_three_networks_are_not_three_films() -> None:
    names = [("surprise", scene, 0) for _ in range(3) for scene in range(4)]
    peaks = np.tile(np.arange(4.0), 3) + np.repeat([0, 3, 6], 4)
    assert mean_over_networks(peaks, names).tolist() == [3, 4, 5, 6]
    assert compare(mean_over_networks(peaks, names), np.zeros(5) + np.arange(5)).degrees == 7


def test_surprise_follows_the_reappearance_of_others() -> None:
    generator = np.random.default_rng(0)
    course = np.clip(np.arange(60) - 28, 0, 8) / 8                  # from hidden to in sight between frames 28 and 36
    vanished = course[:, None] * generator.uniform(0.5, 1.5, size=(1, 6)) + generator.normal(0, 0.01, (60, 6))
    seen_again = course[:, None] > generator.random((1, 30))
    result = follow(vanished, seen_again)
    assert result.degrees == 13 and result.r > 0.95
    with pytest.raises(LociError, match="no violation row in frames 25 to 39"):
        follow(vanished[:, :0], seen_again)


def test_bad_predictions_are_told_in_a_sentence() -> None:
    masks, image = torch.ones(1, 2, 4, 4), torch.zeros(1, 3, 4, 4)
    with pytest.raises(LociError, match="diverged"):
        slot_error(masks, image + float("nan"), image)
    with pytest.raises(LociError, match="of one size"):
        slot_error(masks[..., :3], image, image)
