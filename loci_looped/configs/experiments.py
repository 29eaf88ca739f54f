"""The experiments by name, and what each does unless told otherwise."""

from __future__ import annotations

from typing import Literal, get_args

from loci_looped.configs.network import GateKind

ExperimentName = Literal["tracking", "surprise", "interruptions", "imagination", "ablation"]
EXPERIMENTS: tuple[ExperimentName, ...] = get_args(ExperimentName)
DEFAULT_GATES: dict[ExperimentName, tuple[GateKind, ...]] = {
    "tracking": ("learned", "open", "visibility"), "ablation": ("learned", "open", "visibility"),
    "surprise": ("learned",), "interruptions": ("learned", "open", "visibility", "closed"), "imagination": ("learned",),
}
DEFAULT_SCENES: dict[ExperimentName, int] = {"interruptions": 24, "imagination": 50}
"""The others take the paper's test set."""

PAIRS = 20
"""surprise: matched pairs of each violation."""

PROBABILITIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""interruptions: how often it is dark."""
PUBLISHED_PROBABILITY = 0.2

Mode = Literal["black", "imagine", "auto"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""imagination: what is shown after the frames that are seen: black frames, nothing at all, or the own prediction."""
SEEN = 10
STEPS = 50
"""imagination: frames that are seen, then frames that are imagined."""

BATCH = 8
"""Clips a model watches together; more are not faster on a CPU."""
