"""The sizes and switches of the network, with the paper's three networks and our three small ones as presets."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

TransitionKind = Literal["standard", "shared"]
Credit = Literal["eprop", "bptt"]
SpeedFrom = Literal["everything", "well_seen"]
Bottleneck = Literal["binary", "sigmoid"]
Placement = Literal["incremental", "stochastic", "error_sampled"]
"""incremental: one slot at a time, at the largest unexplained error. stochastic: every free slot at the best of ten
random places. error_sampled: every free slot at a place drawn by the error, away from the others."""
GateKind = Literal["learned", "open", "visibility", "closed"]
"""learned: Loci-Looped. open: Loci-Unlooped, the percept is what is sensed. visibility: α = 1 - occlusion. closed:
imagination."""


@dataclass(frozen=True)
class EncoderConfig:
    channels: int = 48
    """C, feature maps at latent resolution."""
    fine_channels: int = 24
    """C1, feature maps one level above the latent resolution."""
    layers: int = 3
    """Residual blocks in each of trunk, gestalt head and position head."""
    position_prior: bool = False
    """Beyond the paper: add the log of the slot's own Gaussian to the position logits, so that a slot starts by looking
    at its own place."""
    explaining_away: bool = False
    """Beyond the paper: a slot looks less where other slots are expected to be seen, so that a mover that touches the
    screen does not take itself for the screen."""
    offsets: bool = False
    """Beyond the paper: each cell of the latent grid also says where the object's middle lies, up to a cell away.
    Without it places snap to cells, and no speed can be read off them."""
    gestalt_head: Literal["global", "attended"] = "global"
    """"global" reads the whole map with one large convolution (the paper); "attended" pools the features where the slot
    looks."""
    size_head: Literal["forced", "bounded"] = "forced"
    """"forced" scales the size by a gain that grows by itself (the paper); "bounded" is a sigmoid up to
    `size_limit`."""
    size_limit: float = 0.15


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
    displacement: bool = False
    """Beyond the paper: the transition also sees how far the percept moved since the last step."""
    inertia: float = 0.0
    """Beyond the paper: with this gain the displacement is added to the predicted place. 0 leaves it out; with 1
    things go on as they went, and what is learnt is how they deviate from it."""
    speed_from: SpeedFrom = "well_seen"
    """Beyond the paper: which places tell how far a slot moves. "well_seen" leaves out what is cut off by others or by
    the border, which looks slower or faster than it is; "everything" takes every place that enters the percept."""
    deviation: float = 0.0
    """Beyond the paper: the farthest the learnt part may move the predicted place per step, in half images; a tenth of
    it is the limit for size and priority. 0 is no limit: then the learnt part takes motion and size over, and as it
    only looks one step ahead it drifts away as soon as the gate shuts."""
    persistence: float = 0.0
    """Beyond the paper: with this gain the percept's bits, as -1 and 1, are added to the predicted gestalt's logits,
    and what is learnt is limited to a quarter of it: an object keeps its look while it is imagined. 0 leaves it out."""


@dataclass(frozen=True)
class GateConfig:
    l0_weight: float = 5e-6
    """λ of the percept gate: the gradient that presses each open gate towards zero."""
    noise: float = 0.1
    """Standard deviation of the training noise before the rectified tanh."""
    hidden_bias: float = 3.0
    output_bias: float = 3.0
    open_when_lost: bool = False
    """Beyond the paper: a slot that has not bound an object yet, or shows none although nothing stands before it,
    always listens to the encoder: it has nothing to protect."""
    visibility_prior: float = 0.0
    """Beyond the paper: the gate starts from the belief that what is hidden cannot be sensed: this times
    (1 - O / shuts_at) is added before the rectified tanh, and what is learnt is when to believe otherwise. 0 leaves it
    out."""
    shuts_at: float = 0.5
    """The occlusion from which on that belief shuts the gate."""
    shuts_at_in_use: float = 0.0
    """The same for a network that is used instead of trained: who learns to see must look at half-hidden objects, too,
    but later they only mislead. 0 is as in training."""


@dataclass(frozen=True)
class RecruitingConfig:
    bound_threshold: float = 0.8
    """A slot is bound once its visible mask exceeds this somewhere."""
    candidates: int = 10
    """Stochastic placement keeps the best of so many uniform draws."""
    minimum_error: float = 0.0
    """No slot is recruited where the blurred error stays below this."""
    minimum_error_in_use: float = 0.0
    """The same for a network that is used instead of trained: slots that learn to draw must be eager, but later they
    would take every shadow and seam for an object. 0 is as in training."""
    newcomers: Literal["front", "behind"] = "front"
    """Beyond the paper: of slots with equal priority the later ones paint in front. "front" uses slots from the first
    to the last; "behind" from the last to the first, so that who comes later passes behind who was there before."""
    suppression: float = 4.0
    """Error-sampled placement: radius in pixels around a placed slot in which the next one does not look."""


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
    initialisation: Literal["original", "he"] = "original"
    """"he" scales residual branches so that signals keep their size, which small networks need to start learning."""
    own_object: Literal["whole", "painted"] = "whole"
    """What the encoder sees of its own object: "whole" decodes it once more as if nothing stood before it (the paper);
    "painted" takes it as it was painted into the prediction, which saves a third of the decoding."""
    latent_grid: Literal["stretched", "aligned"] = "stretched"
    """"stretched" puts the outermost cells of the latent grid on the outermost pixels (the paper), which is off by up
    to one and a half pixels at the border; "aligned" puts each cell on the middle of the pixels it covers."""
    colour_order: Literal["rgb", "bgr"] = "rgb"
    """The order the weights were trained with; frames given to the network are RGB in any case."""
    official: bool = False
    """Reproduce the released code's behaviour, quirks included (docs/decisions.md lists the places)."""

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
            "gate.noise": self.gate.noise, "gate.visibility_prior": self.gate.visibility_prior,
            "gate.shuts_at_in_use": self.gate.shuts_at_in_use,
            "transition.deviation": self.transition.deviation, "transition.persistence": self.transition.persistence,
        }
        if not self.gate.shuts_at > 0:
            raise ValueError(f"gate.shuts_at is {self.gate.shuts_at}, but it must be an occlusion above 0.")
        for name, weight in weights.items():
            if not weight >= 0:
                raise ValueError(f"{name} is {weight}, but it must not be negative.")
        if self.transition.heads < 1 or self.attention_width % self.transition.heads:
            raise ValueError(
                f"transition.heads is {self.transition.heads}, which does not divide the attention width "
                f"{self.attention_width}; choose a divisor or another gestalt size."
            )
        beyond = {
            "encoder.position_prior": self.encoder.position_prior,
            "encoder.explaining_away": self.encoder.explaining_away,
            "encoder.offsets": self.encoder.offsets,
            "encoder.gestalt_head": self.encoder.gestalt_head != "global",
            "encoder.size_head": self.encoder.size_head != "forced",
            "transition.displacement": self.transition.displacement,
            "transition.inertia": self.transition.inertia != 0,
            "transition.deviation": self.transition.deviation != 0,
            "transition.persistence": self.transition.persistence != 0,
            "gate.open_when_lost": self.gate.open_when_lost,
            "gate.visibility_prior": self.gate.visibility_prior != 0,
            "recruiting.newcomers": self.recruiting.newcomers != "front",
            "recruiting.minimum_error_in_use": self.recruiting.minimum_error_in_use != 0,
            "own_object": self.own_object != "whole",
            "latent_grid": self.latent_grid != "stretched",
        }
        if self.official and any(beyond.values()):
            named = ", ".join(name for name, used in beyond.items() if used)
            raise ValueError(
                f"official=True reproduces the released network, but {named} goes beyond it: leave these at their "
                "defaults or leave official=False."
            )

    @property
    def frame(self) -> tuple[int, int]:
        """(H, W) of the frames at the working level."""
        return self.latent[0] * 4**self.level, self.latent[1] * 4**self.level

    @property
    def aligned_frame(self) -> tuple[int, int] | None:
        """(H, W) the latent grid is aligned with, or None where it is stretched."""
        return self.frame if self.latent_grid == "aligned" else None

    @property
    def full_frame(self) -> tuple[int, int]:
        """(H, W) at the deepest level; the background logit image lives there."""
        return self.latent[0] * 4**self.levels, self.latent[1] * 4**self.levels

    @property
    def code_width(self) -> int:
        """Numbers per slot that enter the transition: gestalt, priority, y, x, size, two gates (two displacements)."""
        return self.gestalt + 6 + (2 if self.transition.displacement else 0)

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
        _check_fields("the network configuration", values, LociConfig)
        known: dict[str, Any] = dict(values)
        for name, part in parts.items():
            if name in known:
                _check_fields(f"the network configuration's {name!r}", known[name], part)
                known[name] = part(**known[name])
        if "latent" in known:
            latent = known["latent"]
            if not isinstance(latent, list | tuple) or not all(type(n) is int for n in latent):
                raise ValueError(f"the network configuration's 'latent' is {latent!r}, not two whole numbers.")
            known["latent"] = tuple(latent)
        return LociConfig(**known)


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


