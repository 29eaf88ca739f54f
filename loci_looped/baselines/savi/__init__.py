"""SAVi and its stochastic variant StoSAVi: slots that are corrected by each frame and predicted from one to the next.

    model = Savi("savi-small")
    state, output = model.step(frame, model.initial(batch))

One file per box of the figure: encoder, kernel, corrector (slot attention), predictor, decoder; `savi.py` is the time
step. Each name is imported when it is first used: the configuration can be read without loading torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from loci_looped.configs.savi import PRESETS, SaviConfig, preset

if TYPE_CHECKING:
    from .objective import clip_loss
    from .reading import Reading, object_masks, read_slots
    from .savi import Savi
    from .state import Decoded, SaviOutput, SaviState
    from .video_model import SaviVideoModel

__all__ = [
    "PRESETS", "Decoded", "Reading", "Savi", "SaviConfig", "SaviOutput", "SaviState", "SaviVideoModel",
    "clip_loss", "object_masks", "preset", "read_slots",
]

_HOME = {
    "Savi": "savi", "SaviState": "state", "SaviOutput": "state", "Decoded": "state", "clip_loss": "objective",
    "Reading": "reading", "object_masks": "reading", "read_slots": "reading", "SaviVideoModel": "video_model",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"loci_looped.baselines.savi has no {name!r}; it has {', '.join(__all__)}.")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
