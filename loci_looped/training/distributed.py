"""More than one process: each takes its share of the batch, and gradients are summed.

`torchrun --nproc-per-node 2 -m loci_looped.cli.main train RECIPE` starts them. All of them see the same run folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from loci_looped.utils.errors import LociError

PATIENCE = timedelta(hours=12)
"""How long processes wait for one another; the first may have to generate the clips."""

LAST_MESSAGE = 0.3
"""Seconds that gloo is given to let go of the last message."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class ProcessGroup:
    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def is_first(self) -> bool:
        """The one that logs, validates and writes checkpoints."""
        return self.rank == 0

    def share(self, batch: Tensor) -> Tensor:
        """This process's part of a batch (B, ...), on its device."""
        return (batch if self.size == 1 else batch[self.rank :: self.size]).to(self.device)

    def sum_gradients(self, model: nn.Module, injected: Iterable[nn.Parameter] = ()) -> None:
        """Add up the gradients of all processes in one message.

        Losses are divided by `size` beforehand, so that the sum is the gradient of the whole batch. Gradients that come
        per slot rather than averaged (L0) simply add up; those `injected` per step are the same in every process.
        """
        if self.size == 1:
            return
        used = [p for p in model.parameters() if p.grad is not None]
        flat = torch.cat([p.grad.flatten() for p in used if p.grad is not None])
        dist.all_reduce(flat)
        offset = 0
        for parameter in used:
            assert parameter.grad is not None
            parameter.grad.copy_(flat[offset : offset + parameter.numel()].view_as(parameter))
            offset += parameter.numel()
        for parameter in injected:
            if parameter.grad is not None:
                parameter.grad.div_(self.size)

    def agree(self, flag: bool) -> bool:
        """True in all processes if it is in one: all stop together."""
        if self.size == 1:
            return flag
        votes = torch.tensor([float(flag)], device=self.device)
        dist.all_reduce(votes)
        return bool(votes.item() > 0)

    def gather(self, value: Tensor) -> list[Tensor]:
        """The value of every process, in the order of ranks."""
        if self.size == 1:
            return [value]
        there = value.to(self.device)
        everyone = [torch.empty_like(there) for _ in range(self.size)]
        dist.all_gather(everyone, there)
        return [theirs.to(value.device) for theirs in everyone]

    def one_after_another(self, work: Callable[[], Result]) -> Result:
        """The first process of each machine works, then the others find what it has left in the cache."""
        if self.size == 1:
            return work()
        first_here = int(os.environ.get("LOCAL_RANK", "0")) == 0
        result = work() if first_here else None
        dist.barrier()
        return work() if result is None else result

    def close(self) -> None:
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
            # gloo's own thread drops the tensors of the last message when it finds time, and needs the interpreter for
            # it; one that is already shutting down would abort the process (SIGABRT, "terminate called ...").
            time.sleep(LAST_MESSAGE)


def join(batch: int, device: str = "cpu") -> ProcessGroup:
    """The world torchrun has made, or a world of one."""
    chosen = torch.device(device)
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise LociError("There is no CUDA device here (or this PyTorch cannot use it): train with --device cpu.")
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return ProcessGroup(device=chosen)
    if batch % size:
        raise LociError(
            f"A batch of {batch} cannot be shared evenly by {size} processes; choose a multiple with --data.batch."
        )
    if chosen.type == "cuda" and chosen.index is None:
        chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(chosen)
    if not dist.is_initialized():
        dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo", timeout=PATIENCE)
    return ProcessGroup(dist.get_rank(), size, chosen)
