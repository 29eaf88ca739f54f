"""Impossible events in matched pairs: two scenes that are the same until something happens behind the screen in one of
them. ADEPT has one kind per scenario; here every kind happens to the same crossing movers, except `pass`, which needs
something solid in the way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from loci_looped.configs.scenes import VIOLATIONS, ViolationKind
from loci_looped.data.scenes.bodies import COLOURS, MOVER_SHAPES
from loci_looped.data.scenes.hiding import hidden_times
from loci_looped.data.scenes.scene import Mover, Scene, Screen, Violation
from loci_looped.data.scenes.vanish import (
    FALL_TIME,
    REMOVAL_TIME,
    STRIDE,
    TEST_FRAMES,
    crossing_scenes,
    draw_backdrop,
    is_hidden_at,
    random_stream,
    uniform,
)
from loci_looped.utils.errors import LociError

Pair = tuple[Scene, Scene]
BOUNCE = 0.9                # ADEPT's restitution
SHORTEST_JUMP = 0.6         # a teleport over less is not worth the name


def matched_scenes(kind: ViolationKind, seed: int) -> Pair:
    """(control, violation): equal up to the event, at which the object concerned is hidden."""
    if kind not in VIOLATIONS:
        raise LociError(f"There is no violation {kind!r}. Choose one of: {', '.join(VIOLATIONS)}.")
    if kind == "pass":
        return next(_blocked_pairs(seed))
    return next(pair for scene in crossing_scenes(seed) if (pair := _violated(kind, scene, seed)) is not None)


def _violated(kind: ViolationKind, scene: Scene, seed: int) -> Pair | None:
    """The scene and its violation, which happens to B (mover 1); None if it could be seen happening."""
    random = random_stream(kind, seed)
    back, control, time = scene.movers[1], scene, REMOVAL_TIME
    if kind == "appear":
        # B is in the list of objects but never in the control's world.
        control = replace(scene, movers=(scene.movers[0], replace(back, present=(None, 0.0))))
        violation = Violation(kind, time, 1)
    elif kind == "teleport":
        times = np.arange(0, FALL_TIME, STRIDE / scene.fps)
        hidden = times[hidden_times(scene, 1, times)]
        time, next_frame = float(hidden[0]), float(hidden[-1] - hidden[0])
        violation = Violation(kind, time, 1, jump=(back.velocity[0] * next_frame, back.velocity[1] * next_frame))
        if abs(violation.jump[1]) < SHORTEST_JUMP:
            return None
    elif kind == "colour":
        used = {scene.movers[0].colour, scene.screen.colour if scene.screen else ""}
        others = [name for name in COLOURS if name not in used and _differ(name, back.colour)]
        violation = Violation(kind, time, 1, colour=str(random.choice(others)))
    elif kind == "shape":
        shapes = [shape for shape in MOVER_SHAPES if shape != back.shape]
        violation = Violation(kind, time, 1, shape=str(random.choice(shapes)))
    else:
        violation = Violation(kind, time, 1)
    violated = replace(control, violation=violation)
    hidden_before = kind == "appear" or is_hidden_at(scene, 1, time)
    hidden_after = kind == "vanish" or is_hidden_at(violated, 1, time)
    return (control, violated) if hidden_before and hidden_after else None


def _differ(one: str, other: str) -> bool:
    """Nobody should have to tell red from brown."""
    return math.dist(COLOURS[one], COLOURS[other]) > 100


def _blocked_pairs(seed: int) -> Iterator[Pair]:
    """A screen rises in front of a solid block; a runner meets the block behind it and bounces, or goes through it."""
    random = random_stream("pass", seed)
    noise_seed = int(random.integers(2**31))
    while True:
        backdrop = draw_backdrop(random)
        first, second, third = (str(name) for name in random.permutation(list(COLOURS))[:3])
        direction = 1.0 if random.random() < 0.5 else -1.0
        x, speed = uniform(random, -1.2, -0.8), direction * uniform(random, 1.1, 1.2)
        block = Mover(str(random.choice(("cube", "cylinder"))), first, uniform(random, 0.28, 0.34),
                      (x, direction * uniform(random, 0.05, 0.25)), (0.0, 0.0))
        runner = Mover(str(random.choice(("cube", "cylinder", "sphere"))), second, uniform(random, 0.24, 0.30),
                       (x, -3.8 * direction), (0.0, speed))
        gap = block.start[1] - runner.start[1] - direction * (block.half_extent("y") + runner.half_extent("y"))
        contact = gap / speed
        runner = replace(runner, turns=((contact, (0.0, -BOUNCE * speed)),))
        half_width, lies = uniform(random, 0.85, 0.95), uniform(random, 0.10, 0.19)
        screen = Screen(
            0.2, uniform(random, -0.1, 0.1), half_width, half_width * uniform(random, 0.8, 0.85), third,
            uniform(random, -10, 10),
            angle=((uniform(random, 0.5, 0.8), 90.0), (1.8, 0.0), (FALL_TIME, 0.0), (9.5 - lies, 90.0)),
        )
        control = Scene((block, runner), screen, backdrop, collisions=((contact, 1),), num_frames=TEST_FRAMES,
                        noise_seed=noise_seed)
        through = replace(control, violation=Violation("pass", contact, 1), collisions=())
        if is_hidden_at(control, 1, contact) and is_hidden_at(through, 1, contact):
            yield control, through
