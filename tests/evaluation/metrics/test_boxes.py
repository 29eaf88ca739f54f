"""Boxes against scikit-image and against pixels counted one by one."""

from dataclasses import replace

import numpy as np
import pytest
from skimage.measure import regionprops

from loci_looped.data.clip import ObjectTruth
from loci_looped.evaluation.metrics.boxes import box_centres, box_overlaps, boxes, gap_to_screen


def random_masks(seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.random((4, 3, 9, 11)) < 0.03


@pytest.mark.parametrize("seed", range(5))
def test_boxes_equal_scikit_image(seed: int) -> None:
    masks = random_masks(seed)
    found, centres = boxes(masks), box_centres(masks)
    for index in np.ndindex(4, 3):
        regions = regionprops(masks[index].astype(int))
        if not regions:
            assert np.isnan(found[index]).all() and np.isnan(centres[index]).all()
            continue
        top, left, bottom, right = regions[0].bbox                 # scikit-image ends after the last pixel
        assert found[index].tolist() == [top, left, bottom - 1, right - 1]
        assert centres[index].tolist() == [(top + bottom - 1) / 2, (left + right - 1) / 2]


def test_overlaps_equal_counted_pixels() -> None:
    first, second = boxes(random_masks(1)), boxes(random_masks(2))
    overlaps = box_overlaps(first, second)
    assert overlaps.shape == (4, 3, 3)

    def filled(box: np.ndarray) -> np.ndarray:
        area = np.zeros((9, 11), bool)
        if not np.isnan(box).any():
            top, left, bottom, right = box.astype(int)
            area[top : bottom + 1, left : right + 1] = True
        return area

    for clip in range(4):
        for i in range(3):
            for j in range(3):
                a, b = filled(first[clip, i]), filled(second[clip, j])
                expected = (a & b).sum() / (a | b).sum() if a.any() and b.any() else 0
                assert overlaps[clip, i, j] == pytest.approx(expected)


def test_the_other_way_of_measuring_is_a_pixel_smaller() -> None:
    box = np.array([[0.0, 0.0, 9.0, 9.0]])
    half = np.array([[0.0, 0.0, 4.0, 9.0]])
    assert box_overlaps(box, half).item() == pytest.approx(50 / 100)
    assert box_overlaps(box, half, edge=0.0).item() == pytest.approx(36 / 81)


def test_the_gap_to_the_screen_is_measured_between_outlines() -> None:
    masks = np.zeros((1, 3, 30, 40), dtype=bool)
    masks[0, 0, 10:20, 20:30] = True                        # the screen
    masks[0, 1, 12:15, 4:8] = True                          # 13 pixels to the left of it
    masks[0, 2, 15:25, 28:35] = True                        # overlaps it
    truth = ObjectTruth(
        ("screen", "ball", "cube"), ("screen", "mover", "mover"), np.zeros((1, 3, 2), dtype=np.float32), masks, masks,
        np.ones((1, 3), dtype=np.float32),
    )
    assert np.allclose(gap_to_screen(truth), [[0, 13 / 50, 0]])
    alone = replace(truth, kinds=("mover", "mover", "mover"))
    assert np.isinf(gap_to_screen(alone)).all()
