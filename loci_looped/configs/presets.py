"""The networks by name: the paper's three, and our three small ones for two CPU cores."""

from __future__ import annotations

import dataclasses
import difflib

from loci_looped.configs.extensions import Extensions, Rules
from loci_looped.configs.network import (
    DecoderConfig,
    EncoderConfig,
    GateConfig,
    LociConfig,
    RecruitingConfig,
    TransitionConfig,
)

_SMALL = LociConfig(
    slots=5, gestalt=32, latent=(10, 15), level=1, levels=1,
    encoder=EncoderConfig(channels=32, fine_channels=12, layers=1),
    decoder=DecoderConfig(channels=32, fine_channels=12, layers=2),
    transition=TransitionConfig(credit="bptt", residual_gain=0.1, size_gain=1.0),
    gate=GateConfig(l0_weight=1e-4, hidden_bias=0.0, output_bias=1.0),
    recruiting=RecruitingConfig(bound_threshold=0.6),
    extensions=Extensions(
        own_place=True, explaining_away=True, offsets=True, attended_gestalt=True, bounded_size=0.15,
        painted_objects=True, aligned_grid=True, he_start=True, minimum_error=0.03, minimum_error_in_use=0.1,
        newcomers_behind=True, suppression=8.0,
        rules=Rules(
            displacement=True, inertia=1.0, deviation=0.002, persistence=6.0, open_when_lost=True,
            visibility_prior=3.0, shuts_at=0.2, shuts_at_in_use=0.1,
        ),
    ),
)

_LEARNT = dataclasses.replace(
    _SMALL,
    # No rule says how things move, how long they keep their look, or when not to believe one's eyes. Open gates have
    # their price in rehearsal (configs/rehearsal.py), one for each gate.
    gate=dataclasses.replace(_SMALL.gate, l0_weight=0.0),
    extensions=dataclasses.replace(
        _SMALL.extensions, rules=Rules(), innovation=30.0, identity_start=True, forgets=True, open_until_bound=True,
        patience=20, binds_in_sight=0.2, keeps_clear=6,
    ),
)

PRESETS: dict[str, LociConfig] = {
    "adept": LociConfig(),
    "clevrer": LociConfig(
        slots=6,
        decoder=DecoderConfig(layers=3),
        transition=TransitionConfig(kind="shared"),
        gate=GateConfig(l0_weight=5e-8),
    ),
    "balls": LociConfig(
        slots=3, gestalt=12, latent=(4, 4), level=2,
        encoder=EncoderConfig(channels=24, fine_channels=12, layers=2),
        decoder=DecoderConfig(channels=24, fine_channels=12, layers=2),
        transition=TransitionConfig(kind="shared", layers=3),
        gate=GateConfig(l0_weight=1e-5),
    ),
    "adept-small": _SMALL,
    "adept-learnt": _LEARNT,
    "clevrer-small": dataclasses.replace(
        _LEARNT, slots=6,
        decoder=dataclasses.replace(_LEARNT.decoder, channels=48),
        # What enters is as dark as the table, or as small as a few pixels: slots must be called more easily. And things
        # touch, so that what is two pixels beside another one may well be a second one.
        extensions=dataclasses.replace(
            _LEARNT.extensions, drift=20.0, pushes=32, minimum_error_in_use=0.05, keeps_clear=2
        ),
    ),
    "balls-small": dataclasses.replace(
        _LEARNT, slots=3, gestalt=16, latent=(16, 16),
        # Who collides with whom is a matter of pairs.
        transition=dataclasses.replace(_LEARNT.transition, layers=1, attention=False),
        gate=dataclasses.replace(_LEARNT.gate, l0_weight=1e-6),
        # No ball ever leaves the picture, so nothing has to be let go of; and in the dark it must not be.
        extensions=dataclasses.replace(_LEARNT.extensions, drift=20.0, pushes=64, patience=0),
    ),
}


def preset(name: str) -> LociConfig:
    """A named network; an unknown name is answered with the nearest ones."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=2)
        raise ValueError(
            f"There is no network called {name!r}. "
            + (f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(PRESETS)}.")
        )
    return PRESETS[name]
