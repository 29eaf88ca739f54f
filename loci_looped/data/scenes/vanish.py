"""The `vanish` scenes: ADEPT's training scenes and its scenario "disappear_fixed", drawn from a seed.

A seed is a scene: nothing needs a disk. Training and test scenes come from different streams of random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from loci_looped.data.scenes.backdrop import Backdrop, Floor, Light
from loci_looped.data.scenes.bodies import COLOURS, CONVEX_SHAPES, MOVER_SHAPES
from loci_looped.data.scenes.hiding import hidden_times
from loci_looped.data.scenes.scene import Mover, Scene, Screen, Violation, at_time
from loci_looped.utils.errors import LociError

STRIDE = 3                      # every third frame of 25 per second, as in the paper
TRAINING_FRAMES = 125           # 5 s
TRAINING_LENGTH = 41            # frames delivered after striding
TEST_FRAMES = 238               # 9.5 s -> 80 frames after striding
SIZES = (0.26, 0.46)            # half extents of training movers; the released draw is 0.2 .. 0.4, its films up to 0.63
STANDING_FRAMES = 174           # 7 s -> 58 frames: then the movers have left
REMOVAL_TIME = 3.5
FALL_TIME = 7.0
_STREAMS = ("training", "test", "phase", "vanish", "appear", "teleport", "colour", "shape", "stop", "pass")

Random = np.random.Generator


def random_stream(name: str, seed: int) -> Random:
    """The random numbers of one scene."""
    if seed < 0:
        raise LociError(f"Seeds are whole numbers from 0 on, not {seed}.")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([101 * (1 + _STREAMS.index(name)), seed])))


def uniform(random: Random, low: float, high: float) -> float:
    return float(random.uniform(low, high))


def choose(random: Random, options: dict[str, float]) -> str:
    """One of the named options, with these probabilities (which sum to 1)."""
    draw, names = random.random(), list(options)
    for name in names:
        draw -= options[name]
        if draw < 0:
            return name
    return names[-1]


def draw_backdrop(random: Random) -> Backdrop:
    """Every scene has a floor and lights of its own."""
    def near(x: float, y: float, z: float) -> tuple[float, float, float]:
        return x + uniform(random, -1, 1), y + uniform(random, -1, 1), z + uniform(random, -1, 1)

    base = Backdrop()
    sun, key, fill = base.lights
    jittered: list[Light] = [replace(lamp, position=near(*lamp.position)) for lamp in (key, fill)]
    shift = (uniform(random, 28, 32), uniform(random, 28, 32))
    return replace(base, floor=Floor(yaw=uniform(random, -60, 60), shift=shift), lights=(sun, *jittered))


# ---------------------------------------------------------------------------------------------- training scenes

# How the screen behaves, and how often. The released generator turns 85 % of its screens, slides 5 %, leaves 10 % out;
# standing ones are added because permanence is learnt behind a screen that hides something for a while.
SCREENS = {"stands": 0.32, "falls": 0.15, "rises": 0.12, "turns": 0.23, "slides": 0.08, "none": 0.10}


Course = tuple[tuple[float, float], ...]


def _screen_course(random: Random, behaviour: str) -> tuple[Course, Course]:
    """Keyframes of the hinge angle and of the slide over the 5 s of a training scene."""
    def side() -> float:
        return 1.0 if random.random() < 0.5 else -1.0

    still = ((0.0, 0.0),)
    if behaviour == "falls":
        moment, lasts = uniform(random, 2.8, 4.0), uniform(random, 0.9, 2.4)
        return ((0.0, 0.0), (moment, 0.0), (moment + lasts, 90.0)), still
    if behaviour == "rises":
        moment, lasts = uniform(random, 0.0, 0.4), uniform(random, 0.6, 1.2)
        return ((moment, 90.0 * side()), (moment + lasts, 0.0)), still
    if behaviour == "turns":
        hold, first, last = uniform(random, 0.10, 0.24), 90.0 * side(), 90.0 * side()
        if random.random() < 2 / 3:     # lying -> upright -> lying, on the same or on the other side
            return ((hold, first), (2.5, 0.0), (5.0 - hold, last)), still
        return ((0.0, 0.0), (hold, 0.0), (2.5, first), (5.0 - hold, 0.0)), still
    if behaviour == "slides":
        start, end = side() * uniform(random, 0.6, 1.2), side() * uniform(random, 0.6, 1.2)
        return still, ((0.0, start), (2.5, 0.0), (5.0, end))
    return still, still


def _draw_screen(random: Random, colour: str) -> Screen | None:
    behaviour = choose(random, SCREENS)
    if behaviour == "none":
        return None
    angle, slide = _screen_course(random, behaviour)
    return Screen(x=uniform(random, -0.5, 0.5), y=uniform(random, -1, 1), half_width=uniform(random, 0.5, 1.25),
                  half_height=uniform(random, 0.5, 0.9), colour=colour, yaw=uniform(random, -20, 20),
                  angle=angle, slide=slide)


def _passes_behind(random: Random, screen: Screen, shape: str, colour: str, size: float) -> Mover:
    """A mover whose path leads behind the screen while it stands, and out again after 0.5 to 1.9 s."""
    upright = [time for time in np.arange(1.3, 3.8, 0.1) if abs(at_time(screen.angle, float(time))) < 10]
    moment = float(random.choice(upright)) if upright else 2.5
    x = uniform(random, -2.4, screen.x - 0.45)
    eye = Backdrop().camera.position[0]
    magnified = (eye - x) / (eye - screen.x)        # the screen hides more than its width further back
    width = 2 * max(0.2, screen.half_width * magnified - size)
    speed = min(max(width / uniform(random, 0.5, 1.9), 0.6), 1.6)
    direction = 1.0 if random.random() < 0.5 else -1.0
    velocity = (uniform(random, -0.15, 0.15), direction * speed)
    middle = (screen.y + at_time(screen.slide, moment)) * magnified
    start = (x - velocity[0] * moment, middle - velocity[1] * moment)
    return Mover(shape, colour, size, start, velocity, yaw=uniform(random, -180, 180))


def _wanders(random: Random, shape: str, colour: str, size: float) -> Mover:
    """The released generator's mover: from the left, from the right or from the middle; some stop and go back."""
    origin = choose(random, {"left": 0.4, "right": 0.4, "middle": 0.2})
    if origin == "middle":
        start = (uniform(random, -1.5, 0), uniform(random, -0.8, 0.8))
        velocity = (0.0, uniform(random, -1.5, 1.5))
    else:
        side = -1.0 if origin == "left" else 1.0
        start = (uniform(random, -2.5, 0.5), side * uniform(random, 2, 4))
        velocity = (uniform(random, -0.6, 0.6), -side * uniform(random, 0.5, 1.5))
    turns: tuple[tuple[float, tuple[float, float]], ...] = ()
    if random.random() < 0.2:
        stop = uniform(random, 2.0, 3.0)
        turns = ((stop, (0.0, 0.0)), (stop + 0.5, (-velocity[0], -velocity[1])))
    return Mover(shape, colour, size, start, velocity, yaw=uniform(random, -180, 180), turns=turns)


