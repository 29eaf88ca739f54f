"""The sizes and switches of SAVi, with the published networks and our small one as presets. Needs no torch."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from loci_looped.utils.errors import LociError

PredictorKind = Literal["mlp", "transformer"]
KernelHeadKind = Literal["linear", "mlp"]


@dataclass(frozen=True)
class EncoderConfig:
    channels: tuple[int, ...] = (64, 64, 64, 64)
    """Feature maps of each convolution."""
    stride: int = 1
    """Of the first convolution; the others keep the resolution. Published: 1 for 64 x 64 frames, 2 for 128 x 128."""
    kernel_size: int = 5
    token_width: int = 128
    """Width of the tokens that the corrector attends to."""


@dataclass(frozen=True)
class CorrectorConfig:
    iterations: int = 2
    """Rounds of slot attention per frame."""
    epsilon: float = 1e-6
    """Added to the attention before it is normalised over the tokens, so that no slot divides by zero."""


@dataclass(frozen=True)
class PredictorConfig:
    kind: PredictorKind = "mlp"
    """"mlp": each slot by itself, without memory (CLEVRER); "transformer": slots exchange, then an LSTM per slot
    (OBJ3D). The other fields are the transformer's."""
    layers: int = 2
    heads: int = 4
    feed_forward: int = 512
    dropout: float = 0.1


@dataclass(frozen=True)
class KernelConfig:
    head: KernelHeadKind = "linear"
    """From latents to mean and log variance: one linear layer, or two with a layer norm between them."""
    stochastic: bool = True
    """StoSAVi: kernels are drawn, and their variance is pulled towards `variance`. False is plain SAVi."""
    variance: float = 0.01
    kl_weight: float = 1e-4


@dataclass(frozen=True)
class DecoderConfig:
    channels: tuple[int, ...] = (64, 64, 64, 64)
    """Feature maps of each transposed convolution. They double the resolution until it is the frame's, then keep it."""
    broadcast: tuple[int, int] = (8, 8)
    """(rows, columns) each slot is tiled to."""
    kernel_size: int = 5


