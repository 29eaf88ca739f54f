"""The network: figure 2 of the paper, one file per box."""

from loci_looped.configs.network import GateKind, LociConfig
from loci_looped.configs.presets import PRESETS, preset

from .loci import WARM_UP_STEPS, LociLooped
from .regime import USE, Regime
from .state import Decoded, LociState, SlotCodes, StepOutput

__all__ = [
    "PRESETS", "USE", "WARM_UP_STEPS", "Decoded", "GateKind", "LociConfig", "LociLooped", "LociState", "Regime",
    "SlotCodes", "StepOutput", "preset",
]
