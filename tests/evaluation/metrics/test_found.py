"""Objects found in label maps: hand-made pictures with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from loci_looped.evaluation.metrics.found import found_objects


def picture(*squares: tuple[int, int, int, int]) -> np.ndarray:
    """(1, 20, 20): (label, row, column, side)."""
    labels = np.zeros((1, 20, 20), dtype=np.int64)
    for label, row, column, side in squares:
        labels[0, row : row + side, column : column + side] = label
    return labels


TRUTH = picture((1, 1, 1, 5), (2, 10, 10, 6))


def test_each_object_with_its_own_slot_is_found_once() -> None:
    scores = found_objects(TRUTH, picture((3, 1, 2, 5), (1, 11, 10, 6)))
    assert (scores.found[0], scores.slots_per_object[0], scores.false_positives[0]) == (1, 1, 0)


def test_two_slots_on_one_object_are_two() -> None:
    scores = found_objects(TRUTH, picture((1, 10, 10, 3), (2, 13, 10, 3), (3, 10, 12, 5)))
    assert scores.found[0] == 0.5
    assert scores.slots_per_object[0] == 1                      # rims of nine pixels are not judged
    scores = found_objects(TRUTH, picture((1, 10, 10, 6), (2, 10, 10, 4)))
    assert scores.slots_per_object[0] == 2


def test_a_slot_on_the_empty_table_is_a_false_positive() -> None:
    scores = found_objects(TRUTH, picture((1, 1, 1, 5), (2, 15, 1, 4)))
    assert scores.false_positives[0] == 1 and scores.found[0] == 0.5


def test_nothing_there_and_nothing_shown() -> None:
    empty = picture()
    scores = found_objects(empty, empty)
    assert np.isnan(scores.found[0]) and np.isnan(scores.slots_per_object[0]) and scores.false_positives[0] == 0
    assert found_objects(TRUTH, empty).found[0] == 0
    assert found_objects(empty, picture((1, 0, 0, 5))).false_positives[0] == 1


def test_frames_are_counted_apart() -> None:
    both = np.concatenate([TRUTH, TRUTH])
    shown = np.concatenate([picture((1, 1, 1, 5)), picture((1, 1, 1, 5), (2, 10, 10, 6))])
    assert found_objects(both, shown).found.tolist() == pytest.approx([0.5, 1])
