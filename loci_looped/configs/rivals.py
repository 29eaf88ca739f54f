"""The training runs of the rivals by name: their papers' sizes and schedules, and small ones for two CPU cores.

Where a paper trained on ADEPT or CLEVRER, the clips here are those of our generators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loci_looped.configs.gswm import PRESETS as GSWM
from loci_looped.configs.gswm import GswmConfig
from loci_looped.configs.savi import PRESETS as SAVI
from loci_looped.configs.savi import SaviConfig
from loci_looped.configs.training import DataConfig, OptimiserConfig, RunConfig, TrainConfig, from_parts
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class CropCurriculum:
    """Learning from crops: some successive frames of each clip, beginning anywhere, perhaps longer and longer."""

    updates: int
    """Training ends here."""
    length: int = 6
    """Frames per crop at the start."""
    longer_by: int = 0
    longer_every: int = 10_000
    """Updates after which crops get `longer_by` frames more."""
    longest: int = 20
    blackout: float = 0.0
    """Share of the frames after the first that are shown black; what is to be painted stays as it was."""

    def __post_init__(self) -> None:
        for name in ("updates", "length", "longer_every", "longest"):
            if getattr(self, name) < 1:
                raise LociError(f"curriculum.{name} is {getattr(self, name)}, but it must be at least 1.")
        if self.longer_by < 0:
            raise LociError(f"curriculum.longer_by is {self.longer_by}, but crops never get shorter.")
        if not 0 <= self.blackout <= 1:
            raise LociError(f"curriculum.blackout is {self.blackout}, but it is a probability.")

    def length_at(self, update: int) -> int:
        """Frames per crop at this update."""
        return min(self.length + self.longer_by * (update // self.longer_every), max(self.longest, self.length))

    def describe(self) -> list[str]:
        lines, length = [], 0
        for update in range(0, self.updates, self.longer_every):
            if self.length_at(update) != length:
                length = self.length_at(update)
                lines.append(f"{update:>9}  crops of {length} frames")
        return [*lines, f"{self.updates:>9}  end"]


@dataclass(frozen=True, kw_only=True)
class CropTraining(RunConfig):
    """A rival that learns from crops."""

    curriculum: CropCurriculum

    @property
    def updates_with_pictures(self) -> int:
        return self.curriculum.updates

    def describe(self) -> list[str]:
        return self.curriculum.describe()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **super().to_json()}


@dataclass(frozen=True, kw_only=True)
class SaviTraining(CropTraining):
    """SAVi and StoSAVi."""

    model: SaviConfig

    @property
    def kind(self) -> str:
        return "savi"

    @property
    def frame(self) -> tuple[int, int]:
        return self.model.frame

    @property
    def slots(self) -> int:
        """One of them has to paint the background."""
        return self.model.slots - 1


@dataclass(frozen=True, kw_only=True)
class GswmTraining(CropTraining):
    """G-SWM."""

    model: GswmConfig

    @property
    def kind(self) -> str:
        return "g-swm"

    @property
    def frame(self) -> tuple[int, int]:
        return self.model.frame, self.model.frame

    @property
    def slots(self) -> int:
        return self.model.max_objects


_CROPS = {"data": DataConfig, "optimiser": OptimiserConfig, "curriculum": CropCurriculum}

_READERS: dict[str, Callable[[dict[str, Any]], RunConfig]] = {
    "loci-looped": TrainConfig.from_json,
    "savi": lambda values: from_parts(SaviTraining, SaviConfig.from_json, _CROPS, values),
    "g-swm": lambda values: from_parts(GswmTraining, GswmConfig.from_json, _CROPS, values),
}


def read_run_config(values: dict[str, Any]) -> RunConfig:
    """The configuration a run was started with, whichever network learns in it; the inverse of `to_json`."""
    known = dict(values)
    kind = known.pop("kind", "loci-looped")
    if kind not in _READERS:
        raise LociError(
            f"The run trains a network of the kind {kind!r}, which this version of the package does not know; it knows "
            f"{', '.join(_READERS)}."
        )
    return _READERS[kind](known)


def _adam(learning_rate: float, clip: float, *, warm_start: int = 0, final_share: float = 1.0) -> OptimiserConfig:
    """Adam without weight decay, as both papers use it."""
    return OptimiserConfig(
        kind="adamw", learning_rate=learning_rate, clip=clip, warm_start=warm_start, final_share=final_share,
        beta2=0.999, epsilon=1e-8, initial_factor=1.0, initial_until=0,
    )


_ADEPT_SMALL = DataConfig(batch=8, clips=400)
"""The clips of adept-small. Its 6000 updates take 13 minutes of one core; the small rivals have as many updates as they
make in that time."""

RIVALS: dict[str, RunConfig] = {
    # StoSAVi on ADEPT: CLEVRER's network and rate for 4 of its 12 epochs; longer training drops the objects.
    "savi": SaviTraining(
        name="savi", model=SAVI["savi"], data=DataConfig(batch=64), optimiser=_adam(1e-4, 0.05, warm_start=1_900,
        final_share=0.01), curriculum=CropCurriculum(updates=77_000),
    ),
    "savi-clevrer": SaviTraining(
        name="savi-clevrer", model=SAVI["savi"], data=DataConfig(world="collide", batch=64, clips=10_000),
        optimiser=_adam(1e-4, 0.05, warm_start=5_750, final_share=0.01),
        curriculum=CropCurriculum(updates=230_000, blackout=0.2),
    ),
    "gswm-balls": GswmTraining(
        name="gswm-balls", model=GSWM["gswm-balls"], data=DataConfig(world="balls-interaction", batch=16, clips=10_000),
        optimiser=_adam(1e-4, 1.0), curriculum=CropCurriculum(updates=160_000, length=2, longer_by=2),
    ),
    "gswm-adept": GswmTraining(
        name="gswm-adept", model=GSWM["gswm-adept"], data=DataConfig(batch=16), optimiser=_adam(1e-4, 1.0),
        curriculum=CropCurriculum(updates=250_000, length=2, longer_by=2),
    ),
    "savi-small": SaviTraining(
        name="savi-small", model=SAVI["savi-small"], data=_ADEPT_SMALL,
        optimiser=_adam(4e-4, 0.05, warm_start=100, final_share=0.01),
        curriculum=CropCurriculum(updates=1_400), validate_every=350,
    ),
    "gswm-small": GswmTraining(
        name="gswm-small", model=GSWM["gswm-small"], data=_ADEPT_SMALL,
        optimiser=_adam(3e-4, 1.0, warm_start=100),
        curriculum=CropCurriculum(updates=1_800, length=2, longer_by=2, longer_every=450, longest=8),
        validate_every=450,
    ),
}

ABOUT: dict[str, str] = {
    "savi": "the rival SAVi (StoSAVi) in its published size, for GPUs",
    "savi-clevrer": "the same for colliding objects, with blackouts",
    "gswm-balls": "the rival G-SWM in its published size, for bouncing balls",
    "gswm-adept": "the same with a given background, for the clips of adept",
    "savi-small": "SAVi on the clips of adept-small, on one CPU core in as many minutes",
    "gswm-small": "G-SWM likewise, on square frames",
}
