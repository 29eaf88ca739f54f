"""--refine: a grown network begins with an enlargement, learns details alone, and goes on exactly after a stop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from loci_looped.cli.main import main
from loci_looped.cli.train import split_line
from loci_looped.configs.recipes import any_recipe, recipe
from loci_looped.configs.refinement import refined
from loci_looped.configs.training import TrainConfig
from loci_looped.data.store.dataset import Batch
from loci_looped.inference.networks import load, save_network
from loci_looped.model import LociLooped
from loci_looped.training.log import RunLog
from loci_looped.training.loop import Trainer
from loci_looped.training.objective import NamedPhase
from loci_looped.training.refine import DETAILS, growth
from loci_looped.utils.errors import LociError

Change = Callable[..., TrainConfig]


@pytest.fixture
def elder(tiny: TrainConfig, tmp_path: Path) -> Path:
    torch.manual_seed(5)
    return save_network(tmp_path / "elder", LociLooped(tiny.model))


@pytest.fixture
def stage(tiny: TrainConfig, changed: Change) -> TrainConfig:
    return changed(refined(tiny), **{"curriculum.updates": 12, "validation_scenes": 0, "log_every": 1})


class OneSequence(Trainer):
    """Stops after its first sequence."""

    def _learn(self, batch: Batch, phase: NamedPhase, log: RunLog | None) -> None:
        super()._learn(batch, phase, log)
        self.stop()


def _trainer(config: TrainConfig, folder: Path, elder: Path) -> Trainer:
    trainer = Trainer(config, folder)
    trainer.begin_with(growth(str(elder), trainer.model.state_dict()))
    return trainer


def test_it_begins_with_all_that_the_small_network_knows(stage: TrainConfig, elder: Path, tmp_path: Path) -> None:
    grown = _trainer(stage, tmp_path / "run", elder).network()
    assert isinstance(grown, LociLooped)
    small = load(elder)
    seen = [network.decoder.background_logit() for network in (small, grown)]
    assert torch.equal(F.interpolate(seen[0], grown.config.frame), seen[1])
    assert grown.config.frame == tuple(4 * side for side in small.config.frame)
    theirs = small.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in grown.state_dict().items()
               if name in theirs and theirs[name].shape == value.shape)


def test_details_are_learnt_and_all_else_stays_bit_for_bit(stage: TrainConfig, elder: Path, tmp_path: Path) -> None:
    trainer = _trainer(stage, tmp_path / "run", elder)
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.run()
    moved = {name for name, value in trainer.model.state_dict().items() if not torch.equal(value, before[name])}
    assert moved and all(DETAILS in name for name in moved)
    assert load(tmp_path / "run").config.level == 2


def test_a_stopped_refinement_goes_on_bit_for_bit(stage: TrainConfig, elder: Path, tmp_path: Path) -> None:
    whole = _trainer(stage, tmp_path / "whole", elder)
    whole.run()
    first = OneSequence(stage, tmp_path / "parts")
    first.begin_with(growth(str(elder), first.model.state_dict()))
    first.run()
    assert 0 < first.update < whole.update
    second = Trainer(stage, tmp_path / "parts")
    second.restore()
    second.run()
    assert second.update == whole.update
    for (name, ours), theirs in zip(second.average.named_parameters(), whole.average.parameters(), strict=True):
        assert torch.equal(ours, theirs), name


def test_the_command_line_asks_for_the_second_stage() -> None:
    line = split_line(["adept-small", "--refine", "--seed", "3"])
    assert line.refine and line.rest == ["--seed", "3"]
    config = refined(any_recipe("adept-small"))
    assert config.model.frame == (160, 240) and config.name == "adept-small-refined" and config.learns == "details"
    assert TrainConfig.from_json(config.to_json()) == config
    assert recipe("adept-small").learns == "everything"


@pytest.mark.parametrize(("words", "sentence"), [
    (["adept", "--refine"], "has its second level already"),
    (["savi", "--refine"], "grows a Loci-Looped network"),
    (["adept-small", "--refine", "--start-from", "."], "leave out one of them"),
    (["adept-small", "--refine", "--begin-with", "balls-small"], "does not fit this recipe"),
])
def test_bad_refinements_are_told(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *words, "--out", str(tmp_path / "run")]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_what_has_two_levels_is_not_grown_again(stage: TrainConfig, tmp_path: Path) -> None:
    large = save_network(tmp_path / "large", LociLooped(stage.model))
    with pytest.raises(LociError, match="two levels already"):
        growth(str(large), LociLooped(stage.model).state_dict())
