"""The corrector: slot attention. Slots compete for the tokens of a frame, and each takes in what it has won."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from loci_looped.configs.savi import CorrectorConfig

from .blocks import Perceptron


class SlotAttention(nn.Module):
    """A few rounds of: who claims which token, what does each slot receive, how does that change it."""

    def __init__(self, slot_width: int, hidden_width: int, token_width: int, config: CorrectorConfig):
        super().__init__()
        self.iterations, self.epsilon = config.iterations, config.epsilon
        self.token_norm = nn.LayerNorm(token_width)
        self.key = nn.Linear(token_width, slot_width, bias=False)
        self.value = nn.Linear(token_width, slot_width, bias=False)
        self.query_norm = nn.LayerNorm(slot_width)
        self.query = nn.Linear(slot_width, slot_width, bias=False)
        self.gru = nn.GRUCell(slot_width, slot_width)
        self.perceptron_norm = nn.LayerNorm(slot_width)
        self.perceptron = Perceptron(slot_width, hidden_width, slot_width)

    def forward(self, tokens: Tensor, slots: Tensor) -> Tensor:
        """tokens (B, N, token width), slots (B, K, D) to begin with -> corrected slots (B, K, D)"""
        tokens = self.token_norm(tokens)
        keys, values = self.key(tokens), self.value(tokens)                             # (B, N, D)
        for _ in range(self.iterations):
            claims = self._claims(keys, self.query(self.query_norm(slots)))             # (B, K, N)
            received = claims @ values                                                  # (B, K, D)
            slots = self.gru(received.flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
            slots = slots + self.perceptron(self.perceptron_norm(slots))
        return slots

    def _claims(self, keys: Tensor, queries: Tensor) -> Tensor:
        """(B, K, N): each slot's weights of a mean over the tokens.

        The soft-max runs over the slots, which makes them compete; only then is each slot's share normalised.
        """
        logits = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[-1])
        # Sums over thousands of small shares get lost in half precision.
        shares = logits.to(torch.promote_types(logits.dtype, torch.float32)).softmax(dim=1) + self.epsilon
        return (shares / shares.sum(dim=2, keepdim=True)).to(keys.dtype)
