"""A network of a few thousand weights, films of a moving square, and short runs that touch every phase."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from squares import square_clip

from loci_looped.configs.network import DecoderConfig, EncoderConfig
from loci_looped.configs.recipes import recipe
from loci_looped.configs.training import DataConfig, TrainConfig
from loci_looped.data.store.clip_file import save_clip
from loci_looped.model import LociConfig

TINY = dataclasses.replace(
    recipe("adept-small").model, slots=4, gestalt=8, latent=(4, 6),
    encoder=dataclasses.replace(recipe("adept-small").model.encoder, channels=12),
    decoder=DecoderConfig(channels=12, fine_channels=12, layers=1),
)
TINY_PAPER = LociConfig(
    slots=4, gestalt=8, latent=(4, 6), encoder=EncoderConfig(channels=12, fine_channels=12, layers=1),
    decoder=DecoderConfig(channels=12, fine_channels=12, layers=1), levels=1,
)


@pytest.fixture(scope="session")
def clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("squares")
    for seed in range(6):
        save_clip(square_clip(seed), folder / f"{seed}.clip")
    return folder


@pytest.fixture
def changed() -> Callable[..., Any]:
    """changed(config, **{"curriculum.updates": 5}): the configuration with some nested fields replaced."""
    def change(config: Any, **fields: Any) -> Any:
        for path, value in fields.items():
            name, _, rest = path.partition(".")
            config = dataclasses.replace(
                config, **{name: change(getattr(config, name), **{rest: value}) if rest else value}
            )
        return config
    return change


@pytest.fixture
def tiny(clip_folder: Path, changed: Callable[..., Any]) -> TrainConfig:
    """The small recipe on squares: all phases within two sequences of thirteen frames."""
    config: TrainConfig = changed(
        recipe("adept-small"), model=TINY, data=DataConfig(folder=str(clip_folder), batch=2, mirrored=False),
        warm_up=3, log_every=1,
        validate_every=10_000, validation_scenes=0, checkpoint_minutes=0.0,
    )
    return changed(config, **{
        "curriculum.updates": 40, "curriculum.foreground_until": 16, "curriculum.still_until": 0,
        "curriculum.background_from": 0, "curriculum.background_over": 30, "curriculum.gate_from": 18,
        "curriculum.gate_window": 3, "curriculum.hold": 0.3,
    })


@pytest.fixture
def tiny_paper(clip_folder: Path, changed: Callable[..., Any]) -> TrainConfig:
    """The paper's recipe in miniature: rectified Adam, e-prop, slow binding, blackouts, an update per warm-up step."""
    config: TrainConfig = changed(
        recipe("adept"), model=TINY_PAPER, data=DataConfig(folder=str(clip_folder), batch=2, mirrored=False),
        warm_up=3, log_every=1,
        validate_every=10_000, validation_scenes=0, checkpoint_minutes=0.0, level_two_from=0,
    )
    return changed(config, **{
        "curriculum.updates": 40, "curriculum.foreground_until": 12, "curriculum.background_from": 4,
        "curriculum.background_over": 20, "curriculum.gate_from": 14, "curriculum.window_every": 20,
        "curriculum.blackout_from": 0.5, "curriculum.blackout_to": 0.5, "curriculum.error_dropout": 0.3,
        "optimiser.steps": ((20, 3e-5),), "optimiser.initial_until": 25,
    })
