"""The training runs by name: the paper's three, ours for two CPU cores, and the rivals' (configs/rivals.py)."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Collection

from loci_looped.configs.curriculum import Curriculum
from loci_looped.configs.presets import PRESETS as NETWORKS
from loci_looped.configs.rehearsal import RehearsalConfig
from loci_looped.configs.rivals import ABOUT as ABOUT_RIVALS
from loci_looped.configs.rivals import RIVALS
from loci_looped.configs.training import DataConfig, LossConfig, OptimiserConfig, RunConfig, TrainConfig
from loci_looped.utils.errors import LociError

_SMALL_OPTIMISER = OptimiserConfig(
    kind="adamw", learning_rate=1e-3, beta2=0.99, epsilon=1e-8, clip=0.5, initial_factor=1.0, initial_until=0,
    final_share=0.02, average=0.999,
)
_SMALL_LOSS = LossConfig(gestalt_change=0.0, balanced=True, outlines=True, centring=30.0, mean_over_window=True)
_SMALL_CURRICULUM = Curriculum(
    updates=6_000, foreground_until=1_800, still_until=1_800, still_steps=5, placement="error_sampled",
    canvas="colours", colours_from=800, colours_share=0.4, background_from=1_800, background_over=400,
    gate_from=2_200, binding="hard", window_to=1, hold=0.04, hold_to=12,
)
_SMALL = TrainConfig(
    name="adept-small", model=NETWORKS["adept-small"], data=DataConfig(batch=8, clips=400), optimiser=_SMALL_OPTIMISER,
    loss=_SMALL_LOSS, curriculum=_SMALL_CURRICULUM, warm_up=8, warm_up_updates=False, validate_every=1000,
)

_SEEING = dataclasses.replace(_SMALL_CURRICULUM, updates=4_200, glimpse=9, gate_from=4_200, hold=0.0)
"""First it learns to see: stills, then glimpses, of which only the present is painted. Then it rehearses."""

_BALLS = dataclasses.replace(
    _SMALL, name="balls-small", model=NETWORKS["balls-small"],
    data=DataConfig(world="balls-interaction", batch=8, clips=600),
    loss=dataclasses.replace(
        _SMALL_LOSS, prediction=0.0, reconstruction=1.0, position_change=0.0, centring=100.0, centring_above=0.5,
        cut_off_above=1.0, margin=0.01,     # balls have pure colours: painted wrong, they could not be taken back
    ),
    curriculum=dataclasses.replace(_SEEING, updates=6_000, gate_from=6_000),
    # All balls are in plain sight, so eyes may stay open; and the box has all symmetries of the square.
    rehearsal=RehearsalConfig(
        rounds_at=(6_000,), clips=240, updates=900, batch=128, window=20, together=0.9, hold=0.05, hold_from=6,
        hold_to=12, last_learning_rate=1e-3, gate_open=0.2, noise=0.0, recognised=0.0, square=True,
        position_cost=0.01,
    ),
)

RECIPES: dict[str, TrainConfig] = {
    "adept": TrainConfig(
        name="adept", model=NETWORKS["adept"],
        # The paper's chain of four runs, each with a fresh optimiser; the fourth at level 2.
        optimiser=OptimiserConfig(steps=((400_000, 3.333e-5), (600_000, 3.333e-5), (800_000, 3.333e-5))),
        curriculum=Curriculum(drop_rest=True),
        level_two_from=800_000,
    ),
    "clevrer": TrainConfig(
        name="clevrer", model=NETWORKS["clevrer"],
        data=DataConfig(world="collide", batch=32, clips=10_000, stride=2),
        optimiser=OptimiserConfig(steps=((200_000, 3.3333e-5), (600_000, 3.3333e-5))),
        # The blackouts are the paper's; the released configurations forgot them.
        curriculum=Curriculum(
            updates=800_000, settle_stochastically=True, gate_from=100_000, window_steps=((200_000, 3), (600_000, 4)),
            drop_rest=True, blackout_from=0.2, blackout_to=0.2,
        ),
    ),
    "balls": TrainConfig(
        name="balls", model=NETWORKS["balls"], data=DataConfig(world="balls-interaction", batch=128, clips=10_000),
        optimiser=OptimiserConfig(
            learning_rate=4e-4, steps=((400_000, 1e-4), (800_000, 5e-5)), decay=0.75, decay_every=100_000,
            initial_until=30_000,
        ),
        loss=LossConfig(gestalt_change=0.25),
        curriculum=Curriculum(
            updates=1_200_000, foreground_until=3_000_000, background_from=15_000, gate_from=40_000,
            window_to=3, window_every=100_000, drop_rest=True, blackout_from=0.1, blackout_to=0.45,
        ),
        warm_up=5,
    ),
    "adept-small": _SMALL,
    "adept-learnt": dataclasses.replace(
        _SMALL, name="adept-learnt", model=NETWORKS["adept-learnt"],
        loss=dataclasses.replace(_SMALL_LOSS, prediction=0.0, reconstruction=1.0, position_change=0.0),
        # Who sees for the first time is used to expectations that lag. After two rounds they do not any more, and it
        # learns to see again: whole films now, as hidden things are kept in mind.
        curriculum=dataclasses.replace(_SEEING, updates=5_400),
        optimiser=dataclasses.replace(_SMALL_OPTIMISER, again=((4_200, 0.15),)),
        rehearsal=RehearsalConfig(
            rounds_at=(4_200,) * 2 + (5_400,) * 4, updates=400, clips=304, remembered=608, last_learning_rate=5e-4,
            averaged=3, hold=0.1, alike=0.15, longest_gap=3, repainted=0.15, doubtful=4.0, position_cost=0.3,
            gestalt_cost=0.03,
        ),
    ),
    "clevrer-small": dataclasses.replace(
        _SMALL, name="clevrer-small", model=NETWORKS["clevrer-small"],
        data=DataConfig(world="collide", batch=8, clips=200, stride=2),
        loss=dataclasses.replace(
            _SMALL_LOSS, prediction=0.0, reconstruction=1.0, position_change=0.0, centring_above=0.5, margin=0.01,
            haze=0.5,       # the table is always the same, and whoever paints it pays nothing for it
        ),
        # A thing goes up to half its width in a frame, and who knows nothing of motion follows whatever comes near: so
        # it rehearses early, and goes on learning to see with slots that stay with their things.
        curriculum=dataclasses.replace(_SEEING, updates=5_000, gate_from=3_000, glimpse=16),
        optimiser=dataclasses.replace(_SMALL_OPTIMISER, again=((3_000, 0.4),)),
        precision="auto",
        # Everything is in plain sight most of the time, so eyes may stay open; but not in the dark.
        rehearsal=RehearsalConfig(
            rounds_at=(3_000, 3_000, 5_000, 5_000), turns=True, updates=300, clips=120, remembered=240, batch=48,
            window=30, last_learning_rate=5e-4, averaged=2, hold=0.06, hold_to=12, recorded_hold=0.03, alike=0.15,
            longest_gap=3, repainted=0.15, position_cost=0.02, gestalt_cost=0.0005, dark=0.2, dark_cost=0.1,
        ),
    ),
    "balls-small": _BALLS,
    # Before balls meet nobody can know whether they collide: one network for each of the two worlds.
    "balls-small-occlusion": dataclasses.replace(
        _BALLS, name="balls-small-occlusion", data=dataclasses.replace(_BALLS.data, world="balls-occlusion"),
    ),
}

RECIPES["own-films"] = dataclasses.replace(
    RECIPES["adept-learnt"], name="own-films", optimiser=_SMALL_OPTIMISER,
    # It begins with a network that can draw and hold a thing: a short look at stills of the new world is enough, and
    # what it knows about motion must not be forgotten, so rates are lower.
    curriculum=dataclasses.replace(
        _SEEING, updates=1_600, foreground_until=400, still_until=400, colours_from=0, background_from=400,
        background_over=200, gate_from=1_600,
    ),
    rehearsal=dataclasses.replace(
        RECIPES["adept-learnt"].rehearsal, rounds_at=(1_600,) * 3, updates=250, clips=104, remembered=208, averaged=2,
        learning_rate=2e-3,
    ),
)

BEGINS_WITH = {"own-films": "adept-learnt"}
"""Recipes that need what another network has learnt, unless --begin-with names a third one."""

ABOUT: dict[str, str] = {
    "adept": "the paper's network and schedule: 1.15 million updates, for GPUs",
    "clevrer": "the paper's, for colliding objects",
    "balls": "the paper's, for bouncing balls",
    "adept-small": "object permanence, partly by rule, on one CPU core in a quarter of an hour",
    "adept-learnt": "the same without any rule of permanence: it learns to see, then rehearses what it saw",
    "clevrer-small": "colliding objects, a fifth of the frames black: gate and motion are learnt by rehearsal",
    "balls-small": "bouncing balls that collide: speeds add up, what changes them is learnt",
    "balls-small-occlusion": "bouncing balls that pass each other, on one CPU core in ten minutes",
    "own-films": "for films of your own (--data.folder FILMS): begins with adept-learnt and gets used to them",
    **ABOUT_RIVALS,
}

EVERY_RECIPE: dict[str, RunConfig] = {**RECIPES, **RIVALS}
"""Those of Loci-Looped, and those of its rivals."""


def recipe(name: str) -> TrainConfig:
    """One of Loci-Looped's."""
    check_name(name, RECIPES)
    return RECIPES[name]


def any_recipe(name: str) -> RunConfig:
    """One of Loci-Looped's or of a rival's."""
    check_name(name, EVERY_RECIPE)
    return EVERY_RECIPE[name]


def check_name(name: str, known: Collection[str]) -> None:
    """Refuse a name that no recipe has."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=2)
        raise LociError(
            f"There is no recipe {name!r}. "
            + (f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(known)}.")
        )
