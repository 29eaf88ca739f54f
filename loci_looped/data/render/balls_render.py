"""A simulation of bouncing balls -> frames with their truth, as G-SWM draws them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.events import hiding
from loci_looped.data.render import sprite
from loci_looped.data.scenes.balls import CANVAS, Balls, colour_name


def render_balls(balls: Balls, source: str = "balls") -> Clip:
    """The clip of a simulation, 64 x 64 pixels."""
    opacity = np.stack(
        [sprite.alphas(balls.positions[:, m], balls.radii[m], (CANVAS, CANVAS)) for m in range(len(balls.radii))], 1
    )
    frames = sprite.paint(opacity, balls.colours, balls.layers)
    return assemble(balls, frames, opacity, source)


def assemble(balls: Balls, frames: NDArray[np.uint8], opacity: NDArray[np.float64], source: str) -> Clip:
    """Frames and truth in one clip. The ball painted last is in front: depth 0."""
    visible, whole = sprite.masks(opacity, balls.layers)
    count = len(balls.radii)
    rank = np.empty(count, dtype=np.float32)
    rank[sprite.drawing_order(balls.layers)] = np.arange(count, dtype=np.float32)[::-1]
    truth = ObjectTruth(
        names=tuple(f"{colour_name(colour)} ball" for colour in balls.colours),
        kinds=tuple("mover" for _ in range(count)),
        positions=(balls.positions[..., ::-1] - 0.5).astype(np.float32),
        visible_masks=visible,
        object_masks=whole,
        depths=np.broadcast_to(rank, (len(frames), count)).copy(),
    )
    touches = [Event("collision", frame, ball) for frame, *both in balls.contacts for ball in both]
    return Clip(
        frames=frames,
        background=np.zeros_like(frames[0]),
        truth=truth,
        events=(*hiding(truth), *touches),
        seed=balls.seed,
        source=source,
    )
