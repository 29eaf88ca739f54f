"""G-SWM (Lin et al., ICML 2020): a generative world model of boxes, written by us from a description of it.

The configuration can be read without torch; everything else is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loci_looped.configs.gswm import PRESETS, GswmConfig, preset

if TYPE_CHECKING:
    from .generation import roll_out
    from .gswm import Gswm
    from .objective import clip_loss
    from .state import GswmOutput, GswmState, Objects
    from .video_model import GswmVideoModel

__all__ = [
    "PRESETS", "Gswm", "GswmConfig", "GswmOutput", "GswmState", "GswmVideoModel", "Objects",
    "clip_loss", "preset", "roll_out",
]

_HOMES = {
    "Gswm": "gswm", "GswmOutput": "state", "GswmState": "state", "GswmVideoModel": "video_model", "Objects": "state",
    "clip_loss": "objective", "roll_out": "generation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
