"""The sizes of the network, and which parts it is made of."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from loci_looped.configs.earlier_versions import up_to_date
from loci_looped.configs.extensions import Extensions, Rules

TransitionKind = Literal["standard", "shared"]
Credit = Literal["eprop", "bptt"]
Bottleneck = Literal["binary", "sigmoid"]
Placement = Literal["incremental", "stochastic", "error_sampled"]
"""incremental: one slot at a time, at the largest unexplained error. stochastic: every free slot at the best of ten
random places. error_sampled: every free slot at a place drawn by the error, away from the others."""
GateKind = Literal["learned", "open", "visibility", "closed"]
"""learned: Loci-Looped. open: Loci-Unlooped, the percept is what is sensed. visibility: α = 1 - occlusion. closed:
imagination."""

Precision = Literal["single", "bfloat16"]
"""Arithmetic of the convolutions."""


@dataclass(frozen=True)
class EncoderConfig:
    channels: int = 48
    """C, feature maps at latent resolution."""
    fine_channels: int = 24
    """C1, feature maps one level above the latent resolution."""
    layers: int = 3
    """Residual blocks in each of trunk, gestalt head and position head."""


@dataclass(frozen=True)
class DecoderConfig:
    channels: int = 48
    fine_channels: int = 24
    layers: int = 5
    """Residual blocks of the trunk."""


@dataclass(frozen=True)
class TransitionConfig:
    kind: TransitionKind = "standard"
    """"standard": one memory per recurrent layer; "shared": one memory and an exchange code shared by all layers."""
    attention: bool = True
    """Slots hear each other by attention, as in the paper."""
    heads: int = 2
    layers: int = 2
    multiplier: int = 2
    """Width of the embedding as a multiple of the slot code."""
    l0_weight: float = 1e-10
    """λ of GateL0RD's gates, a gradient without a loss term."""
    credit: Credit = "eprop"
    """How the past earns its gradient: "eprop" by eligibility traces, "bptt" by the window that is unrolled."""
    residual_gain: float = 1e-12
    """Start of the gains before embeddings, attention and recurrent layers; near zero makes the start an identity."""
    size_gain: float = 1e-16
    """Start of the gain on the predicted size."""


@dataclass(frozen=True)
class GateConfig:
    l0_weight: float = 5e-6
    """λ of the percept gate: the gradient that presses each open gate towards zero."""
    noise: float = 0.1
    """Standard deviation of the training noise before the rectified tanh."""
    hidden_bias: float = 3.0
    output_bias: float = 3.0


@dataclass(frozen=True)
class RecruitingConfig:
    bound_threshold: float = 0.8
    """A slot is bound once its visible mask exceeds this somewhere."""
    candidates: int = 10
    """Stochastic placement keeps the best of so many uniform draws."""


