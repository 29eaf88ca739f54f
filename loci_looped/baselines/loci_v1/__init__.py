"""Loci-v1 ("Learning What and Where", Traub et al., ICLR 2023), on the bricks of Loci-Looped where they are the same.

The configuration can be read without torch; everything else is imported when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loci_looped.configs.loci_v1 import PRESETS, LociV1Config, preset

if TYPE_CHECKING:
    from .loci_v1 import LociV1
    from .state import LociV1Output, LociV1State
    from .video_model import LociV1VideoModel

__all__ = ["PRESETS", "LociV1", "LociV1Config", "LociV1Output", "LociV1State", "LociV1VideoModel", "preset"]

_HOMES = {
    "LociV1": "loci_v1", "LociV1Output": "state", "LociV1State": "state", "LociV1VideoModel": "video_model",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