_SMALL = LociConfig(
    slots=5, gestalt=32, latent=(10, 15), level=1, levels=1,
    encoder=EncoderConfig(
        channels=32, fine_channels=12, layers=1, position_prior=True, explaining_away=True, offsets=True,
        gestalt_head="attended", size_head="bounded",
    ),
    decoder=DecoderConfig(channels=32, fine_channels=12, layers=2),
    transition=TransitionConfig(
        credit="bptt", residual_gain=0.1, size_gain=1.0, displacement=True, inertia=1.0, deviation=0.002,
        persistence=6.0,
    ),
    gate=GateConfig(
        l0_weight=1e-4, hidden_bias=0.0, output_bias=1.0, open_when_lost=True, visibility_prior=3.0, shuts_at=0.2,
        shuts_at_in_use=0.1,
    ),
    recruiting=RecruitingConfig(
        bound_threshold=0.6, minimum_error=0.03, minimum_error_in_use=0.1, newcomers="behind", suppression=8.0
    ),
    initialisation="he", own_object="painted", latent_grid="aligned",
)

PRESETS: dict[str, LociConfig] = {
    "adept": LociConfig(),
    "clevrer": LociConfig(
        slots=6,
        decoder=DecoderConfig(layers=3),
        transition=TransitionConfig(kind="shared"),
        gate=GateConfig(l0_weight=5e-8),
    ),
    "balls": LociConfig(
        slots=3, gestalt=12, latent=(4, 4), level=2,
        encoder=EncoderConfig(channels=24, fine_channels=12, layers=2),
        decoder=DecoderConfig(channels=24, fine_channels=12, layers=2),
        transition=TransitionConfig(kind="shared", layers=3),
        gate=GateConfig(l0_weight=1e-5),
    ),
    "adept-small": _SMALL,
    "clevrer-small": dataclasses.replace(_SMALL, slots=6),
    "balls-small": dataclasses.replace(_SMALL, slots=3, gestalt=16, latent=(16, 16)),
}


def preset(name: str) -> LociConfig:
    """A named network; an unknown name is answered with the nearest ones."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=2)
        raise ValueError(
            f"There is no network called {name!r}. "
            + (f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(PRESETS)}.")
        )
    return PRESETS[name]
