"""Arithmetic of the convolutions: bfloat16 where the processor has instructions for it.

Convolutions are nearly all of the work, and bfloat16 does them in half the time and memory. Feature maps stay in it
from the first layer of a stack to the last. Codes, gates, memories, masks and losses stay in single precision: they are
small, and small differences matter there. Weights and their gradients are kept in single precision, too.
"""

from __future__ import annotations

from typing import Any

import torch

from loci_looped.configs.network import Precision

from .loci import LociLooped

ARITHMETIC: dict[Precision, torch.dtype | None] = {"single": None, "bfloat16": torch.bfloat16}


def has_bfloat16(device: torch.device | str = "cpu") -> bool:
    """Does this device have instructions for bfloat16? Without them it works, too, but slower than single precision."""
    if torch.device(device).type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    asked: Any = torch.cpu
    known = (getattr(asked, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(ask() for ask in known if ask is not None)


def use_precision(model: LociLooped, precision: Precision) -> LociLooped:
    """Let the network's convolutions work in this precision from now on; its weights stay as they are."""
    model.encoder.arithmetic = model.decoder.arithmetic = ARITHMETIC[precision]
    return model
