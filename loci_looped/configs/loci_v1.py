"""The sizes of Loci-v1 ("Learning What and Where", Traub et al., ICLR 2023), with presets. Needs no torch."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from loci_looped.utils.errors import LociError

Perception = Literal["published", "quick"]


@dataclass(frozen=True)
class LociV1Config:
    """Everything a network is made of. Frames are `latent * 4**level` pixels."""

    slots: int = 7
    gestalt: int = 96
    latent: tuple[int, int] = (20, 30)
    level: int = 1
    """1: frames are 4x the latent grid; 2: 16x."""
    levels: int = 2
    """Up to which level parameters exist."""
    encoder_channels: int = 48
    """C, feature maps at latent resolution."""
    fine_channels: int = 24
    """C1, feature maps one level above it."""
    encoder_layers: int = 3
    decoder_channels: int = 48
    decoder_layers: int = 5
    heads: int = 2
    """Attention heads of the predictor; its width is as many slot codes."""
    predictor_layers: int = 2
    l0_weight: float = 1e-10
    """λ of GateL0RD's gates, a gradient without a loss term."""
    branch_gain: float = 1e-12
    """Start of the gains before the learnt branches of encoder and predictor; near zero makes the start an identity."""
    up_gain: float = 1e-16
    """The same in the decoder."""
    size_gain: float = 1e-16
    """Start of the gain on the predicted size."""
    bound_threshold: float = 0.5
    """A slot is bound for good once its visible mask has exceeded this somewhere."""
    candidates: int = 10
    """A free slot looks at the best of so many random places."""
    perception: Perception = "published"
    """"quick": free slots are sent where the error is, a slot begins by looking at its own place, reads the look there,
    and has sizes and places with a gradient from the start. These are the ideas by which adept-small learns to *see* in
    minutes (configs/extensions.py); none of them is about what is hidden."""
    in_turn: bool = False
    """With quick perception: only the first free slot is sent, the others wait at the corner until it is bound. Sent
    all at once, they share the first thing there is and keep their parts of it. Short trainings begin with that all the
    same (training/loci_v1_objective.py)."""

    def __post_init__(self) -> None:
        counts = (
            "slots", "gestalt", "encoder_layers", "decoder_layers", "heads", "predictor_layers", "candidates",
            "fine_channels", "encoder_channels", "decoder_channels",
        )
        for name in counts:
            if getattr(self, name) < 1:
                raise LociError(f"{name} is {getattr(self, name)}, but Loci-v1 needs at least one.")
        if self.in_turn and self.perception != "quick":
            raise LociError('in_turn needs the perception "quick": the published one sends all free slots at once.')
        if self.levels not in (1, 2) or not 1 <= self.level <= self.levels:
            raise LociError(
                f"level {self.level} of {self.levels} is not possible: both are 1 or 2, level not the larger one."
            )
        if len(self.latent) != 2 or min(self.latent) < 2:
            raise LociError(f"latent is {self.latent}, but it must be two numbers (rows, columns) of at least 2.")
        if self.fine_channels % 12:
            raise LociError(
                f"fine_channels is {self.fine_channels}, but it must be a multiple of the 12 input channels."
            )
        if self.encoder_channels % self.fine_channels:
            raise LociError(
                f"encoder_channels is {self.encoder_channels}, but it must be a multiple of fine_channels, "
                f"{self.fine_channels}."
            )
        if self.gestalt > self.encoder_channels and self.gestalt % self.encoder_channels:
            raise LociError(
                f"gestalt is {self.gestalt}: where it is larger than encoder_channels ({self.encoder_channels}) it "
                "must be a multiple of it."
            )

    @property
    def frame(self) -> tuple[int, int]:
        """(H, W) of the frames at the working level."""
        return self.latent[0] * 4**self.level, self.latent[1] * 4**self.level

    @property
    def full_frame(self) -> tuple[int, int]:
        """(H, W) at the finest level; the background logit image lives there."""
        return self.latent[0] * 4**self.levels, self.latent[1] * 4**self.levels

    @property
    def code_width(self) -> int:
        """Numbers per slot that enter the predictor: y, x, size, gestalt, priority."""
        return self.gestalt + 4

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(values: Any) -> LociV1Config:
        """The inverse of `to_json`; an unknown field is named together with the nearest known one."""
        if not isinstance(values, dict):
            raise LociError(f"Loci-v1's configuration must be a JSON object, but it is {type(values).__name__}.")
        hints = get_type_hints(LociV1Config)
        known: dict[str, Any] = {}
        for name, value in values.items():
            if name not in hints:
                near = difflib.get_close_matches(name, hints, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else "."
                raise LociError(f"Loci-v1's configuration has no field {name!r}{hint}")
            if name == "perception" and value not in get_args(Perception):
                raise LociError(
                    f"Loci-v1's perception is {value!r}; it must be one of {', '.join(get_args(Perception))}."
                )
            pair = name == "latent"
            wanted: tuple[type, ...] = (list, tuple) if pair else (int, float) if hints[name] is float else (
                (str,) if name == "perception" else (hints[name],)
            )
            if type(value) not in wanted:
                raise LociError(f"Loci-v1's configuration says {name} = {value!r}, which is of the wrong type.")
            known[name] = tuple(value) if pair else value
        return LociV1Config(**known)


PRESETS: dict[str, LociV1Config] = {
    # As released for CATER.
    "loci-v1-cater": LociV1Config(slots=10, latent=(15, 20)),
    # With the sizes of Loci-Looped on ADEPT, as the Loci-Looped paper ran it.
    "loci-v1": LociV1Config(),
    # The sizes of adept-small. The gains do not begin at nothing: with them a short training would never get going.
    "loci-v1-small": LociV1Config(
        slots=5, gestalt=32, latent=(10, 15), levels=1, encoder_channels=36, fine_channels=12, encoder_layers=1,
        decoder_channels=32, decoder_layers=2, branch_gain=0.1, up_gain=1.0, size_gain=1.0, perception="quick",
        in_turn=True,
    ),
}


def preset(name: str) -> LociV1Config:
    """A named network; an unknown name is answered with the nearest ones."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=2)
        raise LociError(
            f"There is no Loci-v1 network called {name!r}. "
            + (f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(PRESETS)}.")
        )
    return PRESETS[name]
