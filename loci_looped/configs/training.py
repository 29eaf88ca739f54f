"""What a training run is made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from loci_looped.configs.curriculum import Curriculum
from loci_looped.configs.network import LociConfig
from loci_looped.configs.rehearsal import RehearsalConfig
from loci_looped.configs.scenes import TrainingScene
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class DataConfig:
    world: TrainingScene = "vanish"
    """The generator."""
    folder: str = ""
    """Train on what lies below a folder instead: films, folders of frames, .clip files, ADEPT, CLEVRER, G-SWM, mixed.
    """
    clips: int = 1000
    """How many different clips are generated."""
    first_seed: int = 0
    stride: int = 1
    """Use every n-th frame, beginning anywhere in the first n."""
    batch: int = 16
    """Clips per update, over all processes together."""
    length: int = 41
    """Of a folder: what is longer is cut into clips of so many frames (after `stride`)."""
    crop: str = "none"
    """Of a folder: what is seen of films. none: all, squeezed into the network's shape, as `loci watch` does; middle;
    or TOP,LEFT,HEIGHT,WIDTH in the film's pixels."""
    occluder: str = "auto"
    """Of a folder: what stands still and hides others: found where it can be told (auto), none, or a picture that is
    white where it stands."""
    moving_camera: Literal["refuse", "leave_out", "use"] = "refuse"
    """Of a folder: what to do about films whose camera does not stand still."""
    held_out: float = 0.15
    """Of a folder: share of the films that is never trained on, but validated."""
    mirrored: bool = True
    """Of a folder: half of the clips, another half each time, are shown mirrored left to right: films are few."""

    def described(self) -> str:
        """What is learnt from, in words."""
        return self.origin if self.folder else f"generated {self.world} scenes"

    @property
    def origin(self) -> str:
        """The world that a network learns about: a generator's name, or "films of FOLDER"."""
        name = self.folder.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        return f"films of {name}" if self.folder else self.world


@dataclass(frozen=True)
class OptimiserConfig:
    kind: Literal["radam", "adamw"] = "radam"
    """"radam" is the paper's rectified Adam; "adamw" with gradient clipping suits small networks."""
    learning_rate: float = 1e-4
    steps: tuple[tuple[int, float], ...] = ()
    """(update, learning rate): from that update on, as the paper's chain of runs does."""
    decay: float = 1.0
    """Factor on the learning rate every `decay_every` updates."""
    decay_every: int = 100_000
    final_share: float = 1.0
    """Cosine decay over the whole run, down to this share of the learning rate; 1 is off."""
    again: tuple[tuple[int, float], ...] = ()
    """(update, share): there the cosine is at its end, and another one begins at this share of the learning rate."""
    warm_start: int = 100
    """"adamw": the learning rate rises over so many updates; rectified Adam does that by itself."""
    initial_factor: float = 30.0
    """Learning rate of the initial states, as a multiple, until `initial_until`."""
    initial_until: int = 50_000
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-16
    clip: float = 0.0
    """Largest gradient norm; 0 is off."""
    average: float = 0.0
    """Decay of the exponential moving average of the weights, which is what gets evaluated and shipped; 0 is off."""