def _draw_training_scene(random: Random, count: int, noise_seed: int) -> Scene:
    backdrop = draw_backdrop(random)
    colours = [str(name) for name in random.permutation(list(COLOURS))]
    screen = _draw_screen(random, colours.pop())
    movers = []
    for index in range(count):
        shape, size = str(random.choice(MOVER_SHAPES)), uniform(random, *SIZES)
        if screen is not None and random.random() < (0.9 if index == 0 else 0.6):
            movers.append(_passes_behind(random, screen, shape, colours.pop(), size))
        else:
            movers.append(_wanders(random, shape, colours.pop(), size))
    return Scene(tuple(movers), screen, backdrop, num_frames=TRAINING_FRAMES, noise_seed=noise_seed)


def _touches(scene: Scene, time: float) -> bool:
    """Does a mover touch another one, the screen, the wall, or come too near to the camera?"""
    places = [(*mover.place(time), mover.reach()) for mover in scene.movers]
    for index, (x, y, reach) in enumerate(places):
        if x < -2.8 or x > 1.5:
            return True
        for other_x, other_y, other_reach in places[:index]:
            if math.hypot(x - other_x, y - other_y) < reach + other_reach:
                return True
        if scene.screen is not None and _on_screen(scene.screen, time, x, y, reach):
            return True
    return False


def _on_screen(screen: Screen, time: float, x: float, y: float, reach: float) -> bool:
    """Does a circle on the floor meet the floor under the screen?"""
    body = screen.body(time)
    across, along = body.rotation[:2, 1], np.array([body.rotation[1, 1], -body.rotation[0, 1]])
    offset = np.array([x, y]) - np.asarray(body.origin)[:2]
    tip = 2 * screen.half_height * math.sin(math.radians(at_time(screen.angle, time)))
    low, high = min(0.0, tip) - 0.04, max(0.0, tip) + 0.04
    depth, width = float(offset @ along), float(offset @ across)
    gap = (max(low - depth, 0.0, depth - high), max(abs(width) - screen.half_width, 0.0))
    return math.hypot(*gap) < reach


