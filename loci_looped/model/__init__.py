"""The network: figure 2 of the paper, one file per box."""

from loci_looped.configs.network import PRESETS, LociConfig, preset

from .loci import WARM_UP_STEPS, Conditions, GateKind, LociLooped
from .state import Decoded, LociState, SlotCodes, StepOutput

__all__ = [
    "PRESETS", "WARM_UP_STEPS", "Conditions", "Decoded", "GateKind", "LociConfig", "LociLooped", "LociState",
    "SlotCodes", "StepOutput", "preset",
]
