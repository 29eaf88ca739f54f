"""Each way to collapse has its sentence, and each sentence names flags that exist."""

from __future__ import annotations

import dataclasses
import re

import pytest

from loci_looped.configs.curriculum import PhaseName
from loci_looped.configs.recipes import recipe
from loci_looped.training.diagnostics import EARLY, diagnose, too_short
from loci_looped.training.validation import Validation

WELL = Validation(
    visible_error=2.0, occluded_error=3.0, successful=98, movers_found=97, slots_per_mover=1.02, hidden_mask=95,
    gestalt_gate_visible=0.6, gestalt_gate_hidden=0.1, position_gate_visible=0.8, position_gate_hidden=0.05,
)
ALIVE = {"bound_slots": 2.4, "foreground_error": 0.006, "bare_error": 0.08}

CASES: list[tuple[str, PhaseName, dict[str, float], dict[str, float]]] = [
    ("nothing bound", "foreground", {"bound_slots": 0.01}, {}),
    ("background only", "recruiting", {"foreground_error": 0.079}, {}),
    ("dead slots", "recruiting", {}, {"movers_found": 12.0}),
    ("split objects", "recruiting", {}, {"slots_per_mover": 2.3}),
    ("gate open", "imagination", {}, {"position_gate_visible": 0.99, "position_gate_hidden": 0.97}),
    ("gate shut", "imagination", {}, {"position_gate_visible": 0.001, "position_gate_hidden": 0.0}),
]


@pytest.mark.parametrize(("kind", "phase", "means", "look"), CASES)
def test_each_collapse_is_told(kind: str, phase: PhaseName, means: dict[str, float], look: dict[str, float]) -> None:
    found = diagnose(EARLY, phase, ALIVE | means, dataclasses.replace(WELL, **look))
    assert list(found) == [kind]


def test_a_healthy_run_and_a_young_one_are_left_in_peace() -> None:
    phases: tuple[PhaseName, ...] = ("foreground", "recruiting", "imagination")
    for phase in phases:
        assert diagnose(20_000, phase, ALIVE, WELL) == {}
        assert diagnose(EARLY - 1, phase, {"bound_slots": 0.0}) == {}
    blind = dataclasses.replace(WELL, movers_found=0.0)
    assert diagnose(20, "foreground", {}, blind) == {}          # after 20 updates nobody has found anything
    nothing = dataclasses.replace(WELL, **{field.name: float("nan") for field in dataclasses.fields(WELL)})
    assert diagnose(20_000, "imagination", {}, nothing) == {}
    assert diagnose(20_000, "foreground", ALIVE | {"foreground_error": 0.2}, WELL) == {}      # drawn on black


def test_a_run_that_ends_early_is_told_so_instead_of_being_called_dead() -> None:
    assert too_short(20, 6000) == (
        "20 updates are too few to tell whether this network learns, whose recipe has 6000: what it says means little "
        "yet."
    )
    assert "recipe" not in too_short(20, None) and too_short(EARLY, 6000) == ""


def _flags(values: object, prefix: str = "") -> set[str]:
    found = set()
    for field in dataclasses.fields(values):  # type: ignore[arg-type]
        value, name = getattr(values, field.name), prefix + field.name.replace("_", "-")
        found |= _flags(value, name + ".") if dataclasses.is_dataclass(value) else {"--" + name}
    return found


def test_sentences_advise_flags_that_exist() -> None:
    known = _flags(recipe("adept-small"))
    assert "--model.gate.l0-weight" in known
    for _, phase, means, look in CASES:
        for sentence in diagnose(EARLY, phase, ALIVE | means, dataclasses.replace(WELL, **look)).values():
            advised = re.findall(r"--[a-z0-9.-]*[a-z0-9]", sentence)
            assert advised and set(advised) <= known, sentence
