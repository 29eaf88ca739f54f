"""What several boxes share: where a cell lies, and the two-layer perceptron."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def coordinate_grid(rows: int, columns: int, like: Tensor) -> Tensor:
    """(rows, columns, 4): each cell's row and column in [0, 1], and the distances from the far sides."""
    down = torch.linspace(0, 1, rows, dtype=like.dtype, device=like.device)
    right = torch.linspace(0, 1, columns, dtype=like.dtype, device=like.device)
    row, column = torch.meshgrid(down, right, indexing="ij")
    return torch.stack([row, column, 1 - row, 1 - column], dim=-1)


class PositionEmbedding(nn.Module):
    """Adds a learned linear function of its place to each cell of a map."""

    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(4, width)

    def forward(self, maps: Tensor) -> Tensor:
        """(n, C, rows, columns) -> the same shape"""
        rows, columns = maps.shape[-2:]
        embedded: Tensor = self.linear(coordinate_grid(rows, columns, maps))
        return maps + embedded.permute(2, 0, 1)


class Perceptron(nn.Module):
    """Linear, ReLU, linear."""

    def __init__(self, inputs: int, hidden: int, outputs: int):
        super().__init__()
        self.linear1 = nn.Linear(inputs, hidden)
        self.linear2 = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear2(torch.relu(self.linear1(x)))
        return out
