"""Draw what every model believes while the same ball is out of sight: who still knows where it is?

    python tools/hidden_moment.py adept-learnt savi-small gswm-small loci-v1-small kalman --seed 1000 --out moment.png

The scene is a control scene with two movers (validation seeds begin at 1000); the ball is the mover that stays hidden
longest. A network with a gate has a row for each way of using it: adept-learnt:open. Slots are locked to objects as in
the tracking experiment.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import cast, get_args

import numpy as np

from loci_looped.configs.scenes import FIRST_VALIDATION_SEED
from loci_looped.data.clip import Clip
from loci_looped.data.store.clip_cache import cached_clip
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel, open_model
from loci_looped.evaluation.experiments.scoring import watch_and_score
from loci_looped.model import GateKind
from loci_looped.utils.errors import LociError
from loci_looped.viz.canvas import write_png
from loci_looped.viz.hidden_moment import Moment, Witness, hidden_moment


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="networks, runs or kalman; adept-learnt:open chooses the gate")
    parser.add_argument("--seed", type=int, default=FIRST_VALIDATION_SEED, help="of the scene")
    parser.add_argument("--out", type=Path, required=True, help="the picture, a PNG")
    arguments = parser.parse_args(argv)
    try:
        named = [opened(words) for words in arguments.models]
        first = scene(arguments.seed, named[0][0])
        ball, frames = longest_hidden(first)
        witnesses = [witness(model, gate, arguments.seed, ball, frames) for model, gate in named]
    except LociError as error:
        print(error, file=sys.stderr)
        return 2
    assert first.truth is not None
    sight = first.truth.visible_masks[:, ball].any(axis=(1, 2))
    captions = [f"frame {t}, {'in sight' if sight[t] else 'hidden'}" for t in frames]
    title = f"Where is the {first.truth.names[ball]}? Scene {arguments.seed}"
    write_png(arguments.out, hidden_moment(witnesses, captions, title))
    print(f"{arguments.out}: {', '.join(captions)}")
    return 0


def opened(words: str) -> tuple[EvaluatedModel, GateKind]:
    name, _, gate = words.partition(":")
    if gate and gate not in get_args(GateKind):
        raise LociError(f"{words}: a gate is used in one of the ways {', '.join(get_args(GateKind))}, not {gate!r}.")
    return open_model(name), cast(GateKind, gate or "learned")


def scene(seed: int, model: EvaluatedModel) -> Clip:
    return cached_clip(ClipSpec("vanish-control", seed, model.frame))


def longest_hidden(clip: Clip) -> tuple[int, list[int]]:
    """The mover that is out of sight for longest, and moments around that: before, during (three), and after it."""
    assert clip.truth is not None
    there = clip.truth.in_image()
    hidden = there & ~clip.truth.visible_masks.any(axis=(2, 3))                                     # (T, O)
    stretches = []
    for index, kind in enumerate(clip.truth.kinds):
        edges = np.flatnonzero(np.diff(hidden[:, index].astype(np.int8), prepend=0, append=0))
        if kind == "mover":
            stretches += [(int(b - a), index, int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    inside = [stretch for stretch in stretches if stretch[2] >= 4 and stretch[3] + 3 < len(clip)]
    if not inside:
        raise LociError("In this scene no mover is hidden and comes back: try another --seed.")
    _, ball, start, end = max(inside)
    return ball, [start - 4, start, (start + end - 1) // 2, end - 1, end + 3]


def witness(model: EvaluatedModel, gate: GateKind, seed: int, ball: int, frames: list[int]) -> Witness:
    clip = scene(seed, model)
    (scored,), _ = watch_and_score(model, [ClipSpec("vanish-control", seed, model.frame)], gate)
    said, locked = scored.recording, scored.table.object
    moments = tuple(
        Moment(
            clip.frames[t], scored.places[t, ball], said.positions[t][said.present[t] & (locked[t] == ball)],
            said.positions[t][said.present[t] & (locked[t] != ball)],
        )
        for t in frames
    )
    if model.network is None:
        return Witness("Kalman filter", "is told the true centroids", moments)
    return Witness(model.name, f"gate {gate}" if model.has_gate else "", moments)


if __name__ == "__main__":
    sys.exit(main())
