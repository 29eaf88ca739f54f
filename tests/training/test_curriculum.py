"""The paper's schedules at hand-picked updates, and what a run says of its plan.

The numbers are those of the released chains of runs, written down from them by hand.
"""

from __future__ import annotations

import dataclasses
import math

import pytest

from loci_looped.configs.curriculum import Curriculum
from loci_looped.configs.recipes import RECIPES, recipe
from loci_looped.configs.training import TrainConfig, differences
from loci_looped.training.curriculum import binding_strength, phase_at
from loci_looped.training.sequence import _window_ends


def _updates_per_sequence(config: TrainConfig, frames: int, update: int) -> int:
    window = phase_at(config.curriculum, update, 0).window
    times = range(-config.warm_up, frames - 1)
    return sum(_window_ends(t, times, window, config) for t in times)


@pytest.mark.parametrize(("name", "frames", "update", "expected"), [
    ("adept", 41, 0, 50), ("adept", 41, 199_999, 50), ("adept", 41, 200_000, 30), ("adept", 41, 1_100_000, 30),
    ("clevrer", 64, 0, 73), ("clevrer", 64, 200_000, 31), ("clevrer", 64, 599_999, 31), ("clevrer", 64, 600_000, 25),
    ("balls", 100, 0, 104), ("balls", 100, 100_000, 54), ("balls", 100, 200_000, 38), ("balls", 100, 1_000_000, 38),
])
def test_updates_per_sequence_as_back_propagation_lengthens(name: str, frames: int, update: int, expected: int) -> None:
    assert _updates_per_sequence(recipe(name), frames, update) == expected


@pytest.mark.parametrize(("name", "update", "phase_name", "placement", "settling", "fade", "gate"), [
    ("adept", 0, "foreground", "stochastic", "stochastic", 0.0, False),
    ("adept", 29_950, "foreground", "stochastic", "stochastic", 0.0, False),
    ("adept", 30_050, "recruiting", "incremental", "incremental", 50 / 30_000, False),
    ("adept", 45_000, "recruiting", "incremental", "incremental", 0.5, False),
    ("adept", 60_000, "imagination", "incremental", "incremental", 1.0, True),
    ("clevrer", 45_000, "recruiting", "incremental", "stochastic", 0.5, False),
    ("clevrer", 99_999, "recruiting", "incremental", "stochastic", 1.0, False),
    ("clevrer", 100_000, "imagination", "incremental", "stochastic", 1.0, True),
    ("balls", 14_999, "foreground", "stochastic", "stochastic", 0.0, False),
    ("balls", 30_000, "foreground", "stochastic", "stochastic", 0.5, False),
    ("balls", 40_000, "imagination", "stochastic", "stochastic", 25 / 30, True),
    ("balls", 45_000, "imagination", "stochastic", "stochastic", 1.0, True),
    ("balls", 1_199_999, "imagination", "stochastic", "stochastic", 1.0, True),
])
def test_the_papers_phases(
    name: str, update: int, phase_name: str, placement: str, settling: str, fade: float, gate: bool
) -> None:
    phase = phase_at(recipe(name).curriculum, update, calls=update)
    assert (phase.name, phase.placement, phase.settle_placement) == (phase_name, placement, settling)
    assert phase.fade == pytest.approx(fade) and phase.gate_learns == gate
    assert phase.clean == (placement == "incremental") and phase.canvas == "released" and not phase.still
    assert phase.regime(settling=False).gate == ("learned" if gate else "open")
    assert phase.regime(settling=True).placement == settling


@pytest.mark.parametrize(("name", "update", "share"), [
    ("adept", 1_000_000, 0.0),
    ("clevrer", 99_999, 0.0), ("clevrer", 100_000, 0.2), ("clevrer", 700_000, 0.2),
    ("balls", 39_999, 0.0), ("balls", 40_000, 0.10), ("balls", 49_999, 0.10), ("balls", 50_000, 0.11),
    ("balls", 380_000, 0.44), ("balls", 390_000, 0.45), ("balls", 1_199_999, 0.45),
])
def test_the_papers_blackouts(name: str, update: int, share: float) -> None:
    assert phase_at(recipe(name).curriculum, update, 0).blackout == pytest.approx(share)


