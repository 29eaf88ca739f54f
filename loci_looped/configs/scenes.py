"""The names of scenes, layouts and splits, written once: the command line reads them here without loading numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

ViolationKind = Literal["vanish", "appear", "teleport", "colour", "shape", "stop", "pass"]
VIOLATIONS: tuple[ViolationKind, ...] = get_args(ViolationKind)

BallsScenario = Literal["interaction", "occlusion", "twolayer", "twolayerdense"]
BALLS_SCENARIOS: tuple[BallsScenario, ...] = get_args(BallsScenario)

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

TrainingScene = Literal["vanish", "collide", "balls-interaction", "balls-occlusion"]
"""The scenes that the recipes train on."""

LabWorldName = Literal["vanish", "balls", "collide"]
"""The worlds whose scenes `loci lab` can edit."""
LAB_NETWORKS: dict[LabWorldName, str] = {"vanish": "adept-learnt", "balls": "balls-small", "collide": "clevrer-small"}
"""Who lives in each, unless another network is named."""

SCENE_NAMES: tuple[str, ...] = (
    "vanish",               # ADEPT's training scenes
    "vanish-control",       # the test scenario: two movers cross behind a screen, which falls in the end
    "vanish-control-1",     # the same with the first mover alone
    "vanish-surprise",      # the same, but the second mover is taken away while it is hidden
    "vanish-standing",      # the control, but the screen never moves: to a camera it is part of the wall
    *(f"violations-{kind}" for kind in VIOLATIONS),
    *(f"violations-{kind}-control" for kind in VIOLATIONS),
    "collide",
    *(f"balls-{scenario}" for scenario in BALLS_SCENARIOS),
    *(f"balls-{scenario}-{split}" for scenario in BALLS_SCENARIOS for split in SPLITS),
)
"""Everything `loci_looped.data.scenes.make` knows. With a split, the seed is the number of a published sequence."""

GeneratedKind = Literal[
    "vanish", "vanish-control", "vanish-control-1", "vanish-surprise", "vanish-standing",
    "violations", "violations-vanish", "violations-appear", "violations-teleport", "violations-colour",
    "violations-shape", "violations-stop", "violations-pass",
    "collide", "balls", "balls-interaction", "balls-occlusion", "balls-twolayer", "balls-twolayerdense",
]
"""What `loci generate` makes. Violations come in pairs with their controls; `violations` alone is all kinds in turn."""

Layout = Literal["native", "adept", "clevrer", "gswm", "loci"]


@dataclass(frozen=True)
class Family:
    """What the scenes with the same first word have in common."""

    size: tuple[int, int]           # (H, W) unless another one is asked for
    fps: float
    layouts: tuple[Layout, ...]     # in which their clips can be written


FAMILIES: dict[str, Family] = {
    "vanish": Family((40, 60), 25 / 3, ("native", "adept")),
    "violations": Family((40, 60), 25 / 3, ("native", "adept")),
    "collide": Family((80, 120), 25.0, ("native", "clevrer")),
    "balls": Family((64, 64), 25.0, ("native", "gswm", "loci")),
}


def family_of(name: str) -> str:
    """'vanish-control-1' -> 'vanish'."""
    return name.partition("-")[0]


FIRST_VALIDATION_SEED = 1000
"""Training validates on control scenes from here on, and never looks at the test seeds 0 to 999."""

FIRST_HELD_OUT_SEED = 900_000_000
"""Scenes without a control are validated from here on, far beyond any seed that is trained on."""
