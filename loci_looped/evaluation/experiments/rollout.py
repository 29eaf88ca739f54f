"""Roll-out in the dark: after some seen frames the eyes are shut. How far from the truth does imagination go?

Beside it, from the same percepts: the object stays where it was, or goes straight on through the last of them. Judged
are movers that were seen well when the eyes were shut and that move; one that stands is no test of imagination.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from loci_looped.baselines.protocol import Slots
from loci_looped.configs.scenes import FIRST_HELD_OUT_SEED
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import Size, diagonal, to_pixels
from loci_looped.data.store.clip_cache import cached_clip
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments.recording import in_batches
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.metrics.tracking import associate, of_object
from loci_looped.inference.run import Shown, run
from loci_looped.model import GateKind

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]

PROTOCOL = "rollout/12-seen-then-imagined"
SEEN = 12
LENGTHS = (5, 10, 20)
PAST = 6
"""The straight line goes through so many of the last percepts."""
WELL_SEEN = 0.3
"""True hidden share up to which a mover was seen well, during all of these last frames."""
MOVES = 0.005
"""Of the diagonal per frame: slower ones stand."""
SCENES = 48
GUESSES = ("imagined", "frozen", "straight")


@dataclass(frozen=True)
class RollOut:
    """Distances to the truth over the diagonal, (N,) for N movers, by length and by who guesses."""

    errors: dict[tuple[int, str], Floats]


def rollout_specs(count: int, size: Size) -> list[ClipSpec]:
    """Scenes that nobody trains on, with movers in the picture from the first frame on."""
    return [ClipSpec("vanish", FIRST_HELD_OUT_SEED + 1000 + index, size) for index in range(count)]


def shut_after(seen: int, t: int, frame: Tensor, before: Slots | None) -> Shown:
    """The eyes are open for the first frames."""
    del before
    return (frame if t < seen else None), None


def roll_out(evaluated: EvaluatedModel, gate: GateKind, clips: Sequence[Clip]) -> list[RollOut]:
    """What a model imagines of some clips of equal length."""
    steps = min(SEEN + LENGTHS[-1], len(clips[0]))
    model = evaluated.video_model(clips, gate)
    places, present, hidden = [], [], []
    for _, slots in run(model, clips, show=lambda t, frame, before: shut_after(SEEN, t, frame, before), steps=steps):
        places.append(to_pixels(slots.positions.cpu().numpy().astype(np.float64), clips[0].size))
        present.append(slots.presence.cpu().numpy())
        hidden.append(slots.hidden.cpu().numpy())
    return [
        judged(clip, np.stack([p[b] for p in places]), np.stack([p[b] for p in present]),
               np.stack([h[b] for h in hidden]))
        for b, clip in enumerate(clips)
    ]


def judged(clip: Clip, places: Floats, present: Bools, hidden: Bools) -> RollOut:
    """The distances of one clip: places (T, K, 2) in pixels, of which the first SEEN were percepts."""
    truth = clip.truth
    assert truth is not None
    steps = len(places)
    true, visible = truth.positions[:steps], np.asarray(truth.visible_masks[:steps].any(axis=(2, 3)))
    candidates = np.where(visible[:SEEN, :, None], true[:SEEN], np.nan)
    objects = associate(places[:SEEN], present[:SEEN] & ~hidden[:SEEN], candidates)[-1]         # (K,)
    objects = np.broadcast_to(objects, (steps, len(objects)))
    past = slice(SEEN - PAST, SEEN)
    movers = np.array([kind == "mover" for kind in truth.kinds])
    known = (objects[0] >= 0) & movers[np.maximum(objects[0], 0)] & present[past].all(axis=0)
    well_seen = (of_object(truth.occluded_fraction()[:steps], objects) <= WELL_SEEN)[past].all(axis=0)
    target, in_image = of_object(true, objects), of_object(truth.in_image()[:steps], objects)
    lines = straight_on(places[past], LENGTHS[-1])
    errors: dict[tuple[int, str], Floats] = {}
    for length in (n for n in LENGTHS if SEEN + n <= steps):
        t = SEEN + length - 1
        way = np.linalg.norm(target[t] - target[SEEN - 1], axis=-1) / diagonal(clip.size)
        rows = known & well_seen & in_image[past].all(axis=0) & in_image[t] & (way > MOVES * length)
        guesses = {"imagined": places[t], "frozen": places[SEEN - 1], "straight": lines[length - 1]}
        for name, guess in guesses.items():
            errors[length, name] = (np.linalg.norm(guess - target[t], axis=-1) / diagonal(clip.size))[rows]
    return RollOut(errors)


def straight_on(past: Floats, steps: int) -> Floats:
    """(P, K, 2) -> (steps, K, 2): the least-squares line through the past places, followed for so many steps."""
    times = np.arange(len(past)) - (len(past) - 1) / 2
    speed = (times[:, None, None] * past).sum(axis=0) / np.square(times).sum()
    ahead = times[-1] + 1 + np.arange(steps)
    return np.asarray(past.mean(axis=0) + ahead[:, None, None] * speed)


def put_rollout(
    results: Results, case: Case, evaluated: EvaluatedModel, gate: GateKind, count: int = SCENES, batch: int = 16
) -> None:
    """Mean distances after 5, 10 and 20 imagined frames."""
    def work(part: Sequence[ClipSpec]) -> list[RollOut]:
        return roll_out(evaluated, gate, [cached_clip(spec) for spec in part])

    found = list(in_batches(rollout_specs(count, evaluated.frame), work, batch=batch, label="imagining"))
    for length in LENGTHS:
        for name in GUESSES:
            values = np.concatenate([one.errors[length, name] for one in found if (length, name) in one.errors])
            results.put(case.under("rollout", str(length)), f"error_{name}",
                        float(values.mean()) if len(values) else None, PROTOCOL, percent=True, n=len(values))
