"""The transition: from the percept codes to the codes of the next frame, slots talking to each other by attention."""

from __future__ import annotations

import dataclasses
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.network import EXCHANGE_WIDTH, LociConfig

from .blocks import ResidualBlock, binarise
from .gatelord import GateL0RD
from .regime import Regime
from .state import Memory, Sight, SlotCodes, TraceStep


class Embedding(nn.Module):
    """A skip that tiles (or averages) the code, plus gain · a two-layer network: an identity at the start."""

    def __init__(self, inputs: int, outputs: int, gain: float):
        super().__init__()
        self.linear1 = nn.Linear(inputs, outputs)
        self.linear2 = nn.Linear(outputs, outputs)
        self.gain = nn.Parameter(torch.full((1,), gain))

    def forward(self, x: Tensor) -> Tensor:
        inputs, outputs = self.linear1.in_features, self.linear1.out_features
        if outputs >= inputs:
            skip = x.repeat(*[1] * (x.ndim - 1), outputs // inputs)
        else:
            skip = x.unflatten(-1, (inputs // outputs, outputs)).mean(-2)
        result: Tensor = skip + self.gain * self.linear2(F.relu(self.linear1(F.relu(x))))
        return result


class SlotAttention(nn.Module):
    """x + gain · multi-head self-attention over the slots of one scene. (B, K, N) -> (B, K, N)"""

    def __init__(self, width: int, heads: int, gain: float):
        super().__init__()
        self.heads = heads
        self.project_in = nn.Linear(width, 3 * width)
        self.project_out = nn.Linear(width, width)
        self.gain = nn.Parameter(torch.full((1,), gain))
        nn.init.xavier_uniform_(self.project_in.weight)
        nn.init.zeros_(self.project_in.bias)
        nn.init.zeros_(self.project_out.bias)

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        """`attention_mask` (B, K) says which slots the others may attend to; None means all."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.project_in(x).chunk(3, dim=-1)
        )
        allowed = None
        if attention_mask is not None:
            # Every slot may hear itself, so that no row of the soft-max is empty.
            itself = torch.eye(x.shape[1], dtype=torch.bool, device=x.device)
            allowed = (attention_mask[:, None, :] | itself).unsqueeze(1)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
        result: Tensor = x + self.gain * self.project_out(mixed.transpose(1, 2).flatten(2))
        return result


class NoAttention(nn.Module):
    """Slots do not hear each other."""

    def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        del attention_mask
        return x


class RecurrentLayer(nn.Module):
    """x + gain · GateL0RD(x), on (B, K, N)."""

    def __init__(self, cell: GateL0RD, gain: float):
        super().__init__()
        self.cell = cell
        self.gain = nn.Parameter(torch.full((1,), gain))

    def forward(
        self, x: Tensor, hidden: Tensor, history: tuple[TraceStep, ...]
    ) -> tuple[Tensor, Tensor, tuple[TraceStep, ...]]:
        folded, memory, history = self.cell(x.flatten(0, 1), hidden.flatten(0, 1), history)
        return x + self.gain * folded.view_as(x), memory.view_as(hidden), history


class Transition(nn.Module):
    """T: [gestalt, priority, position, size, closed gates] of every slot -> the same, one step later."""

    cell: type[GateL0RD] = GateL0RD

    def __init__(self, config: LociConfig):
        super().__init__()
        self.config = config
        transition = config.transition
        gain, embedded = transition.residual_gain, config.code_width * transition.multiplier
        self.embed = Embedding(config.code_width, embedded, gain)
        self.attention = nn.ModuleList(
            SlotAttention(config.attention_width, transition.heads, gain) if transition.attention else NoAttention()
            for _ in range(transition.layers)
        )
        self.recurrent = nn.ModuleList(self.build_recurrent() for _ in range(transition.layers))
        self.read_out = Embedding(embedded, config.code_width, gain)
        self.bottleneck = ResidualBlock(config.gestalt, config.gestalt, kernel=1)
        self.size_gain = nn.Parameter(torch.full((1,), transition.size_gain))

    def begin(self) -> None:
        """Last touches to the weights a network starts with."""

    def build_recurrent(self) -> RecurrentLayer:
        config, transition = self.config, self.config.transition
        cell = self.cell(config.memory_width, transition.l0_weight, transition.credit)
        return RecurrentLayer(cell, transition.residual_gain)

    def initial_memory(self, like: Tensor, batch: int) -> Memory:
        memories = 1 if self.config.transition.kind == "shared" else self.config.transition.layers
        empty = like.new_zeros(batch, self.config.slots, self.config.memory_width)
        return Memory(hidden=(empty,) * memories, history=((),) * self.config.transition.layers)

    def forward(
        self, percept: SlotCodes, alpha: Tensor, sight: Sight | None, memory: Memory, attention_mask: Tensor | None,
        regime: Regime, noise: torch.Generator | None,
    ) -> tuple[SlotCodes, Memory]:
        """The codes to come. `alpha` (B, K, 2) and `sight` say how the percept came about; None is with eyes shut."""
        told = torch.cat(self.inputs(percept, alpha, sight, memory), dim=-1)
        layers = self._shared if self.config.transition.kind == "shared" else self._standard
        x, memory = layers(self.embed(told), percept, memory, attention_mask)
        codes = self._codes(self.read_out(x), percept, noise)
        return self.concluded(codes, percept, told, x, memory, attention_mask)

    def inputs(self, percept: SlotCodes, alpha: Tensor, sight: Sight | None, memory: Memory) -> list[Tensor]:
        """What every slot is told, (B, K, ...) each."""
        del sight, memory
        priority, size = percept.priority.unsqueeze(-1), percept.size.unsqueeze(-1)
        return [percept.gestalt, priority, percept.position, size, 1 - alpha.detach()]

    def attention_layers(self, layer: int) -> list[SlotAttention]:
        """The attention before a recurrent layer of the shared transition."""
        return [cast(SlotAttention, self.attention[layer])]

    def related(
        self, layer: int, x: Tensor, hidden: Tensor, percept: SlotCodes, attention_mask: Tensor | None
    ) -> Tensor:
        """Besides attention, what slots are to each other before a recurrent layer; in the paper nothing."""
        del layer, hidden, percept, attention_mask
        return x

    def concluded(
        self, codes: SlotCodes, percept: SlotCodes, told: Tensor, x: Tensor, memory: Memory,
        attention_mask: Tensor | None,
    ) -> tuple[SlotCodes, Memory]:
        """The codes to come, after all that was told and what the layers made of it; in the paper as they are."""
        del percept, told, x, attention_mask
        return codes, memory

    def gestalt_logits(self, logits: Tensor, percept: SlotCodes) -> Tensor:
        """The predicted bits, before they are rounded."""
        del percept
        return logits

    def _standard(
        self, x: Tensor, percept: SlotCodes, memory: Memory, attention_mask: Tensor | None
    ) -> tuple[Tensor, Memory]:
        hidden, history = list(memory.hidden), list(memory.history)
        for i, (attend, recur) in enumerate(zip(self.attention, self.recurrent, strict=True)):
            x = self.related(i, attend(x, attention_mask), hidden[i], percept, attention_mask)
            x, hidden[i], history[i] = recur(x, hidden[i], history[i])
        return x, dataclasses.replace(memory, hidden=tuple(hidden), history=tuple(history))

    def _shared(
        self, x: Tensor, percept: SlotCodes, memory: Memory, attention_mask: Tensor | None
    ) -> tuple[Tensor, Memory]:
        embedded = x.shape[-1]
        x = F.pad(x, (0, EXCHANGE_WIDTH))
        (hidden,), history = memory.hidden, list(memory.history)
        for i, recur in enumerate(self.recurrent):
            both = torch.cat([x, hidden], dim=-1)
            for attend in self.attention_layers(i):
                both = attend(both, attention_mask)
            x = self.related(i, both[..., : x.shape[-1]], hidden, percept, attention_mask)
            x, hidden, history[i] = recur(x, hidden, history[i])
        return x[..., :embedded], dataclasses.replace(memory, hidden=(hidden,), history=tuple(history))

    def _codes(self, out: Tensor, percept: SlotCodes, noise: torch.Generator | None) -> SlotCodes:
        g = self.config.gestalt
        logits = self.bottleneck(out[..., :g].flatten(0, 1)[..., None, None]).view_as(out[..., :g])
        logits = self.gestalt_logits(logits, percept)
        binary = self.config.bottleneck == "binary"
        return SlotCodes(
            gestalt=binarise(logits, self.training, noise) if binary else torch.sigmoid(logits),
            priority=out[..., g],
            position=out[..., g + 1 : g + 3],
            size=self.size_gain * out[..., g + 3],
        )