@dataclass(frozen=True)
class SaviConfig:
    """Everything a network is made of."""

    frame: tuple[int, int] = (64, 64)
    """(H, W)"""
    slots: int = 7
    """There is no separate background: some slots have to paint it."""
    slot_width: int = 128
    hidden_width: int = 256
    """Of the layers between slots: the corrector's and the predictor's MLP, the LSTM."""
    initial_gain: float = 0.0
    """How weights are drawn before training: 0 as PyTorch does, and so the published networks; above 0 from Gaussians
    that keep the spread of signals (1, as in the original SAVi's library) or of signals after rectifiers (1.41). With
    PyTorch's all slots paint the same picture at first, and it takes long until they come to differ."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    corrector: CorrectorConfig = field(default_factory=CorrectorConfig)
    predictor: PredictorConfig = field(default_factory=PredictorConfig)
    kernel: KernelConfig = field(default_factory=KernelConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)

    def __post_init__(self) -> None:
        counts = {
            "slots": self.slots, "slot_width": self.slot_width, "hidden_width": self.hidden_width,
            "encoder.stride": self.encoder.stride, "encoder.token_width": self.encoder.token_width,
            "corrector.iterations": self.corrector.iterations, "predictor.layers": self.predictor.layers,
            "predictor.heads": self.predictor.heads, "predictor.feed_forward": self.predictor.feed_forward,
        }
        for name, count in counts.items():
            if count < 1:
                raise LociError(f"{name} is {count}, but SAVi needs at least one.")
        if not 0 <= self.initial_gain <= 10:
            raise LociError(f"initial_gain is {self.initial_gain}, but it must be 0 (PyTorch's weights) or up to 10.")
        for name, pair in (("frame", self.frame), ("decoder.broadcast", self.decoder.broadcast)):
            if len(pair) != 2 or min(pair) < 1:
                raise LociError(f"{name} is {pair}, but it must be two numbers (rows, columns) of at least 1.")
        for name, channels in (("encoder", self.encoder.channels), ("decoder", self.decoder.channels)):
            if not channels or min(channels) < 1:
                raise LociError(f"{name}.channels is {channels}, but it must name one width or more, all at least 1.")
        for name, size in (("encoder", self.encoder.kernel_size), ("decoder", self.decoder.kernel_size)):
            if size < 1 or size % 2 == 0:
                raise LociError(f"{name}.kernel_size is {size}, but only odd kernels have a pixel in their middle.")
        if any(side % self.encoder.stride for side in self.frame):
            raise LociError(f"encoder.stride {self.encoder.stride} does not divide frames of {_by(self.frame)}.")
        if self.doublings is None:
            raise LociError(
                f"Slots tiled to {_by(self.decoder.broadcast)} do not become frames of {_by(self.frame)} by doubling "
                f"at most {len(self.decoder.channels)} times: change decoder.broadcast or frame."
            )
        if self.predictor.kind == "transformer" and self.slot_width % self.predictor.heads:
            raise LociError(
                f"predictor.heads is {self.predictor.heads}, which does not divide the slot width {self.slot_width}."
            )
        if not 0 <= self.predictor.dropout < 1:
            raise LociError(f"predictor.dropout is {self.predictor.dropout}, but it must lie in [0, 1).")
        if not (self.kernel.variance > 0 and self.corrector.epsilon > 0):
            raise LociError("kernel.variance and corrector.epsilon must be above 0.")
        if not self.kernel.kl_weight >= 0:
            raise LociError(f"kernel.kl_weight is {self.kernel.kl_weight}, but it must not be negative.")

    @property
    def doublings(self) -> int | None:
        """How often the decoder doubles the resolution; None if that never gives the frame."""
        rows, columns = self.decoder.broadcast
        for count in range(len(self.decoder.channels) + 1):
            if (rows * 2**count, columns * 2**count) == tuple(self.frame):
                return count
        return None

    @property
    def token_grid(self) -> tuple[int, int]:
        """(rows, columns) of the feature map whose cells are the tokens."""
        return self.frame[0] // self.encoder.stride, self.frame[1] // self.encoder.stride

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> SaviConfig:
        """The inverse of `to_json`; an unknown field is named together with the nearest known one."""
        config: SaviConfig = _from_json("SAVi's configuration", values, SaviConfig)
        return config


def _by(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"


def _from_json(where: str, values: Any, part: Any) -> Any:
    """One dataclass from a JSON object, its parts included."""
    if not isinstance(values, dict):
        raise LociError(f"{where} must be a JSON object, but it is {type(values).__name__}.")
    hints, known = get_type_hints(part), {}
    for name, value in values.items():
        if name not in hints:
            near = difflib.get_close_matches(name, hints, n=1)
            raise LociError(f"{where} has no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else "."))
        hint = hints[name]
        if dataclasses.is_dataclass(hint):
            known[name] = _from_json(f"{where}'s {name!r}", value, hint)
        elif get_origin(hint) is Literal:
            if value not in get_args(hint):
                raise LociError(f"{where} says {name} = {value!r}; it must be one of {', '.join(get_args(hint))}.")
            known[name] = value
        elif get_origin(hint) is tuple:
            if not isinstance(value, list | tuple) or not all(type(item) is int for item in value):
                raise LociError(f"{where} says {name} = {value!r}, but it must be a list of whole numbers.")
            known[name] = tuple(value)
        else:
            wanted = (int, float) if hint is float else (hint,)
            if type(value) not in wanted:
                raise LociError(f"{where} says {name} = {value!r}, but it must be of type {hint.__name__}.")
            known[name] = value
    return part(**known)


PRESETS: dict[str, SaviConfig] = {
    # StoSAVi as SlotFormer trains it on CLEVRER; the Loci-Looped paper runs the same network on ADEPT.
    "savi": SaviConfig(),
    # SAVi as SlotFormer trains it on OBJ3D.
    "savi-transformer": SaviConfig(
        slots=6, predictor=PredictorConfig(kind="transformer"), kernel=KernelConfig(head="mlp", stochastic=False),
    ),
    # For two cores: five things and what is black at 32 x 48, as 40 x 60 cannot be halved twice and begin on whole
    # cells. Slots are tiled to cells of 4 x 4 pixels, the size of a mover. Kernels of 3 x 3, and half the resolution in
    # the encoder: with larger ones an update would take three times as long. Kernels are their means: drawn ones begin
    # so wide that a short training learns to ignore who is who.
    "savi-small": SaviConfig(
        frame=(32, 48), slots=6, slot_width=32, hidden_width=128, initial_gain=1.41,
        encoder=EncoderConfig(channels=(32, 32, 32, 32), stride=2, kernel_size=3, token_width=64),
        kernel=KernelConfig(stochastic=False),
        decoder=DecoderConfig(channels=(32, 16), broadcast=(8, 12), kernel_size=3),
    ),
}


def preset(name: str) -> SaviConfig:
    """A named network; an unknown name is answered with the nearest ones."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=2)
        raise LociError(
            f"There is no SAVi network called {name!r}. "
            + (f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(PRESETS)}.")
        )
    return PRESETS[name]
