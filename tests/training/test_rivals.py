"""The rivals learn in the same loop: exact resume, one clip by heart, and nobody's weights pass for another's."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest
import torch
from gswm_parts import TINY as TINY_GSWM
from rich.console import Console
from savi_material import TINY as TINY_SAVI
from squares import square_clip

from loci_looped.baselines.loci_v1.losses import faded_target
from loci_looped.configs.recipes import EVERY_RECIPE, any_recipe
from loci_looped.configs.rivals import RIVALS, CropCurriculum, LociV1Curriculum, read_run_config
from loci_looped.configs.training import DataConfig, RunConfig
from loci_looped.data.store.clip_file import save_clip
from loci_looped.evaluation.evaluated_model import open_model
from loci_looped.inference.network_kinds import kind_of
from loci_looped.inference.networks import load, load_any, load_network
from loci_looped.model.losses import picture_loss
from loci_looped.training.branch import branch_of, starting_point
from loci_looped.training.log import RunLog, read_log
from loci_looped.training.loop import Trainer
from loci_looped.training.resume import resumed_config
from loci_looped.training.rival_objectives import darkened
from loci_looped.training.sequence import crop
from loci_looped.utils.checkpoint import newest_checkpoint
from loci_looped.utils.errors import LociError

Change = Callable[..., Any]
SIZES = {"savi-small": (16, 24), "gswm-small": (32, 32), "loci-v1-small": (16, 24)}
MEASURE = {"savi": "reconstruction", "g-swm": "reconstruction", "loci-v1": "prediction"}
NETWORKS: dict[str, Any] = {
    "savi-small": TINY_SAVI, "gswm-small": dataclasses.replace(
        TINY_GSWM, background="given", what=16, dynamics=16, hidden=32, glimpse_channels=32, pixel_std=0.03
    ),
    "loci-v1-small": dataclasses.replace(
        any_recipe("loci-v1-small").model, slots=2, gestalt=8, latent=(4, 6), encoder_channels=12, decoder_channels=12,
    ),
}
CURRICULA: dict[str, Any] = {
    "savi-small": CropCurriculum(updates=8, length=2, longer_by=1, longer_every=4, blackout=0.3),
    "gswm-small": CropCurriculum(updates=8, length=2, longer_by=1, longer_every=4, blackout=0.3),
    "loci-v1-small": LociV1Curriculum(updates=20, background_from=2, warm_up=2),
}


def squares(folder: Path, size: tuple[int, int], count: int = 4, frames: int = 13) -> str:
    for seed in range(count):
        save_clip(square_clip(seed, frames, size), folder / f"{seed}.clip")
    return str(folder)


@pytest.fixture(params=sorted(NETWORKS))
def tiny_rival(request: pytest.FixtureRequest, changed: Change, tmp_path: Path) -> RunConfig:
    """A rival's small recipe in miniature, on films of a moving square."""
    name = request.param
    folder = squares(tmp_path / "clips", SIZES[name])
    return changed(
        any_recipe(name), model=NETWORKS[name], data=DataConfig(folder=folder, batch=2), log_every=2,
        validation_scenes=0, checkpoint_minutes=1000.0, curriculum=CURRICULA[name],
    )


def run(config: RunConfig, folder: Path, stop_at: int = 0, resume: bool = False) -> Trainer:
    trainer = Trainer(config, folder)
    if resume:
        trainer.restore()

    class Stopping(RunLog):
        def record(self, kind: str, update: int, values: dict[str, Any]) -> None:
            super().record(kind, update, values)
            if update == stop_at:
                trainer.stop()

    with Stopping(folder, config.updates, trainer.update, Console(quiet=True)) as log:
        trainer.run(log)
    return trainer


def test_a_stopped_rival_goes_on_bit_for_bit(tiny_rival: RunConfig, tmp_path: Path) -> None:
    whole = run(tiny_rival, tmp_path / "whole")
    stopped = run(tiny_rival, tmp_path / "parts", stop_at=4)
    assert 4 <= stopped.update < tiny_rival.updates and not stopped.is_over
    resumed = run(tiny_rival, tmp_path / "parts", resume=True)
    assert resumed.is_over and whole.update == resumed.update == tiny_rival.updates
    for (name, ours), theirs in zip(resumed.model.named_parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs), name
    assert torch.equal(resumed.generator.get_state(), whole.generator.get_state())
    losses = [[r["loss"] for r in read_log(tmp_path / part, "train")] for part in ("whole", "parts")]
    assert losses[0] == losses[1] and len(losses[0]) == tiny_rival.updates // 2


def test_a_rivals_weights_are_refused_as_anothers(tiny_rival: RunConfig, tmp_path: Path) -> None:
    trainer = run(tiny_rival, tmp_path / "run")
    kind = kind_of(trainer.model).name
    with pytest.raises(LociError, match=f"is a {kind}, not a loci-looped network"):
        load(tmp_path / "run")
    with pytest.raises(LociError, match=f"is a {kind}, not a loci-looped network"):
        load_network(tmp_path / "run" / "network")
    loaded = load_any(tmp_path / "run")
    assert type(loaded) is type(trainer.model)
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), trainer.network().parameters(), strict=True))
    config = tmp_path / "run" / "network" / "config.json"
    config.write_text(config.read_text().replace(kind, "hidden network"))
    with pytest.raises(LociError, match="describes a hidden network; this version of the package knows: loci-looped"):
        load_any(tmp_path / "run")


