"""What imagined balls are compared with: balls that stay, that go straight on, and the world's own laws.

The first three are told true places, and of the laws nothing but the walls. The last one knows every law but must read
places and speeds off what the network perceived, so it tells how far such eyes alone lead astray in a chaotic world.
Places are (row, column) in shares of the image's width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from loci_looped.configs.scenes import BallsScenario
from loci_looped.data.scenes.balls import CANVAS, SCENARIOS, run, same_layer_pairs
from loci_looped.evaluation.experiments.imagination import ImaginedClip

Floats = NDArray[np.floating]
FITTED, FIT_STEPS = 4, 10
"""The simulator's course is fitted to so many percepts, in at most so many steps."""


@dataclass(frozen=True)
class Reference:
    name: str
    knows: str          # what it starts from


FROZEN = Reference("frozen ball", "true places")
STRAIGHT_ON = Reference("constant velocity", "true places")
WITH_WALLS = Reference("constant velocity with walls", "true places")
SIMULATOR = Reference("simulator without noise", "percept")
LAWLESS = (FROZEN, STRAIGHT_ON)
"""Those that need no scenario."""
REFERENCES = (*LAWLESS, WITH_WALLS, SIMULATOR)


def imagined_by(reference: Reference, clips: Sequence[ImaginedClip], scenario: BallsScenario) -> list[ImaginedClip]:
    """What a reference imagines of the same sequences, as if it were a model; sequences in which the network missed a
    ball are left out where the reference starts from its percept."""
    if reference is SIMULATOR:
        clips = [clip for clip in clips if clip.present.sum() >= clip.truth.shape[1]]
    return [_imagined_by(reference, clip, scenario) for clip in clips]


def _imagined_by(reference: Reference, clip: ImaginedClip, scenario: BallsScenario) -> ImaginedClip:
    places, steps = clip.seen_truth, len(clip.truth)
    if reference is FROZEN:
        imagined = np.repeat(places[-1:], steps, axis=0)
    elif reference is SIMULATOR:
        places = clip.seen[:, clip.slots]           # in the balls' order
        imagined = simulated(places, steps, scenario)
    else:
        imagined = straight_on(places, steps)
        imagined = with_walls(imagined, radius_of(scenario)) if reference is WITH_WALLS else imagined
    return replace(
        clip, model=reference.name, positions=imagined, seen=places, released=None,
        present=np.ones(imagined.shape[1], dtype=bool),
    )


def radius_of(scenario: BallsScenario) -> float:
    return SCENARIOS[scenario].radius / CANVAS


def straight_on(places: Floats, steps: int) -> Floats:
    """(T, O, 2) -> (steps, O, 2): on from the last place with the last step's velocity."""
    ahead = np.arange(1, steps + 1)[:, None, None]
    return np.asarray(places[-1] + ahead * (places[-1] - places[-2]))


def with_walls(places: Floats, radius: float) -> Floats:
    """Straight paths folded into the box that the middles of balls of this radius can reach."""
    span = 1 - 2 * radius
    folded = np.mod(places - radius, 2 * span)
    return np.asarray(radius + np.where(folded > span, 2 * span - folded, folded))


def simulated(percepts: Floats, steps: int, scenario: BallsScenario) -> Floats:
    """By the laws of the scenario: on from the course that comes closest to the last percepts (T, O, 2).

    Balls turn every few frames, so that their speeds are not simply differences of places: a course that obeys the laws
    is fitted, from several guesses of how fast it began. Over more frames there are more turns than a fit gets right.
    """
    last = percepts[-FITTED:]
    balls = last.shape[1]
    scale = np.repeat([0.01, 0.005], 2 * balls)                     # of places and of velocities
    guesses = [np.concatenate([last[n] - n * step, step]).ravel() for n, step in enumerate(np.diff(last, axis=0))]

    def off(state: Floats) -> Floats:
        return np.asarray((course(state, FITTED, scenario) - last).ravel())

    fits = [least_squares(off, guess, x_scale=scale, max_nfev=FIT_STEPS) for guess in guesses]
    best = min(fits, key=lambda fit: float(fit.cost))
    return course(best.x, FITTED + steps, scenario)[FITTED:]


def course(state: Floats, frames: int, scenario: BallsScenario) -> Floats:
    """(frames, O, 2) places by the laws of the scenario, from places and velocities (2 O 2,) at the first frame."""
    rules = SCENARIOS[scenario]
    place, velocity = CANVAS * state.reshape(2, -1, 2)[..., ::-1]                   # the simulator speaks (x, y)
    layers = np.array(rules.layers)
    pairs = same_layer_pairs(layers) if rules.collide else []
    radii = np.full(len(layers), rules.radius)
    path, _, _ = run(place, velocity, radii, np.ones(len(layers)), pairs, frames)
    return np.asarray(path[..., ::-1] / CANVAS)
