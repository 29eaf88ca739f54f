"""The training runs of the rivals by name: their papers' sizes and schedules, and small ones for two CPU cores.

Where a paper trained on ADEPT or CLEVRER, the clips here are those of our generators.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loci_looped.configs.gswm import PRESETS as GSWM
from loci_looped.configs.gswm import GswmConfig
from loci_looped.configs.loci_v1 import PRESETS as LOCI_V1
from loci_looped.configs.loci_v1 import LociV1Config
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


@dataclass(frozen=True)
class SaviLoss:
    """What SAVi has to paint. The defaults are the paper's: the whole frame, every pixel alike."""

    on_black: bool = False
    """Paint what stands before the background, on black. All other networks are given the background; a small SAVi
    that must paint floor and wall, too, has nothing left for things of a few pixels."""
    balanced: bool = False
    """Objects and the rest weigh the same in sum, and small objects as much as large ones."""


@dataclass(frozen=True, kw_only=True)
class SaviTraining(CropTraining):
    """SAVi and StoSAVi."""

    model: SaviConfig
    loss: SaviLoss = field(default_factory=SaviLoss)

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


@dataclass(frozen=True)
class LociV1Curriculum:
    """Whole clips, an update after every time step. At first the background is black, in the picture and its target."""

    updates: int = 1_150_000
    """Training ends here."""
    background_from: int = 30_000
    """From here on the background fades in, about one learning rate per update."""
    warm_up: int = 10
    """Steps on the first frame before time begins."""
    background_over: int = 0
    """With more than 0 the background fades in by this schedule, over so many updates."""
    colours_from: int = 0
    """With such a schedule: from here on what has not faded in is a plain random colour instead of black. On black a
    slot may paint black around its object for nothing, and when the background comes all of that is wrong."""
    colours_share: float = 0.0
    """Share of the sequences that keep random colours behind the objects for good, so that masks stay opaque."""
    still_until: int = 0
    """Before this update sequences are single frames, each looked at for `warm_up` steps."""
    crop: int = 0
    """After that, sequences are so many successive frames; 0 is whole clips."""

    def __post_init__(self) -> None:
        if min(self.background_over, self.still_until, self.crop) < 0 or self.crop == 1:
            raise LociError(
                "curriculum.background_over, still_until and crop must not be negative, and a crop has two frames at "
                f"least; they are {self.background_over}, {self.still_until} and {self.crop}."
            )
        if not 0 <= self.colours_share <= 1:
            raise LociError(f"curriculum.colours_share is {self.colours_share}, but it is a share.")
        if self.updates < 1 or self.warm_up < 1 or self.background_from < 0:
            raise LociError(
                "curriculum.updates and warm_up must be at least 1, and background_from not negative; they are "
                f"{self.updates}, {self.warm_up} and {self.background_from}."
            )

    def describe(self) -> list[str]:
        shown = "single frames" if self.still_until else f"crops of {self.crop} frames" if self.crop else "whole clips"
        events = [(0, f"foreground: slots paint on black, {shown}"), (self.background_from, "background: it fades in")]
        if self.background_over:
            events.append((self.background_from + self.background_over, "background: it is wholly there"))
            events.append((self.colours_from, "random colours in place of black"))
        if self.still_until:
            events.append((self.still_until, f"crops of {self.crop} frames" if self.crop else "whole clips"))
        told = [(update, text) for update, text in sorted(events) if update < self.updates]
        return [f"{update:>9}  {text}" for update, text in [*told, (self.updates, "end")]]


@dataclass(frozen=True)
class LociV1Loss:
    """Weights of the regularising losses beside the prediction's; the released ones are all 1."""

    position_change: float = 1.0
    object_permanence: float = 1.0
    gestalt_change: float = 1.0
    balanced: bool = False
    """Beyond the paper: foreground and background weigh the same in sum, and small objects as much as large ones."""


@dataclass(frozen=True, kw_only=True)
class LociV1Training(RunConfig):
    """Loci-v1."""

    model: LociV1Config
    curriculum: LociV1Curriculum = field(default_factory=LociV1Curriculum)
    loss: LociV1Loss = field(default_factory=LociV1Loss)
    background_factor: float = 1.0
    """Learning rate of the background's mask and fading, as a multiple."""
    level_two_from: int = 0
    """Grow the network to level 2 at this update; 0 is never."""

    @property
    def kind(self) -> str:
        return "loci-v1"

    @property
    def frame(self) -> tuple[int, int]:
        return self.model.frame

    @property
    def slots(self) -> int:
        return self.model.slots

    @property
    def updates_with_pictures(self) -> int:
        return self.curriculum.updates

    @property
    def warm_up_steps(self) -> int:
        return self.curriculum.warm_up

    def level_at(self, update: int) -> int:
        return 2 if self.level_two_from and update >= self.level_two_from else self.model.level

    def describe(self) -> list[str]:
        return self.curriculum.describe()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **super().to_json()}


