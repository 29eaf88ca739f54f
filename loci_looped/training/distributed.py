"""More than one process: each takes its share of the batch, and gradients are summed."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from loci_looped.errors import LociError


@dataclass(frozen=True)
class World:
    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """The one that logs, validates and writes checkpoints."""
        return self.rank == 0

    def share(self, batch: Tensor) -> Tensor:
        """This process's part of a batch (B, ...)."""
        return batch if self.size == 1 else batch[self.rank :: self.size]

    def sum_gradients(self, model: nn.Module) -> None:
        """Add up the gradients of all processes in one message. Losses are divided by `size` beforehand, so that the sum is
        the gradient of the whole batch; gradients that are injected rather than averaged (L0) simply add up.
        """
        if self.size == 1:
            return
        parameters = [p for p in model.parameters() if p.grad is not None]
        flat = torch.cat([p.grad.flatten() for p in parameters if p.grad is not None])
        dist.all_reduce(flat)
        offset = 0
        for parameter in parameters:
            assert parameter.grad is not None
            parameter.grad.copy_(flat[offset : offset + parameter.numel()].view_as(parameter))
            offset += parameter.numel()

    def agree(self, flag: bool) -> bool:
        """True in all processes if it is in one: all stop together."""
        if self.size == 1:
            return flag
        votes = torch.tensor([float(flag)])
        dist.all_reduce(votes)
        return bool(votes.item() > 0)

    def close(self) -> None:
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()


def join(batch: int, device: torch.device) -> World:
    """The world torchrun has made, or a world of one."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return World()
    if batch % size:
        raise LociError(f"A batch of {batch} cannot be shared evenly by {size} processes; choose a multiple with --data.batch.")
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return World(dist.get_rank(), size)
