"""A second stage: a small network grown to frames four times as fine in each direction.

All that it knows stays as it is, bit for bit; only what level 2 adds to its pictures is learnt, from stills. Where
things are and what becomes of them is therefore judged as before.
"""

from __future__ import annotations

import dataclasses

from loci_looped.configs.training import RunConfig, TrainConfig
from loci_looped.utils.errors import LociError

SUFFIX = "-refined"
CLIPS = 32
"""Fine frames are large and every still of a clip is shown sooner or later, so few clips do."""
UPDATES = 800
SETTLES = 8
"""Steps on a still: slots come one by one."""


def refined(config: RunConfig) -> TrainConfig:
    """The second stage of a recipe."""
    if not isinstance(config, TrainConfig):
        raise LociError(f"--refine grows a Loci-Looped network, but {config.name} is a recipe for {config.kind}.")
    if config.model.levels > 1:
        raise LociError(
            f"The recipe {config.name} has its second level already (--level-two-from): --refine is for the small "
            "networks, such as adept-small."
        )
    return dataclasses.replace(
        config, name=config.name + SUFFIX, learns="details", warm_up_updates=False, validate_every=UPDATES,
        validation_scenes=4,
        model=dataclasses.replace(config.model, level=2, levels=2),
        data=dataclasses.replace(config.data, clips=CLIPS),
        optimiser=dataclasses.replace(config.optimiser, learning_rate=3e-3, warm_start=20, average=0.98),
        loss=dataclasses.replace(config.loss, prediction=0.0, reconstruction=1.0, position_change=0.0, centring=0.0),
        curriculum=dataclasses.replace(
            config.curriculum, updates=UPDATES, foreground_until=0, still_until=UPDATES + 1, still_steps=SETTLES,
            background_from=-1, background_over=1, colours_share=0.0, gate_from=UPDATES + 1, hold=0.0,
            blackout_from=0.0, blackout_to=0.0,
        ),
        rehearsal=dataclasses.replace(config.rehearsal, rounds_at=()),
    )