_CROPS = {"data": DataConfig, "optimiser": OptimiserConfig, "curriculum": CropCurriculum}
_LOCI_V1 = {
    "data": DataConfig, "optimiser": OptimiserConfig, "curriculum": LociV1Curriculum, "loss": LociV1Loss,
}

_READERS: dict[str, Callable[[dict[str, Any]], RunConfig]] = {
    "loci-looped": TrainConfig.from_json,
    "savi": lambda values: from_parts(
        SaviTraining, SaviConfig.from_json, {**_CROPS, "loss": SaviLoss}, {"loss": {}, **values}
    ),
    "loci-v1": lambda values: from_parts(LociV1Training, LociV1Config.from_json, _LOCI_V1, values),
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
"""The clips of adept-small. Its 6000 updates take about 6 minutes of one core; the small rivals have as many updates as
they make in that time."""

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
    # The Loci-Looped paper ran it on ADEPT with its own schedule: four runs in a chain, the last one at level 2.
    "loci-v1": LociV1Training(
        name="loci-v1", model=LOCI_V1["loci-v1"], data=DataConfig(stride=1),
        optimiser=OptimiserConfig(
            steps=((400_000, 3.333e-5), (600_000, 3.333e-5), (800_000, 3.333e-5)), initial_until=1_150_000
        ),
        level_two_from=800_000,
    ),
    "loci-v1-small": LociV1Training(
        name="loci-v1-small", model=LOCI_V1["loci-v1-small"], data=_ADEPT_SMALL,
        optimiser=OptimiserConfig(
            kind="adamw", learning_rate=1e-3, beta2=0.99, epsilon=1e-8, clip=0.5, initial_factor=1.0, initial_until=0,
            final_share=0.02, average=0.999,
        ),
        curriculum=LociV1Curriculum(
            updates=2_800, background_from=1_200, background_over=200, colours_from=600, colours_share=0.4,
            still_until=1_200, warm_up=5, crop=16,
        ),
        loss=LociV1Loss(balanced=True, gestalt_change=0.0), validate_every=1_000,
    ),
    # Short crops and small batches: what a short training lacks most is updates.
    "savi-small": SaviTraining(
        name="savi-small", model=SAVI["savi-small"], data=dataclasses.replace(_ADEPT_SMALL, batch=4),
        optimiser=_adam(2e-3, 1.0, warm_start=200, final_share=0.02),
        curriculum=CropCurriculum(updates=6_000, length=2, longer_by=2, longer_every=4_500, longest=4),
        loss=SaviLoss(on_black=True, balanced=True), validate_every=1_500,
    ),
    # For sensory interruptions, where it has to paint whole pictures as everybody does; six objects and the table.
    "savi-collide-small": SaviTraining(
        name="savi-collide-small", model=dataclasses.replace(SAVI["savi-small"], slots=7),
        data=DataConfig(world="collide", batch=4, clips=400, stride=2),
        optimiser=_adam(2e-3, 1.0, warm_start=200, final_share=0.02),
        curriculum=CropCurriculum(updates=5_000, length=4, longer_by=2, longer_every=3_000, longest=6, blackout=0.2),
        loss=SaviLoss(balanced=True), validate_every=1_250,
    ),
    "gswm-small": GswmTraining(
        name="gswm-small", model=GSWM["gswm-small"], data=_ADEPT_SMALL,
        optimiser=_adam(1e-3, 1.0, warm_start=100),
        curriculum=CropCurriculum(updates=2_100, length=2, longer_by=2, longer_every=700, longest=6),
        validate_every=1_050,
    ),
    # Balls are bright on black and all in sight. Crops get long early: what is asked for is imagination.
    "gswm-balls-small": GswmTraining(
        name="gswm-balls-small", model=GSWM["gswm-balls-small"],
        data=DataConfig(world="balls-interaction", batch=8, clips=600), optimiser=_adam(1e-3, 1.0, warm_start=100,
        final_share=0.1), curriculum=CropCurriculum(updates=1_200, length=2, longer_by=2, longer_every=250, longest=8),
        validate_every=600,
    ),
}

ABOUT: dict[str, str] = {
    "savi": "the rival SAVi (StoSAVi) in its published size, for GPUs",
    "savi-clevrer": "the same for colliding objects, with blackouts",
    "gswm-balls": "the rival G-SWM in its published size, for bouncing balls",
    "gswm-adept": "the same with a given background, for the clips of adept",
    "loci-v1": "the forerunner Loci-v1 in the paper's size, for GPUs",
    "loci-v1-small": "Loci-v1 on the clips of adept-small, on one CPU core in as many minutes",
    "savi-small": "SAVi on the clips of adept-small, on one CPU core in as many minutes",
    "savi-collide-small": "SAVi on the colliding objects of clevrer-small, a fifth of the frames black",
    "gswm-small": "G-SWM likewise, on square frames",
    "gswm-balls-small": "G-SWM on bouncing balls, on one CPU core in as many minutes",
}
