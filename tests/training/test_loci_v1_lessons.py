"""The short training of Loci-v1: stills on black, then crops before a background that fades in by a schedule."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from loci_looped.configs.recipes import any_recipe
from loci_looped.configs.rivals import LociV1Curriculum
from loci_looped.training.loci_v1_objective import LociV1Objective, V1Phase
from loci_looped.utils.errors import LociError

LESSONS = LociV1Curriculum(
    updates=20, background_from=6, background_over=4, colours_from=2, still_until=4, warm_up=2, crop=5,
)


def objective(**changes: Any) -> LociV1Objective:
    recipe: Any = any_recipe("loci-v1-small")
    network = dataclasses.replace(
        recipe.model, slots=2, gestalt=8, latent=(4, 6), encoder_channels=12, decoder_channels=12
    )
    return LociV1Objective(dataclasses.replace(
        recipe, model=network, curriculum=dataclasses.replace(LESSONS, **changes)
    ))


def windows(taught: LociV1Objective, phase: V1Phase) -> list[Any]:
    torch.manual_seed(0)
    frames = torch.rand(2, 9, 3, 16, 24, generator=torch.Generator().manual_seed(1))
    model = taught.build().train()
    return list(taught.windows(model, frames, torch.zeros(2, 3, 16, 24), phase, torch.Generator().manual_seed(0)))


def test_phases_follow_the_schedule() -> None:
    taught = objective()
    at = {update: taught.phase(update, 0) for update in (0, 3, 5, 6, 8, 10, 15)}
    assert [at[u].name for u in (0, 3, 5, 6, 15)] == ["stills", "stills", "foreground", "background", "background"]
    assert [at[u].fade for u in (5, 6, 8, 10, 15)] == [0, 0, 0.5, 1, 1]
    assert not at[0].coloured and at[3].coloured
    assert [taught.is_worth_a_look(at[u]) for u in (5, 8, 10)] == [False, False, True]


def test_stills_are_looked_at_and_crops_are_followed() -> None:
    taught = objective()
    assert len(windows(taught, taught.phase(0, 0))) == 2                # the steps of the warm-up
    followed = windows(taught, taught.phase(15, 0))
    assert len(followed) == 2 + 4                                       # and a prediction for all frames but the first
    assert followed[0].parts["object_permanence"] == 0 and "foreground_error" in followed[0].parts
    assert all(torch.isfinite(window.loss) for window in followed)


def test_some_sequences_keep_their_colours() -> None:
    taught = objective(colours_share=1.0)
    assert {window.parts["background"] for window in windows(taught, taught.phase(15, 0))} == {0.0}
    taught = objective(colours_share=0.0)
    assert {window.parts["background"] for window in windows(taught, taught.phase(15, 0))} == {1.0}


def test_in_use_the_background_is_wholly_there() -> None:
    assert float(objective().build().backdrop.strength()) == 1.0


@pytest.mark.parametrize("wrong", [{"crop": 1}, {"background_over": -1}, {"colours_share": 2.0}])
def test_impossible_lessons_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LociError, match="curriculum"):
        dataclasses.replace(LESSONS, **wrong)


def test_the_lessons_are_told_in_order() -> None:
    assert [line.split()[0] for line in LESSONS.describe()] == ["0", "2", "4", "6", "10", "20"]
    assert "crops of 5 frames" in LESSONS.describe()[2] and LESSONS.describe()[-1].endswith("end")
    published = LociV1Curriculum(updates=50, background_from=30)
    assert [line.split()[0] for line in published.describe()] == ["0", "30", "50"]
