"""The predictor: what the slots will be when the next frame comes.

"mlp" looks at each slot by itself and remembers nothing (SlotFormer's CLEVRER network). "transformer" lets the slots
exchange and carries an LSTM per slot (its OBJ3D network). Neither has any randomness unless it is given a generator.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from loci_looped.configs.savi import PredictorConfig, SaviConfig

from .blocks import Perceptron

Memory = tuple[Tensor, ...]


class MlpPredictor(nn.Module):
    """y + MLP(y) with y = LN(x): what is passed on is the *normalised* slot."""

    def __init__(self, slot_width: int, hidden_width: int):
        super().__init__()
        self.norm = nn.LayerNorm(slot_width)
        self.perceptron = Perceptron(slot_width, hidden_width, slot_width)

    def initial_memory(self, like: Tensor) -> Memory:
        return ()

    def forward(self, slots: Tensor, memory: Memory, generator: torch.Generator | None = None) -> tuple[Tensor, Memory]:
        """(B, K, D) -> (B, K, D)"""
        normal = self.norm(slots)
        return normal + self.perceptron(normal), memory


class TransformerLayer(nn.Module):
    """A pre-norm encoder layer: attention among the slots of a clip, then a perceptron on each, both added."""

    def __init__(self, width: int, config: PredictorConfig):
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.attention_norm = nn.LayerNorm(width)
        self.project_in = nn.Linear(width, 3 * width)
        self.project_out = nn.Linear(width, width)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.linear1 = nn.Linear(width, config.feed_forward)
        self.linear2 = nn.Linear(config.feed_forward, width)
        # As PyTorch's own attention begins.
        nn.init.xavier_uniform_(self.project_in.weight)
        nn.init.zeros_(self.project_in.bias)
        nn.init.zeros_(self.project_out.bias)

    def forward(self, slots: Tensor, generator: torch.Generator | None) -> Tensor:
        """(B, K, D) -> (B, K, D)"""
        slots = slots + self._dropped(self._attention(self.attention_norm(slots), generator), generator)
        hidden = self._dropped(torch.relu(self.linear1(self.feed_forward_norm(slots))), generator)
        return slots + self._dropped(self.linear2(hidden), generator)

    def _attention(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.project_in(x).chunk(3, dim=-1)
        )                                                                               # (B, heads, K, D / heads)
        weights = (query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])).softmax(dim=-1)
        mixed = self._dropped(weights, generator) @ value
        out: Tensor = self.project_out(mixed.transpose(1, 2).flatten(2))
        return out

    def _dropped(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        """Dropout whose coins come from the generator, so that a training can be repeated."""
        if generator is None or not self.training or self.dropout == 0:
            return x
        kept = torch.rand(x.shape, generator=generator, dtype=x.dtype, device=x.device) >= self.dropout
        return x * kept / (1 - self.dropout)


class TransformerPredictor(nn.Module):
    """Transformer layers, then each slot's own LSTM, then a linear layer."""

    def __init__(self, slot_width: int, hidden_width: int, config: PredictorConfig):
        super().__init__()
        self.layers = nn.ModuleList(TransformerLayer(slot_width, config) for _ in range(config.layers))
        self.lstm = nn.LSTMCell(slot_width, hidden_width)
        self.out = nn.Linear(hidden_width, slot_width)

    def initial_memory(self, like: Tensor) -> Memory:
        """Zeros for slots like these (B, K, D)."""
        zeros = like.new_zeros(*like.shape[:2], self.lstm.hidden_size)
        return zeros, zeros

    def forward(self, slots: Tensor, memory: Memory, generator: torch.Generator | None = None) -> tuple[Tensor, Memory]:
        """(B, K, D) -> (B, K, D)"""
        x = slots
        for layer in self.layers:
            x = layer(x, generator)
        hidden, cell = memory
        after = self.lstm(x.flatten(0, 1), (hidden.flatten(0, 1), cell.flatten(0, 1)))
        hidden, cell = (part.view_as(hidden) for part in after)
        return self.out(hidden), (hidden, cell)


def make_predictor(config: SaviConfig) -> MlpPredictor | TransformerPredictor:
    if config.predictor.kind == "mlp":
        return MlpPredictor(config.slot_width, config.hidden_width)
    return TransformerPredictor(config.slot_width, config.hidden_width, config.predictor)
