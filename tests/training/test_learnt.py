"""What `adept-learnt` knows about hidden things it has learnt: take the learnt parts away and it is gone."""

from __future__ import annotations

import pytest
import torch

import loci_looped
from loci_looped.configs.extensions import Rules
from loci_looped.configs.scenes import FIRST_VALIDATION_SEED
from loci_looped.data.clip import Clip
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.evaluation.evaluated_model import open_model
from loci_looped.evaluation.experiments.openings import openings_by_occlusion
from loci_looped.evaluation.experiments.scoring import watch_and_score
from loci_looped.model import LociLooped
from loci_looped.training.validation import Validation, validate, validation_clips


@pytest.fixture(scope="module")
def network() -> LociLooped:
    return loci_looped.load("adept-learnt")


@pytest.fixture(scope="module")
def clips(network: LociLooped) -> list[Clip]:
    return validation_clips(8, network.config.frame)


@pytest.fixture(scope="module")
def as_learnt(network: LociLooped, clips: list[Clip]) -> Validation:
    return validate(network, clips, "learned")


def test_nothing_in_it_is_a_rule(network: LociLooped) -> None:
    assert network.config.extensions.rules == Rules()
    assert not [type(m) for m in network.modules() if type(m).__module__.endswith("extensions.rules")]


def test_it_keeps_hidden_movers_in_mind(as_learnt: Validation) -> None:
    assert as_learnt.successful >= 85 and as_learnt.occluded_error < 6


def test_the_gate_has_learnt_when_to_believe_its_eyes(network: LociLooped) -> None:
    """Open for what is in plain sight, shut for what is hidden, and less and less open between."""
    films = [ClipSpec("vanish-control", FIRST_VALIDATION_SEED + number, network.config.frame) for number in range(8)]
    scored, _ = watch_and_score(open_model("adept-learnt"), films, "learned")
    position = {name: float(openings[:, 1].mean()) for name, openings in openings_by_occlusion(scored)}
    assert position["0"] > 0.3 and position["1"] < 0.1
    assert position["0"] > position["0.2-0.4"] > position["0.6-0.8"]


def test_the_learnt_gate_is_worth_more_than_the_rule_of_visibility(
    network: LociLooped, clips: list[Clip], as_learnt: Validation
) -> None:
    assert validate(network, clips, "visibility").successful <= as_learnt.successful - 10


def test_without_what_was_learnt_permanence_is_gone(
    network: LociLooped, clips: list[Clip], as_learnt: Validation
) -> None:
    """The same eyes with a fresh transition and a fresh gate."""
    torch.manual_seed(0)
    forgetful = LociLooped(network.config)
    learnt = network.state_dict()
    forgetful.load_state_dict({
        name: value if name.startswith(("transition.", "gate.")) else learnt[name]
        for name, value in forgetful.state_dict().items()
    })
    naive = validate(forgetful.eval(), clips, "learned")
    assert naive.successful < as_learnt.successful / 2
    assert naive.occluded_error > 1.5 * as_learnt.occluded_error