def test_a_rivals_run_is_not_taken_up_as_anothers(tiny_rival: RunConfig, tmp_path: Path) -> None:
    stopped = run(tiny_rival, tmp_path / "run", stop_at=4)
    found = newest_checkpoint(tmp_path / "run" / "checkpoints")
    looped = any_recipe("adept-small")
    with pytest.raises(LociError, match=f"trains a {tiny_rival.kind} network, but adept-small is a recipe for loci"):
        resumed_config(found, looped, tmp_path / "run")
    with pytest.raises(LociError, match="a run can start only from one of its own kind"):
        branch_of(starting_point(tmp_path / "run", None), tmp_path / "run", looped, {})
    assert type(load_any(tmp_path / "run")) is type(Trainer(tiny_rival, tmp_path / "other").model)
    assert open_model(str(tmp_path / "run")).facts["updates"] == stopped.update


def test_the_end_of_a_rivals_run_leaves_figures_and_a_strip(
    tiny_rival: RunConfig, changed: Change, tmp_path: Path
) -> None:
    """Of a folder with enough films, some are held out; who cannot imagine has no figure for shut eyes."""
    folder = squares(tmp_path / "clips", tiny_rival.frame, count=6)
    trainer = run(changed(tiny_rival, validation_scenes=1, **{"data.folder": folder}), tmp_path / "run")
    assert len(trainer.open_clips().apart) == 1
    (found,) = read_log(tmp_path / "run", "validation")
    assert 0 < found["copy_error"] < 200 and np.isfinite(found["explained"]) and 0 <= found["blobs_found"] <= 100
    assert (found["shut_error"] is not None) == (tiny_rival.kind == "g-swm")
    assert "NaN" not in (tmp_path / "run" / "network" / "manifest.json").read_text()
    assert [path.name for path in (tmp_path / "run" / "strips").iterdir()] == [f"update-{tiny_rival.updates:09d}.png"]


def test_one_clip_is_learnt_by_heart(tiny_rival: RunConfig, changed: Change, tmp_path: Path) -> None:
    """From noise to a quarter of the squared error of the first look, in the loop that trains them.

    Loci-v1 has to paint a square on black; its measure is the cross entropy beyond what the target has in itself.
    """
    updates = {"savi": 240, "g-swm": 160, "loci-v1": 300}[tiny_rival.kind]
    only = squares(tmp_path / "only", tiny_rival.frame, count=1, frames=2)
    config = changed(tiny_rival, **{
        "data.folder": only, "data.batch": 1, "data.mirrored": False, "curriculum.updates": updates, "log_every": 10,
        **({"curriculum.background_from": 10**6} if tiny_rival.kind == "loci-v1" else {"curriculum.blackout": 0.0}),
        "optimiser.learning_rate": 4e-3, "optimiser.clip": 1.0, "optimiser.warm_start": 1, "optimiser.final_share": 1.0,
    })
    run(config, tmp_path / "run")
    told = [record[MEASURE[config.kind]] for record in read_log(tmp_path / "run", "train")]
    errors = [squared_error(config, value) for value in told] if config.kind == "g-swm" else told
    if config.kind == "loci-v1":
        errors = [value - entropy_of_the_square() for value in told]
    assert mean(errors[-3:]) < errors[0] / 4, errors


def entropy_of_the_square() -> float:
    """Mean cross entropy of a picture with itself, the square of clip 0 on black: as low as a loss can get."""
    clip = square_clip(0, frames=2)
    frame, background = (
        torch.as_tensor(np.asarray(part)).permute(2, 0, 1)[None] / 255 for part in (clip.frames[1], clip.background)
    )
    target = faded_target(frame, background, torch.zeros(()))
    return float(picture_loss(target, target))


def squared_error(config: Any, negative_log_likelihood: float) -> float:
    """G-SWM's first term is N log N(x; painted, std) over two frames; what is left of it without its constant."""
    numbers, std = 2 * 3 * config.model.frame**2, config.model.pixel_std
    constant = numbers * (math.log(std) + 0.5 * math.log(2 * math.pi))
    return (negative_log_likelihood - constant) * 2 * std**2 / numbers


@pytest.mark.parametrize("name", RIVALS)
def test_configurations_of_runs_survive_json(name: str) -> None:
    assert read_run_config(any_recipe(name).to_json()) == any_recipe(name)


def test_every_run_says_what_it_is() -> None:
    for name, config in EVERY_RECIPE.items():
        assert config.name == name and config.updates >= config.updates_with_pictures > 0
        assert config.describe()[-1].endswith("end") and len(config.frame) == 2 and config.slots > 0
    with pytest.raises(LociError, match="a network of the kind 'slotformer', which this version"):
        read_run_config({"kind": "slotformer"})


def test_crops_are_successive_frames_of_each_clip() -> None:
    frames = torch.arange(10.0).expand(50, 10)[..., None, None, None]
    taken = crop(frames, 4, torch.Generator().manual_seed(0)).flatten(1)
    assert taken.shape == (50, 4) and (taken.diff(dim=1) == 1).all()
    assert set(taken[:, 0].tolist()) == set(range(7))
    assert crop(frames, 12, torch.Generator()) is frames


def test_the_first_frame_is_never_dark() -> None:
    frames = torch.ones(40, 6, 3, 2, 2)
    dark = darkened(frames, 0.5, torch.Generator().manual_seed(0)).amax((2, 3, 4)) == 0
    assert not dark[:, 0].any() and 0.3 < dark[:, 1:].float().mean() < 0.7
    assert darkened(frames, 0.0, torch.Generator()) is frames
    with pytest.raises(LociError, match=r"curriculum\.blackout is 1\.5"):
        CropCurriculum(updates=1, blackout=1.5)
