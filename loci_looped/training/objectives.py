"""Which objective goes with which configuration."""

from __future__ import annotations

from typing import Any

from loci_looped.configs.rivals import GswmTraining, LociV1Training, SaviTraining
from loci_looped.configs.training import RunConfig, TrainConfig
from loci_looped.training.loci_objective import LociObjective
from loci_looped.training.loci_v1_objective import LociV1Objective
from loci_looped.training.objective import Objective
from loci_looped.training.rival_objectives import GswmObjective, SaviObjective

_OBJECTIVES: dict[type[RunConfig], type[Objective[Any, Any, Any]]] = {
    TrainConfig: LociObjective, SaviTraining: SaviObjective, LociV1Training: LociV1Objective,
    GswmTraining: GswmObjective,
}


def objective_of(config: RunConfig) -> Objective[Any, Any, Any]:
    """What a run of this configuration is about."""
    return _OBJECTIVES[type(config)](config)
