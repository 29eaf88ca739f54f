"""The interruption experiment: the lights go out now and then; what does the model expect to see in the dark?

SlotFormer's evaluation clips (48 frames: 6 to settle, 42 scored) of the `collide` world. From the seventh frame on each
clip goes dark by its own dice: a black frame, and no error map. A prediction counts as blackout if it was made in the
dark. Images and masks are compared at 64 x 64, as published.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from loci_looped.baselines.protocol import Slots
from loci_looped.configs.experiments import BATCH
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import resize_masks
from loci_looped.data.store.clip_cache import ProgressCallback, cached_clip, fill_cache, no_progress
from loci_looped.data.store.clip_spec import AnyClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments.recording import in_batches
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.experiments.slotformer import BURN_IN
from loci_looped.evaluation.metrics import found, images, official_segmentation, perceptual, segmentation
from loci_looped.evaluation.metrics.perceptual import PerceptualDistance
from loci_looped.evaluation.metrics.tracking import moments
from loci_looped.inference.pixels import to_tensor
from loci_looped.inference.run import Shown, run
from loci_looped.model import GateKind
from loci_looped.utils.atomic import replacing
from loci_looped.utils.errors import LociError

Floats = NDArray[np.floating]
SIZE = (64, 64)
DRAWS = "+per-clip-blackouts"
METRICS: dict[str, str] = {
    "psnr": images.PROTOCOL + DRAWS, "ssim": images.PROTOCOL + DRAWS, "lpips": perceptual.PROTOCOL + "-vgg" + DRAWS,
    "ari": segmentation.PROTOCOL + DRAWS, "fg_ari": segmentation.PROTOCOL + DRAWS,
    "miou": segmentation.PROTOCOL + DRAWS, "ar": segmentation.PROTOCOL + DRAWS,
    "found": found.PROTOCOL + DRAWS, "slots_per_object": found.PROTOCOL + DRAWS,
    "false_positives": found.PROTOCOL + DRAWS,
    "official_miou": official_segmentation.PROTOCOL + DRAWS, "official_ar": official_segmentation.PROTOCOL + DRAWS,
}
UNITS = {"psnr": "dB"}


@dataclass(frozen=True)
class InterruptedClip:
    """The scores of one clip at one blackout probability; N = 42 predicted frames."""

    model: str
    probability: float
    source: str
    seed: int | None
    first: int                              # the frame at which the first of the predictions was made
    dark: NDArray[np.bool_]                 # (N,) was it made in the dark?
    scores: dict[str, Floats]               # per metric (N,)


def blackouts(clips: Sequence[Clip], probability: float, seed: int) -> NDArray[np.bool_]:
    """(B, T) which frames are dark. One draw per clip and frame, the same for every probability, so that a clip's dark
    frames at 10 % are among those at 20 %."""
    dark = np.zeros((len(clips), len(clips[0])), dtype=bool)
    for index, clip in enumerate(clips):
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([606, seed, clip.seed or 0])))
        dark[index] = random.random(len(clip)) < probability
    dark[:, :BURN_IN] = False
    return dark


def watch_interrupted(
    evaluated: EvaluatedModel, gate: GateKind, specs: Sequence[AnyClipSpec], probability: float, *, seed: int = 0,
    batch: int = BATCH, workers: int = 1, on_progress: ProgressCallback = no_progress,
    lpips: PerceptualDistance | None = None,
) -> Iterator[InterruptedClip | str]:
    """Score every clip; a sentence in place of one that cannot be scored."""
    fill_cache(specs, workers, on_progress)
    label = evaluated.label(gate)

    def work(part: Sequence[AnyClipSpec]) -> list[InterruptedClip | str]:
        clips = [cached_clip(spec) for spec in part]
        answers: list[InterruptedClip | str] = [""] * len(part)
        usable = [index for index, clip in enumerate(clips) if clip.truth is not None and len(clip) > BURN_IN]
        for index in set(range(len(part))) - set(usable):
            named = clips[index].source or "A clip"
            answers[index] = f"{named} has no ground truth, or too few frames; it was left out."
        for length in sorted({len(clips[index]) for index in usable}):
            chosen = [index for index in usable if len(clips[index]) == length]
            together = [clips[index] for index in chosen]
            scored = _watch(evaluated, gate, together, probability, seed, label, lpips)
            for index, answer in zip(chosen, scored, strict=True):
                answers[index] = answer
        return answers

    return in_batches(specs, work, batch=batch, workers=workers, on_progress=on_progress,
                      label=f"watching, {label}, {100 * probability:.0f} % dark")


@torch.no_grad()
def _watch(
    evaluated: EvaluatedModel, gate: GateKind, clips: Sequence[Clip], probability: float, seed: int, label: str,
    lpips: PerceptualDistance | None,
) -> list[InterruptedClip | str]:
    dark = blackouts(clips, probability, seed)
    labels = [_true_labels(clip) for clip in clips]                                     # each (T, 64, 64)
    first = BURN_IN - 1

    def show(t: int, frame: Tensor, before: Slots | None) -> Shown:
        return frame, torch.from_numpy(dark[:, t])

    predicted: list[Tensor] = []
    masks: list[Tensor] = []
    for t, slots in run(evaluated.video_model(clips, gate), clips, show=show, steps=len(clips[0]) - 1):
        if slots.expectation is None:
            raise LociError(
                f"{evaluated.name} predicts no frames, which is what this experiment scores: evaluate a network "
                "instead."
            )
        if t >= first:
            predicted.append(small(slots.expectation.frame))
            masks.append(small(slots.expectation.visible_masks_with_background))
    answers: list[InterruptedClip | str] = []
    for index, clip in enumerate(clips):
        ours = torch.stack([frame[index] for frame in predicted])                       # (N, 3, 64, 64)
        shares = torch.stack([mask[index] for mask in masks])                           # (N, K + 1, 64, 64)
        if not (torch.isfinite(ours).all() and torch.isfinite(shares).all()):
            answers.append(f"{clip.source} (seed {clip.seed}) was left out ({label}): its predictions are not numbers.")
            continue
        target = small(to_tensor(np.asarray(clip.frames[first + 1 :])))
        scores = score_frames(ours.clamp(0, 1), target, shares.double().numpy(), labels[index][first + 1 :], lpips)
        answers.append(
            InterruptedClip(label, probability, clip.source, clip.seed, first, dark[index, first:-1], scores)
        )
    return answers


def small(pixels: Tensor) -> Tensor:
    """(N, C, H, W) at the published 64 x 64: bilinear between pixel centres, as torch resizes tensors."""
    if tuple(pixels.shape[-2:]) == SIZE:
        return pixels
    return functional.interpolate(pixels, SIZE, mode="bilinear", align_corners=False)


def _true_labels(clip: Clip) -> NDArray[np.int64]:
    """(T, 64, 64) 0 for the background, o + 1 for object o."""
    assert clip.truth is not None
    masks = resize_masks(clip.truth.visible_masks, SIZE)                                # (T, O, 64, 64)
    numbers = np.arange(1, masks.shape[1] + 1)[:, None, None]
    return np.asarray((masks * numbers).max(axis=1, initial=0), dtype=np.int64)


def score_frames(
    prediction: Tensor, target: Tensor, masks_with_background: Floats, truth: NDArray[np.int64],
    lpips: PerceptualDistance | None = None,
) -> dict[str, Floats]:
    """Every metric of N frames, each (N,): images (N, 3, H, W), masks (N, K + 1, H, W), true labels (N, H, W)."""
    labels = segmentation.labels_from_masks(masks_with_background)
    channels = official_segmentation.official_labels(masks_with_background)
    caught = found.found_objects(truth, labels)
    scores = {
        "found": caught.found, "slots_per_object": caught.slots_per_object, "false_positives": caught.false_positives,
        "psnr": images.psnr(prediction, target).clamp(max=100).numpy(),
        "ssim": images.ssim(prediction, target).numpy(),
        "ari": segmentation.adjusted_rand_index(truth, labels),
        "fg_ari": segmentation.adjusted_rand_index(truth, labels, foreground=True),
        "miou": segmentation.mean_iou(truth, labels),
        "ar": segmentation.precision_recall(truth, labels)[1],
        "official_miou": official_segmentation.official_mean_iou(truth, channels),
        "official_ar": official_segmentation.official_precision_recall(truth, channels)[1],
    }
    if lpips is not None:
        scores["lpips"] = lpips(prediction, target).numpy().astype(np.float64)
    return scores


def put_interruptions(results: Results, case: Case, clips: Sequence[InterruptedClip]) -> None:
    """Mean, spread and count of every metric, for all frames, those predicted in the dark, and those in the light."""
    dark = np.concatenate([clip.dark for clip in clips])
    results.put(case, "blackout_rate", float(dark.mean()), "blackout/per-clip-draws", percent=True, n=len(dark))
    for metric in clips[0].scores:
        values = np.concatenate([clip.scores[metric] for clip in clips])
        for name, chosen in (("complete", np.ones_like(dark)), ("blackout", dark), ("visible", ~dark)):
            kept = values[chosen]
            results.put(case.under(name), metric, moments(kept[np.isfinite(kept)]), METRICS[metric],
                        UNITS.get(metric, ""))


def put_sweep(results: Results, case: Case, probabilities: Sequence[float]) -> None:
    """Curves over the blackout probability, from the rows that are already there."""
    for metric in METRICS:
        for part in ("blackout", "visible"):
            rows = [results.find(case.under(f"{probability:g}", part), metric) for probability in probabilities]
            if any(row is not None and row.value is not None for row in rows):
                results.put_curve(
                    case.under("sweep", part), metric, [100 * probability for probability in probabilities],
                    [None if row is None else row.value for row in rows],
                    [0 if row is None or row.n is None else row.n for row in rows],
                )


def write_interruption_table(path: Path, clips: Sequence[InterruptedClip]) -> int:
    """One row per clip, probability and predicted frame; returns the number of rows."""
    metrics = [metric for metric in METRICS if any(metric in clip.scores for clip in clips)]
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("model", "probability", "source", "seed", "frame", "dark", *metrics))
        for clip in clips:
            for n, dark in enumerate(clip.dark):
                cells = (f"{clip.scores[m][n]:.6g}" if m in clip.scores and np.isfinite(clip.scores[m][n]) else ""
                         for m in metrics)
                frame = clip.first + n
                writer.writerow((clip.model, clip.probability, clip.source, clip.seed, frame, int(dark), *cells))
                count += 1
    return count


Loader = Callable[[], PerceptualDistance]


def lpips_if_fetched(results: Results, load: Loader = perceptual.load_perceptual) -> PerceptualDistance | None:
    """LPIPS if its weights are there; otherwise a note that says how to get them."""
    try:
        return load()
    except LociError as error:
        results.warn(f"LPIPS was left out. {error}")
        return None