@dataclass(frozen=True)
class LossConfig:
    """Weights of the loss table."""

    prediction: float = 1.0
    """The next frame as imagined. With 0 pictures teach seeing alone: the present is painted from what is sensed."""
    reconstruction: float = 0.333333
    position_change: float = 0.01
    gestalt_change: float = 0.1
    centring: float = 0.0
    """Beyond the paper: place codes in the middle of whole-object masks."""
    centring_above: float = 0.0
    """Pixels of a mask count for its middle only where they are above this."""
    cut_off_above: float = 0.5
    """What is painted more strongly than this at the image's border is cut off by it and not centred. With 1 nothing
    is: in a box all that touches its wall is there as a whole."""
    balanced: bool = False
    """Beyond the paper: foreground and background pixels weigh the same in sum."""
    outlines: bool = False
    """Beyond the paper, with `balanced`: small objects weigh as much as large ones, and outlines belong to objects."""
    margin: float = 0.0
    """Beyond the paper: painted colours count as if they kept so far from black and white. A pixel that is painted
    wholly wrong then costs -log(margin) and can be taken back; without it costs 100 and has no slope. 0 is off."""
    haze: float = 0.0
    """Beyond the paper: what slots show where nothing stands before the empty scene, which must be known."""
    mean_over_window: bool = False
    """Divide a window's loss by its length; the paper sums."""

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 0.5:
            raise ValueError(f"loss.margin is {self.margin}, but it must be at least 0 and below a half.")


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """What every training run is made of, whichever network learns; each kind of network adds its own."""

    name: str
    data: DataConfig = field(default_factory=DataConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    precision: Literal["auto", "single", "bfloat16"] = "single"
    """Arithmetic of the convolutions. "bfloat16" takes half the time where the processor or the GPU has instructions
    for it; "auto" chooses it there, and a run keeps what it began with."""
    compile: bool = False
    """Compile the convolution stacks; for GPUs."""
    seed: int = 0
    minutes: float = 0.0
    """Stop after so many minutes by the clock, preparing excluded, wherever the curriculum is; 0 is no limit."""
    checkpoint_minutes: float = 3.0
    log_every: int = 100
    validate_every: int = 5000
    validation_scenes: int = 16
    """Scenes of the quick look during training; with 0 there is none."""

    @property
    def kind(self) -> str:
        """Which kind of network learns."""
        raise NotImplementedError

    @property
    def frame(self) -> tuple[int, int]:
        """(H, W) of the frames the network begins with."""
        raise NotImplementedError

    @property
    def slots(self) -> int:
        """How many objects the network can hold."""
        raise NotImplementedError

    @property
    def updates_with_pictures(self) -> int:
        """The length of the curriculum."""
        raise NotImplementedError

    @property
    def updates(self) -> int:
        """Of the whole run."""
        return self.updates_with_pictures

    @property
    def warm_up_steps(self) -> int:
        """Steps on the first frame before time begins."""
        return 0

    def level_at(self, update: int) -> int:
        """The level a network that can grow finer works at."""
        del update
        return 1

    def describe(self) -> list[str]:
        """The curriculum in words, for the first screen of a run."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class TrainConfig(RunConfig):
    """Loci-Looped."""

    model: LociConfig
    loss: LossConfig = field(default_factory=LossConfig)
    curriculum: Curriculum = field(default_factory=Curriculum)
    rehearsal: RehearsalConfig = field(default_factory=RehearsalConfig)
    warm_up: int = 10
    """Steps on the first frame before time begins."""
    warm_up_updates: bool = True
    """Update after every warm-up step (the paper); otherwise the warm-up has windows like the rest."""
    level_two_from: int = 0
    """Grow the network to level 2 at this update; 0 is never."""
    noise: bool = True
    """Binarisation, priority and gate noise; off only to compare runs number by number."""
    learns: Literal["everything", "details"] = "everything"
    """"details": of a network that has grown out of another only what level 2 adds to its pictures (`--refine`)."""

    def __post_init__(self) -> None:
        if self.rehearsal.unlooped and self.curriculum.gate_from < self.curriculum.updates:
            raise LociError(
                "rehearsal.unlooped keeps the gate open for good, but with pictures it would learn from update "
                f"{self.curriculum.gate_from} on: set curriculum.gate_from to {self.curriculum.updates} or more."
            )
        if self.rehearsal.rounds and self.model.extensions.rules.displacement:
            raise LociError(
                "model.extensions.rules.displacement reads off masks how far things moved, but rehearsal has no "
                "pictures: leave one of them out (rehearsal.rounds_at, or the rule)."
            )

    @property
    def kind(self) -> str:
        return "loci-looped"

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
    def updates(self) -> int:
        """Of the whole run: the curriculum, and the rounds of rehearsal."""
        return self.curriculum.updates + self.rehearsal.rounds * self.rehearsal.updates

    @property
    def warm_up_steps(self) -> int:
        return self.warm_up

    def level_at(self, update: int) -> int:
        return 2 if self.level_two_from and update >= self.level_two_from else self.model.level

    def describe(self) -> list[str]:
        if self.learns == "details":
            return [f"{self.curriculum.updates:>9}  updates, all on stills: details of what it paints already"]
        return self.curriculum.describe()

    @staticmethod
    def from_json(values: dict[str, Any]) -> TrainConfig:
        """The inverse of `to_json`; runs of the time before rehearsal had none."""
        return from_parts(TrainConfig, LociConfig.from_json, _PARTS, {"rehearsal": {}, **values})


Config = TypeVar("Config", bound=RunConfig)


def from_parts(
    kind: type[Config], read_model: Callable[[Any], Any], parts: dict[str, Any], values: dict[str, Any]
) -> Config:
    """A run's configuration from its JSON object: the network's and each part's own object within it."""
    # Runs of the time before folders were split go on with all their clips, and those before mirrors without.
    known = {**values, "data": {"held_out": 0.0, "mirrored": False, **values.get("data", {})}}
    try:
        known["model"] = read_model(known["model"])
        for name, part in parts.items():
            known[name] = part(**{key: _pairs(value) for key, value in known[name].items()})
        return kind(**known)
    except (TypeError, KeyError) as error:
        raise LociError(f"The configuration of the run is of another version of this package ({error}).") from error


_PARTS: dict[str, Any] = {
    "data": DataConfig, "optimiser": OptimiserConfig, "loss": LossConfig, "curriculum": Curriculum,
    "rehearsal": RehearsalConfig,
}


def _pairs(value: Any) -> Any:
    """JSON has lists where schedules have tuples, of numbers or of pairs."""
    return tuple(map(_pairs, value)) if isinstance(value, list) else value


def differences(ours: RunConfig, theirs: RunConfig) -> list[str]:
    """Fields in which two configurations differ, as sentences' parts: "loss.centring: 0.0 -> 0.1"."""

    def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in values.items():
            result |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
        return result

    before, after = flat(ours.to_json()), flat(theirs.to_json())
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return [f"{key}: {before.get(key)} -> {after.get(key)}" for key in changed]