def _frames_in_view(scene: Scene, mover: Mover) -> int:
    """How many of 50 moments of the scene show the mover's centre."""
    times = np.linspace(0, scene.num_frames / scene.fps, 50)
    points = np.array([(*mover.place(float(time)), mover.size) for time in times])
    row, column, depth = np.moveaxis(scene.backdrop.camera.project(points, (320, 480)), -1, 0)
    return int(((depth > 0) & (row >= 0) & (row < 320) & (column >= 0) & (column < 480)).sum())


def training_scene(seed: int) -> Scene:
    """The training scene of a seed: one to three movers that never touch anything, at most one screen."""
    random = random_stream("training", seed)
    noise_seed = int(random.integers(2**31))
    count = int(choose(random, {"1": 0.3, "2": 0.45, "3": 0.25}))
    while True:         # most draws are rejected, the more the more movers there are
        scene = _draw_training_scene(random, count, noise_seed)
        if any(_frames_in_view(scene, mover) < 10 for mover in scene.movers):
            continue
        if not any(_touches(scene, float(time)) for time in np.arange(0, 5, 0.1)):
            return scene


def training_frames(seed: int) -> range:
    """The frame numbers that the training clip of a seed keeps."""
    phase = int(random_stream("phase", seed).integers(STRIDE))
    return range(phase, phase + STRIDE * TRAINING_LENGTH, STRIDE)


# --------------------------------------------------------------------------------------------------- test scenes

def _draw_crossing(random: Random, noise_seed: int) -> Scene:
    """ADEPT's disappear_fixed, index 0: A in front and B behind cross in opposite directions behind one screen."""
    backdrop = draw_backdrop(random)
    first, second, third = (str(name) for name in random.permutation(list(COLOURS))[:3])
    shapes = CONVEX_SHAPES if random.random() < 0.6 else MOVER_SHAPES
    shape, side = str(random.choice(shapes)), 1.0 if random.random() < 0.5 else -1.0

    def runner(colour: str, x: float, direction: float) -> Mover:
        # Things with a front travel ahead, the others are turned any way.
        yaw = (0.0 if direction > 0 else 180.0) if shape in ("truck", "boot") else uniform(random, -180, 180)
        return Mover(shape, colour, uniform(random, 0.34, 0.36), (x, -3.8 * direction),
                     (0.0, direction * uniform(random, 1.1, 1.2)), yaw)

    movers = (runner(first, uniform(random, -0.6, -0.5), side), runner(second, uniform(random, -1.5, -1.4), -side))
    half_width, lies = uniform(random, 0.8, 0.9), uniform(random, 0.10, 0.19)
    screen = Screen(0.2, uniform(random, -0.2, 0.2), half_width, half_width * uniform(random, 0.8, 0.85), third,
                    uniform(random, -15, 15), angle=((0.0, 0.0), (FALL_TIME, 0.0), (9.5 - lies, 90.0)))
    return Scene(movers, screen, backdrop, num_frames=TEST_FRAMES, noise_seed=noise_seed)


def crossing_scenes(seed: int) -> Iterator[Scene]:
    """Scenes of a seed, most wanted first, in which A and B pass without touching and B is out of sight, shadow and
    all, when it may be removed. A caller that needs more than that takes the first scene that has it."""
    random = random_stream("test", seed)
    noise_seed = int(random.integers(2**31))
    while True:
        scene = _draw_crossing(random, noise_seed)
        front, back = scene.movers
        apart = front.start[0] - back.start[0] > front.half_extent("x") + back.half_extent("x")
        if apart and is_hidden_at(scene, 1, REMOVAL_TIME):
            yield scene


def is_hidden_at(scene: Scene, mover: int, time: float) -> bool:
    """Is the mover out of sight at the time, and in the first frame after it that is kept?"""
    step = STRIDE / scene.fps
    return bool(hidden_times(scene, mover, np.array([time, math.ceil(time / step - 1e-9) * step])).all())


def crossing_scene(seed: int) -> Scene:
    """The two movers of a seed."""
    return next(crossing_scenes(seed))


def control_scene(seed: int, movers: int = 2) -> Scene:
    """All is well: both movers come out again, or the first one alone is there; the screen falls."""
    scene = crossing_scene(seed)
    return replace(scene, movers=scene.movers[:movers])


def standing_scene(seed: int) -> Scene:
    """The control of the same seed until its screen would fall; here it stands from the first frame to the last."""
    scene = crossing_scene(seed)
    screen = None if scene.screen is None else replace(scene.screen, angle=((0.0, 0.0),))
    return replace(scene, screen=screen, num_frames=STANDING_FRAMES)


def surprise_scene(seed: int) -> Scene:
    """Equal to the control of the same seed until B, hidden, is taken out of the world."""
    return replace(crossing_scene(seed), violation=Violation("vanish", REMOVAL_TIME, mover=1))
