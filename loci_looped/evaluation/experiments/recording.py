"""Show clips to a model and write down what it says, slot by slot and frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from loci_looped.baselines.protocol import Slots, VideoModel
from loci_looped.configs.experiments import BATCH
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import to_pixels
from loci_looped.data.store.clip_cache import ProgressCallback, no_progress
from loci_looped.evaluation.metrics.surprise import slot_error
from loci_looped.evaluation.metrics.tracking import Track
from loci_looped.inference.pixels import frames_at
from loci_looped.inference.run import run

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Job = TypeVar("Job")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Recording:
    """What a model said about one clip of T frames with its K slots. None is for what it does not know.

    What is said about the next frame stands in the row of the frame at which it was said, as in the released tables;
    the last row of those is NaN.
    """

    positions: Floats               # (T, K, 2) pixel (row, column)
    present: Bools                  # (T, K)
    hidden: Bools                   # (T, K) the model believes that nothing of the object can be seen
    occlusion: Floats | None        # (T, K) hidden share, as believed
    gate: Floats | None             # (T, K, 2) openings for gestalt and position
    object_areas: Floats | None     # (T, K) summed whole-object mask, predicted where the model predicts
    visible_areas: Floats | None    # (T, K) summed visible mask expected in the next frame
    slot_errors: Floats | None      # (T, K) the paper's S of the next frame
    frame_errors: Floats | None     # (T,) mean squared error of the next frame
    believed_areas: Floats | None = None    # (T, K) pixels of the object as believed, painted alone
    surprise: Floats | None = None  # (T, K) in bits, of the frame in whose row it stands
    unexpected: Floats | None = None    # (T,) likewise

    def track(self) -> Track:
        """For the tracking figures; refuses positions that are not numbers."""
        return Track(self.positions, self.present, self.hidden, self.object_areas)


def record(model: VideoModel[Any], clips: Sequence[Clip]) -> list[Recording]:
    """Let the model watch the clips from the first to the last frame."""
    length, size = len(clips[0]), clips[0].size
    said = [
        _said(slots, frames_at(clips, t + 1) if t + 1 < length else None) for t, slots in run(model, clips)
    ]

    def over_time(name: str, element: int) -> Floats | None:
        """(T, ...) of one clip; float64, because the figures are sums over thousands of rows."""
        parts = [moment[name] for moment in said]
        values = [part[element].cpu().numpy() for part in parts if part is not None]
        if not values:
            return None
        rows = np.stack(values).astype(np.float64)
        missing = np.full((length - len(rows), *rows.shape[1:]), np.nan)      # the last frame has no next one
        return np.concatenate([rows, missing])

    def certain(name: str, element: int) -> Floats:
        values = over_time(name, element)
        assert values is not None
        return values

    return [
        Recording(
            positions=to_pixels(certain("positions", b), size),
            present=certain("present", b).astype(bool), hidden=certain("hidden", b).astype(bool),
            occlusion=over_time("occlusion", b), gate=over_time("gate", b),
            object_areas=over_time("object_areas", b), visible_areas=over_time("visible_areas", b),
            slot_errors=over_time("slot_errors", b), frame_errors=over_time("frame_errors", b),
            believed_areas=over_time("believed_areas", b), surprise=over_time("surprise", b),
            unexpected=over_time("unexpected", b),
        )
        for b in range(len(clips))
    ]


@torch.no_grad()
def _said(slots: Slots, coming: Tensor | None) -> dict[str, Tensor | None]:
    """The small part of a step that is kept; `coming` is the next frame, where there is one."""
    next_frame = slots.expectation
    masks = slots.object_masks if next_frame is None or next_frame.object_masks is None else next_frame.object_masks
    believed = slots.believed_masks
    errors = frame_errors = areas = None
    if next_frame is not None and coming is not None:
        coming = coming.to(next_frame.frame.device)
        # One film that has gone astray must not take the others of its batch along.
        sound = torch.isfinite(next_frame.frame).all(dim=(1, 2, 3))
        sound = sound & torch.isfinite(next_frame.visible_masks).all(dim=(1, 2, 3))
        errors = slot_error(torch.nan_to_num(next_frame.visible_masks), torch.nan_to_num(next_frame.frame), coming)
        errors = torch.where(sound.unsqueeze(1), errors, torch.nan)
        frame_errors = (next_frame.frame - coming).square().mean(dim=(1, 2, 3))
        areas = next_frame.visible_masks.sum(dim=(2, 3))
    return {
        "positions": slots.positions, "present": slots.presence, "hidden": slots.hidden, "occlusion": slots.occlusion,
        "gate": slots.gate, "object_areas": None if masks is None else masks.sum(dim=(2, 3)),
        "visible_areas": areas, "slot_errors": errors, "frame_errors": frame_errors,
        "believed_areas": None if believed is None else (believed > 0.5).sum(dim=(2, 3)),
        "surprise": slots.surprise, "unexpected": slots.unexpected,
    }


def in_batches(
    jobs: Sequence[Job], work: Callable[[Sequence[Job]], list[Answer]], *, batch: int = BATCH, workers: int = 1,
    on_progress: ProgressCallback = no_progress, label: str = "watching",
) -> Iterator[Answer]:
    """The answers in the order of the jobs. Batches do not depend on the number of workers, so neither do numbers.

    Workers are threads: almost all the time is spent in convolutions, which let other threads run.
    """
    parts = [jobs[start : start + batch] for start in range(0, len(jobs), batch)]
    done = 0
    on_progress(label, 0, len(jobs))
    if workers < 2:
        for part in parts:
            answers = work(part)
            done += len(part)
            on_progress(label, done, len(jobs))
            yield from answers
        return
    with ThreadPoolExecutor(workers) as pool:
        futures: list[Future[list[Answer]]] = [pool.submit(work, part) for part in parts]
        try:
            for part, future in zip(parts, futures, strict=True):
                answers = future.result()
                done += len(part)
                on_progress(label, done, len(jobs))
                yield from answers
        finally:
            for future in futures:
                future.cancel()
