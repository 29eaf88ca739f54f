"""A livelier start: signals keep their size through many blocks, and colours are apart from the first update on."""

from __future__ import annotations

from torch import nn

from ..blocks import ResidualBlock
from ..decoder import Decoder
from ..encoder import Encoder


def he_start(network: nn.Module) -> None:
    """Scale residual branches as He does, and let the first and the last layer tell red, green and blue apart."""
    for module in network.modules():
        if isinstance(module, ResidualBlock):
            module.he_initialise()
    for module in network.modules():
        if isinstance(module, Encoder):
            module.down.tell_inputs_apart()
        elif isinstance(module, Decoder):
            module.object.up.tell_outputs_apart()
