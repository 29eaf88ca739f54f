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
from loci_looped.data.presence import at_no_object
from loci_looped.evaluation.metrics.tracking import Track

Bools = NDArray[np.bool_]

PROTOCOL = "phantoms/no-object-within-10-percent-of-diagonal"


def phantoms(track: Track, truth: ObjectTruth) -> Bools:
    """(T, K) the slot is present, seen or believed hidden, and its place inside the image is at no object."""
    return np.asarray(track.present & at_no_object(track.positions, track.hidden, truth))


def phantom_frames(clips: Sequence[Bools]) -> float:
    """The share of all frames of some clips, each (T, K), in which some slot is a phantom; NaN without a frame."""
    frames = sum(len(clip) for clip in clips)
    return sum(int(clip.any(axis=1).sum()) for clip in clips) / frames if frames else math.nan
