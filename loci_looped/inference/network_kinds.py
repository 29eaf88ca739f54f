"""The kinds of networks that are stored, trained and evaluated: Loci-Looped and its rivals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from loci_looped.baselines.gswm import Gswm, GswmVideoModel
from loci_looped.baselines.loci_v1 import LociV1, LociV1VideoModel
from loci_looped.baselines.protocol import VideoModel
from loci_looped.baselines.savi import Savi, SaviVideoModel
from loci_looped.configs.gswm import GswmConfig
from loci_looped.configs.loci_v1 import LociV1Config
from loci_looped.configs.network import LociConfig
from loci_looped.configs.savi import SaviConfig
from loci_looped.model import LociLooped
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class NetworkKind:
    name: str                               # as a stored network's config.json says it
    network: type[nn.Module]                # built from its configuration alone
    read_config: Callable[[Any], Any]       # from a JSON object


LOCI_LOOPED = NetworkKind("loci-looped network", LociLooped, LociConfig.from_json)
KINDS: tuple[NetworkKind, ...] = (
    LOCI_LOOPED,
    NetworkKind("Loci-v1 network", LociV1, LociV1Config.from_json),
    NetworkKind("SAVi network", Savi, SaviConfig.from_json),
    NetworkKind("G-SWM network", Gswm, GswmConfig.from_json),
)


def kind_of(network: nn.Module) -> NetworkKind:
    return next(kind for kind in KINDS if isinstance(network, kind.network))


def kind_named(name: str, where: object) -> NetworkKind:
    """The kind that `where` says it is."""
    for kind in KINDS:
        if kind.name == name:
            return kind
    known = ", ".join(kind.name for kind in KINDS)
    raise LociError(f"{where} describes a {name}; this version of the package knows: {known}.")


def frame_of(network: nn.Module) -> tuple[int, int]:
    """(H, W) of the frames it works on."""
    config: Any = network.config
    return (config.frame, config.frame) if isinstance(config, GswmConfig) else config.frame


def can_imagine(network: nn.Module) -> bool:
    """SAVi and Loci-v1 know only what passes through their eyes: without a frame they cannot go on."""
    return not isinstance(network, Savi | LociV1)


def rival_video_model(network: nn.Module) -> VideoModel[Any]:
    """A rival as it watches films."""
    if isinstance(network, Savi):
        return SaviVideoModel(network)
    if isinstance(network, LociV1):
        return LociV1VideoModel(network)
    assert isinstance(network, Gswm)
    return GswmVideoModel(network)


def as_loci(network: nn.Module, where: object) -> LociLooped:
    """The network, if it is Loci-Looped; the others are refused by name."""
    if not isinstance(network, LociLooped):
        raise LociError(
            f"{where} is a {kind_of(network).name}, not a {LOCI_LOOPED.name}, which this needs: name another "
            "one, such as adept-small. Rivals are evaluated with loci evaluate and watched with loci watch."
        )
    return network
