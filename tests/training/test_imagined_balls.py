"""What the shipped network of the balls has learnt: to see them, and to imagine how they bounce."""

from __future__ import annotations

import numpy as np
import pytest

from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.evaluation.evaluated_model import open_model
from loci_looped.evaluation.experiments.ball_references import WITH_WALLS, imagined_by
from loci_looped.evaluation.experiments.imagination import ImaginedClip, watch_imagining
from loci_looped.evaluation.metrics import balls
from loci_looped.inference.networks import shipped_networks

pytestmark = pytest.mark.skipif("balls-small" not in shipped_networks(), reason="no network of the balls is shipped")


@pytest.fixture(scope="module")
def imagined() -> list[ImaginedClip]:
    """Eight validation films, ten frames seen, thirty imagined."""
    specs = [ClipSpec("balls-interaction-val", index, (64, 64)) for index in range(8)]
    clips = watch_imagining(open_model("balls-small"), "learned", "imagine", specs, steps=30)
    return [clip for clip in clips if isinstance(clip, ImaginedClip)]


def test_every_ball_is_seen_to_a_third_of_a_pixel(imagined: list[ImaginedClip]) -> None:
    off = [np.linalg.norm(clip.seen[5:, clip.slots] - clip.seen_truth[5:], axis=-1).mean() for clip in imagined]
    assert len(off) == 8 and 64 * np.mean(off) < 1 / 3


def test_collisions_are_imagined_better_than_by_walls_alone(imagined: list[ImaginedClip]) -> None:
    with_walls = imagined_by(WITH_WALLS, imagined, "interaction")
    ours, theirs = (np.mean([clip.distances()[:10].sum() for clip in clips]) for clips in (imagined, with_walls))
    assert ours < 0.6 * theirs


def test_imagined_balls_do_not_come_to_rest_or_leave_their_box(imagined: list[ImaginedClip]) -> None:
    kept = [balls.energy_kept(clip.positions[:, clip.slots], clip.truth) for clip in imagined]
    inside = [balls.share_in_box(clip.positions[:, clip.slots], 8 / 64, 1 / 64) for clip in imagined]
    assert 0.6 < np.mean(kept) < 1.5
    assert np.mean(inside) > 0.95