@dataclass(frozen=True)
class LociConfig:
    """Everything a network is made of. Frames are `latent * 4**level` pixels."""

    slots: int = 7
    gestalt: int = 96
    latent: tuple[int, int] = (20, 30)
    level: int = 1
    """1: frames are 4x the latent grid; 2: 16x."""
    levels: int = 2
    """Up to which level parameters exist; a network of two levels can be grown from level 1 to level 2."""
    bottleneck: Bottleneck = "binary"
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    transition: TransitionConfig = field(default_factory=TransitionConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    recruiting: RecruitingConfig = field(default_factory=RecruitingConfig)
    extensions: Extensions = field(default_factory=Extensions)
    colour_order: Literal["rgb", "bgr"] = "rgb"
    """The order the weights were trained with; frames given to the network are RGB in any case."""
    released: bool = False
    """Reproduce the released code's behaviour, quirks included: its parts are in model/released/."""

    def __post_init__(self) -> None:
        for name in ("slots", "gestalt"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, but a network needs at least one.")
        if self.levels not in (1, 2) or not 1 <= self.level <= self.levels:
            raise ValueError(
                f"level {self.level} of {self.levels} is not possible: level is 1 (frames 4x the latent grid) or "
                "2 (16x), and parameters exist only up to `levels`."
            )
        if len(self.latent) != 2 or min(self.latent) < 2:
            raise ValueError(f"latent is {self.latent}, but it must be two numbers (rows, columns) of at least 2.")
        if self.encoder.fine_channels % 12:
            raise ValueError(
                f"encoder.fine_channels is {self.encoder.fine_channels}: it must be a multiple of the 12 input "
                "channels, or colours would be averaged before the network sees them."
            )
        if self.encoder.channels < 3 or self.decoder.channels < 3:
            raise ValueError("encoder.channels and decoder.channels must be at least 3.")
        counts = {
            "encoder.fine_channels": self.encoder.fine_channels, "encoder.layers": self.encoder.layers,
            "decoder.fine_channels": self.decoder.fine_channels, "decoder.layers": self.decoder.layers,
            "transition.layers": self.transition.layers, "transition.multiplier": self.transition.multiplier,
            "recruiting.candidates": self.recruiting.candidates,
        }
        for name, count in counts.items():
            if count < 1:
                raise ValueError(f"{name} is {count}, but it must be at least 1.")
        weights = {"transition.l0_weight": self.transition.l0_weight, "gate.l0_weight": self.gate.l0_weight}
        weights |= {
            "gate.noise": self.gate.noise,
            "extensions.rules.visibility_prior": self.extensions.rules.visibility_prior,
            "extensions.rules.shuts_at_in_use": self.extensions.rules.shuts_at_in_use,
            "extensions.rules.deviation": self.extensions.rules.deviation,
            "extensions.rules.persistence": self.extensions.rules.persistence,
        }
        if not self.extensions.rules.shuts_at > 0:
            raise ValueError(
                f"extensions.rules.shuts_at is {self.extensions.rules.shuts_at}, but it must be an occlusion above 0."
            )
        for name, weight in weights.items():
            if not weight >= 0:
                raise ValueError(f"{name} is {weight}, but it must not be negative.")
        if self.transition.heads < 1 or self.attention_width % self.transition.heads:
            raise ValueError(
                f"transition.heads is {self.transition.heads}, which does not divide the attention width "
                f"{self.attention_width}; choose a divisor or another gestalt size."
            )
        if self.released and self.extensions.used():
            raise ValueError(
                f"released=True reproduces the released network, but extensions.{self.extensions.used()[0]} goes "
                "beyond it: leave the extensions at their defaults or leave released=False."
            )

    @property
    def frame(self) -> tuple[int, int]:
        """(H, W) of the frames at the working level."""
        return self.latent[0] * 4**self.level, self.latent[1] * 4**self.level

    @property
    def aligned_frame(self) -> tuple[int, int] | None:
        """(H, W) the latent grid is aligned with, or None where it is stretched."""
        return self.frame if self.extensions.aligned_grid else None

    @property
    def full_frame(self) -> tuple[int, int]:
        """(H, W) at the deepest level; the background logit image lives there."""
        return self.latent[0] * 4**self.levels, self.latent[1] * 4**self.levels

    @property
    def code_width(self) -> int:
        """Numbers per slot that enter the transition: gestalt, priority, y, x, size, two gates (two about motion)."""
        told = 2 if self.extensions.rules.displacement or self.extensions.innovation else 0
        heard = 2 if self.extensions.drift and self.extensions.drift_heard else 0
        return self.gestalt + 6 + told + heard

    @property
    def memory_width(self) -> int:
        embedded = self.code_width * self.transition.multiplier
        return embedded + EXCHANGE_WIDTH if self.transition.kind == "shared" else embedded

    @property
    def attention_width(self) -> int:
        return 2 * self.memory_width if self.transition.kind == "shared" else self.memory_width

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> LociConfig:
        """The inverse of `to_json`; an unknown field is named together with the nearest known one."""
        parts = {
            "encoder": EncoderConfig, "decoder": DecoderConfig, "transition": TransitionConfig,
            "gate": GateConfig, "recruiting": RecruitingConfig,
        }
        known: dict[str, Any] = dict(up_to_date(values)) if isinstance(values, dict) else values
        _check_fields("the network configuration", known, LociConfig)
        for name, part in parts.items():
            if name in known:
                _check_fields(f"the network configuration's {name!r}", known[name], part)
                known[name] = part(**known[name])
        if "extensions" in known:
            known["extensions"] = _extensions(known["extensions"])
        if "latent" in known:
            latent = known["latent"]
            if not isinstance(latent, list | tuple) or not all(type(n) is int for n in latent):
                raise ValueError(f"the network configuration's 'latent' is {latent!r}, not two whole numbers.")
            known["latent"] = tuple(latent)
        return LociConfig(**known)


def _extensions(values: Any) -> Extensions:
    _check_fields("the network configuration's 'extensions'", values, Extensions)
    known = dict(values)
    if "rules" in known:
        _check_fields("the network configuration's 'extensions.rules'", known["rules"], Rules)
        known["rules"] = Rules(**known["rules"])
    return Extensions(**known)


EXCHANGE_WIDTH = 48
"""Zeros appended to the embedding of the shared transition, room for what layers tell each other."""


def _check_fields(where: str, values: Any, part: Any) -> None:
    """Names and plain types of what a JSON file says about one dataclass."""
    if not isinstance(values, dict):
        raise ValueError(f"{where} must be a JSON object, but it is {type(values).__name__}.")
    hints = get_type_hints(part)
    for name, value in values.items():
        if name not in hints:
            near = difflib.get_close_matches(name, hints, n=1)
            raise ValueError(f"{where} has no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else "."))
        hint = hints[name]
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise ValueError(f"{where} says {name} = {value!r}; it must be one of {', '.join(get_args(hint))}.")
        wanted = {int: (int,), float: (int, float), bool: (bool,)}.get(hint)
        if wanted is not None and type(value) not in wanted:
            raise ValueError(f"{where} says {name} = {value!r}, but it must be of type {hint.__name__}.")