def test_bindings_harden_with_forward_calls() -> None:
    assert binding_strength(0) == pytest.approx(math.tanh(-1))
    assert binding_strength(9_999) < 0 == binding_strength(10_000) < binding_strength(10_001)
    assert binding_strength(100_058) < 1.0 == binding_strength(100_059)
    for name in ("adept", "clevrer", "balls"):
        curriculum = recipe(name).curriculum
        assert phase_at(curriculum, 70_000, 20_000).binding_strength == pytest.approx(math.tanh(1))
        assert phase_at(curriculum, 70_000, 120_000).binding_strength == 1.0
    hard = Curriculum(binding="hard", foreground_until=10)
    assert [phase_at(hard, update, 5).binding_strength for update in (9, 10)] == [0.0, 1.0]


@pytest.mark.parametrize(("name", "updates", "batch", "warm_up", "slots", "gate_weight", "gestalt_change"), [
    ("adept", 1_150_000, 16, 10, 7, 5e-6, 0.1), ("clevrer", 800_000, 32, 10, 6, 5e-8, 0.1),
    ("balls", 1_200_000, 128, 5, 3, 1e-5, 0.25),
])
def test_the_papers_other_numbers(
    name: str, updates: int, batch: int, warm_up: int, slots: int, gate_weight: float, gestalt_change: float
) -> None:
    config = recipe(name)
    assert (config.curriculum.updates, config.data.batch, config.warm_up) == (updates, batch, warm_up)
    assert (config.model.slots, config.model.gate.l0_weight) == (slots, gate_weight)
    assert config.loss.gestalt_change == gestalt_change and config.loss.position_change == 0.01
    assert config.loss.reconstruction == pytest.approx(1 / 3, abs=1e-6) and config.warm_up_updates
    assert config.optimiser.kind == "radam" and config.optimiser.epsilon == 1e-16 and config.optimiser.clip == 0
    assert not config.loss.balanced and not config.loss.mean_over_window and not config.loss.centring
    assert config.level_two_from == (800_000 if name == "adept" else 0)


def test_a_curriculum_tells_its_events_in_order() -> None:
    for config in RECIPES.values():
        lines = config.curriculum.describe()
        updates = [int(line.split()[0]) for line in lines]
        assert updates == sorted(updates) and updates[0] == 0 and updates[-1] == config.curriculum.updates
        assert lines[-1].endswith("end") and any("the percept gate learns" in line for line in lines)
    told = "\n".join(recipe("clevrer").curriculum.describe())
    assert "200000  back-propagation through 3 steps" in told and "600000  back-propagation through 4 steps" in told
    assert "100000  back-propagation through 2 steps" in "\n".join(recipe("balls").curriculum.describe())
    unlooped = dataclasses.replace(recipe("adept-small").curriculum, gate_from=10**9)
    assert not any("gate" in line for line in unlooped.describe())


@pytest.mark.parametrize(("field", "value", "sentence"), [
    ("updates", 0, "at least one update"), ("window_from", 3, "1 <= from <= to"), ("hold", 1.5, "probability"),
    ("error_dropout", -0.1, "probability"), ("window_steps", ((5, 0),), "without a step"),
    ("window_every", 0, "at least 1"), ("hold_to", 1, "smaller than hold_from"),
])
def test_an_impossible_curriculum_is_refused(field: str, value: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Curriculum(**{field: value})  # type: ignore[arg-type]


def test_configurations_survive_json_and_name_their_differences() -> None:
    import json

    for config in RECIPES.values():
        back = TrainConfig.from_json(json.loads(json.dumps(config.to_json())))
        assert back == config and differences(config, back) == []
    changed = dataclasses.replace(recipe("adept"), seed=4, model=dataclasses.replace(recipe("adept").model, slots=9))
    assert sorted(differences(recipe("adept"), changed)) == ["model.slots: 7 -> 9", "seed: 0 -> 4"]
    with pytest.raises(ValueError, match="another version"):
        TrainConfig.from_json(recipe("adept").to_json() | {"sed": 3})
    with pytest.raises(ValueError, match="Did you mean balls"):
        recipe("ball")
