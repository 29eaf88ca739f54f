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
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import to_pixels
from loci_looped.data.store.clip_cache import ProgressCallback, no_progress
from loci_looped.evaluation.metrics.surprise import slot_error
from loci_looped.evaluation.metrics.tracking import Track
from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
Job = TypeVar("Job")
Answer = TypeVar("Answer")
BATCH = 8          # clips a model watches together; more are not faster on a CPU


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

    def track(self) -> Track:
        """For the tracking figures; refuses positions that are not numbers."""
        return Track(self.positions, self.present, self.hidden, self.object_areas)


def pictures(clips: Sequence[Clip]) -> tuple[Tensor, Tensor]:
    """Frames (B, T, 3, H, W) as bytes and backgrounds (B, 3, H, W) in [0, 1]."""
    lengths = {len(clip) for clip in clips}
    if len(lengths) > 1:
        raise LociError(f"Clips that are watched together must be equally long, these have {sorted(lengths)} frames.")
    frames = torch.from_numpy(np.stack([np.asarray(clip.frames) for clip in clips])).permute(0, 1, 4, 2, 3)
    backgrounds = torch.from_numpy(np.stack([np.asarray(clip.background) for clip in clips])).permute(0, 3, 1, 2)
    return frames, backgrounds.float() / 255


@torch.no_grad()
def record(model: VideoModel[Any], clips: Sequence[Clip]) -> list[Recording]:
    """Let the model watch the clips from the first to the last frame."""
    frames, background = pictures(clips)
    state = model.initial(background)
    said: list[dict[str, Tensor | None]] = []
    length = frames.shape[1]
    for t in range(length):
        state, slots = model.step(frames[:, t].float() / 255, state)
        coming = frames[:, t + 1].float() / 255 if t + 1 < length else None
        said.append(_said(slots, coming))
    size = clips[0].size

    def over_time(name: str, element: int) -> Floats | None:
        """(T, ...) of one clip; float64, because the figures are sums over thousands of rows."""
        parts = [moment[name] for moment in said]
        values = [part[element].numpy() for part in parts if part is not None]
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
        )
        for b in range(len(clips))
    ]


def _said(slots: Slots, coming: Tensor | None) -> dict[str, Tensor | None]:
    """The small part of a step that is kept."""
    next_frame = slots.expectation
    masks = slots.object_masks if next_frame is None or next_frame.object_masks is None else next_frame.object_masks
    errors = frame_errors = areas = None
    if next_frame is not None and coming is not None:
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
