"""Phantoms: slots that believe in something that is not there.

False positives of MOTA count every slot beyond the first at an object, too. A phantom is at no object at all: it would
show a user something that does not exist.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import ObjectTruth
from loci_looped.data.coordinates import diagonal, inside
from loci_looped.evaluation.metrics.mota import CUT_OFF
from loci_looped.evaluation.metrics.tracking import Track

Bools = NDArray[np.bool_]

PROTOCOL = "phantoms/no-object-within-10-percent-of-diagonal"


def phantoms(track: Track, truth: ObjectTruth) -> Bools:
    """(T, K) the slot is present, its place is inside the image, and no object is there.

    A slot is at an object whose centre is within a tenth of the diagonal, or, if it claims to see it, on a pixel at
    which the object can be seen: the centre of a wide screen is far from its edge. A slot that believes its object
    hidden cannot be at a screen, which is what hides: behind it, only movers count.
    """
    size = truth.size
    in_picture = np.asarray(truth.object_masks.any(axis=(2, 3)))                            # (T, O)
    gaps = np.linalg.norm(track.positions[:, :, None] - truth.positions[:, None], axis=-1)   # (T, K, O)
    with np.errstate(invalid="ignore"):
        near = (gaps <= CUT_OFF * diagonal(size)) & in_picture[:, None]
    is_screen = np.array([kind == "screen" for kind in truth.kinds], dtype=bool)
    near = near & ~(track.hidden[..., None] & is_screen)
    present = track.present & inside(track.positions, size)
    on_pixels = _seen_at(track, truth) & ~track.hidden
    return np.asarray(present & ~near.any(axis=-1) & ~on_pixels)


def _seen_at(track: Track, truth: ObjectTruth) -> Bools:
    """(T, K) some object can be seen at the pixel of the slot's place."""
    height, width = truth.size
    places = np.nan_to_num(track.positions)
    rows = np.clip(np.rint(places[..., 0]), 0, height - 1).astype(int)
    columns = np.clip(np.rint(places[..., 1]), 0, width - 1).astype(int)
    seen = np.asarray(truth.visible_masks.any(axis=1))                                       # (T, H, W)
    return np.asarray(seen[np.arange(len(seen))[:, None], rows, columns])


def phantom_frames(clips: Sequence[Bools]) -> float:
    """The share of all frames of some clips, each (T, K), in which some slot is a phantom; NaN without a frame."""
    frames = sum(len(clip) for clip in clips)
    return sum(int(clip.any(axis=1).sum()) for clip in clips) / frames if frames else math.nan
