"""The predictor: from what is sensed to the codes of the next frame, slots talking to each other by attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from loci_looped.configs.loci_v1 import LociV1Config
from loci_looped.model.blocks import ResidualBlock
from loci_looped.model.gatelord import GateL0RD
from loci_looped.model.state import Memory, SlotCodes
from loci_looped.model.transition import Embedding, RecurrentLayer, SlotAttention

from .draws import Draws

SPREAD = 25.0
PRIORITY_NOISE = 0.1


class Predictor(nn.Module):
    def __init__(self, config: LociV1Config):
        super().__init__()
        self.config = config
        width, gain = config.heads * config.code_width, config.branch_gain
        self.embed = Embedding(config.code_width, width, gain)
        self.attention = nn.ModuleList(SlotAttention(width, config.heads, gain) for _ in range(config.predictor_layers))
        self.recurrent = nn.ModuleList(
            RecurrentLayer(GateL0RD(width, config.l0_weight, "eprop"), gain) for _ in range(config.predictor_layers)
        )
        self.read_out = Embedding(width, config.code_width, gain)
        self.bottleneck = ResidualBlock(config.gestalt, config.gestalt, kernel=1)
        self.size_gain = nn.Parameter(torch.full((1,), config.size_gain))
        self.priority_factor = nn.Parameter(torch.ones(1))
        self.index_factor = nn.Parameter(torch.ones(1))

    def initial_memory(self, like: Tensor, batch: int) -> Memory:
        layers, width = self.config.predictor_layers, self.config.heads * self.config.code_width
        return Memory(hidden=(like.new_zeros(batch, self.config.slots, width),) * layers, history=((),) * layers)

    def forward(self, sensed: SlotCodes, memory: Memory, draws: Draws) -> tuple[SlotCodes, Memory]:
        """The codes to come; their `priority` is the finished key of who stands in front."""
        size, priority = sensed.size.unsqueeze(-1), sensed.priority.unsqueeze(-1)
        x = self.embed(torch.cat([sensed.position, size, sensed.gestalt, priority], dim=-1))
        hidden, history = list(memory.hidden), list(memory.history)
        for i, (attend, recur) in enumerate(zip(self.attention, self.recurrent, strict=True)):
            x, hidden[i], history[i] = recur(attend(x, None), hidden[i], history[i])
        out = self.read_out(x)
        logits = out[..., 3:-1]
        bits = torch.sigmoid(self.bottleneck(logits.flatten(0, 1)[..., None, None]).view_as(logits))
        return SlotCodes(
            gestalt=bits + bits * (1 - bits) * draws.normal(bits, "bottleneck"), position=out[..., :2],
            size=self.size_gain * out[..., 2], priority=self._key(out[..., -1], draws),
        ), Memory(tuple(hidden), tuple(history))

    def _key(self, priority: Tensor, draws: Draws) -> Tensor:
        """(B, K) the larger is in front; far apart, so that it is clear who is."""
        slots = priority.shape[1]
        index = torch.arange(slots, dtype=priority.dtype, device=priority.device)
        noisy = slots * priority + PRIORITY_NOISE * draws.normal(priority, "priority")
        return SPREAD * (noisy * self.priority_factor + index * self.index_factor)
