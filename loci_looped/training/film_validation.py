"""Validation on held-out clips of the user's own films: with the truth where it is known, else by what shows anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from loci_looped.baselines.protocol import Slots, VideoModel
from loci_looped.data.clip import Clip
from loci_looped.data.films.moving import blobs, foreground
from loci_looped.inference.explained import Explained, explained, slots_on
from loci_looped.inference.run import Shown, evaluation_mode, run
from loci_looped.inference.video_model import LociVideoModel
from loci_looped.model import GateKind, LociLooped
from loci_looped.training.validation import Validation, validate_slots

EYES_SHUT = 8
"""Frames for which the network must go on by itself."""
SEEN_BEFORE = 10
"""Frames it sees before that."""


@dataclass(frozen=True)
class FilmValidation:
    """Errors are means of squares where something moves, in % of the bare background's; 100 is no better than that."""

    prediction_error: float
    copy_error: float               # of the frame before, taken for the next one
    explained: float                # % of what differs from the background
    blobs_found: float              # % of the moving blobs that some slot shows
    slots_per_blob: float
    shut_error: float               # after some frames with the eyes shut; NaN for a model that cannot imagine
    shut_copy_error: float          # of the last frame that was seen
    truth: Validation | None = None     # on the clips whose truth is known

    def to_json(self) -> dict[str, Any]:
        values = asdict(self)
        truth = values.pop("truth")
        return values | (truth or {})

    def line(self) -> str:
        told = (
            f"held-out films: explains {self.explained:.0f} % of what moves (error {self.prediction_error:.0f} % of "
            f"the bare background's, a copy of the last frame has {self.copy_error:.0f} %), blobs found "
            f"{self.blobs_found:.0f} %, slots per blob {self.slots_per_blob:.2f}"
        )
        if not math.isnan(self.shut_error):
            told += (
                f", after {EYES_SHUT} frames with eyes shut error {self.shut_error:.0f} % "
                f"(a copy {self.shut_copy_error:.0f} %)"
            )
        return told if self.truth is None else f"{told}; {self.truth.line()}"


Findings = Validation | FilmValidation
"""What a look at a network during its training finds, on generated scenes or on films."""


def validate_films(model: LociLooped, clips: Sequence[Clip], gate: GateKind, batch: int = 16) -> FilmValidation:
    """Let the network watch the clips (of equal length) twice: as filmed, and with its eyes shut for a while."""
    with evaluation_mode(model):
        return validate_film_slots(LociVideoModel(model, gate, paints_beliefs=True), clips, batch)


def validate_film_slots(
    watching: VideoModel[Any], clips: Sequence[Clip], batch: int = 16, *, imagines: bool = True
) -> FilmValidation:
    """The same for any video model; what one that predicts no frames, or cannot imagine, cannot say is NaN."""
    open_eyes, shut = Explained(), Explained()
    counts: list[int] = []
    for start in range(0, len(clips), batch):
        chosen = clips[start : start + batch]
        open_eyes = open_eyes + _watch(watching, chosen, counts)
        shut = shut + _watch_in_the_dark(watching, chosen) if imagines else shut
    known = [clip for clip in clips if clip.truth is not None]
    found = np.array(counts)
    return FilmValidation(
        prediction_error=_percent(open_eyes.error, open_eyes.background),
        copy_error=_percent(open_eyes.copy, open_eyes.background),
        explained=100 * open_eyes.share,
        blobs_found=100 * float((found > 0).mean()) if len(found) else float("nan"),
        slots_per_blob=float(found[found > 0].mean()) if (found > 0).any() else float("nan"),
        shut_error=_percent(shut.error, shut.background),
        shut_copy_error=_percent(shut.copy, shut.background),
        truth=validate_slots(watching, known, batch) if known else None,
    )


def _watch(model: VideoModel[Any], clips: Sequence[Clip], counts: list[int]) -> Explained:
    total = Explained()
    fronts = [foreground(np.asarray(clip.frames), clip.background) for clip in clips]
    expected: NDArray[np.floating] | None = None
    for t, slots in run(model, clips):
        shown = ((slots.visible_masks > 0.5) & slots.presence[..., None, None]).cpu().numpy()
        for index, clip in enumerate(clips):
            found = blobs(np.asarray(clip.frames[t]), fronts[index][t])
            counts += slots_on(found, shown[index])
            if expected is not None:
                moving = fronts[index][t] | fronts[index][t - 1]
                total = total + _of_frame(clip, t, t - 1, expected[index], moving)
        expected = _pictures(slots)
    return total


def _watch_in_the_dark(model: VideoModel[Any], clips: Sequence[Clip]) -> Explained:
    """The eyes are shut after some frames; the prediction for the last dark frame counts."""
    length = len(clips[0])
    last_seen = min(SEEN_BEFORE, max(1, length - EYES_SHUT - 1)) - 1
    end = min(last_seen + EYES_SHUT, length - 1)

    def show(t: int, frame: Tensor, before: Slots | None) -> Shown:
        return (frame if t <= last_seen else None), None

    expected = None
    for _, slots in run(model, clips, show=show, steps=end):
        expected = _pictures(slots)
    total = Explained()
    for index, clip in enumerate(clips if expected is not None else ()):
        front = foreground(np.asarray(clip.frames[[last_seen, end]]), clip.background)
        assert expected is not None
        total = total + _of_frame(clip, end, last_seen, expected[index], front[0] | front[1])
    return total


def _of_frame(
    clip: Clip, t: int, before: int, expected: NDArray[np.floating], moving: NDArray[np.bool_]
) -> Explained:
    def scaled(picture: NDArray[np.uint8]) -> NDArray[np.floating]:
        return np.asarray(picture, dtype=np.float64) / 255

    return explained(expected, scaled(clip.frames[t]), scaled(clip.frames[before]), scaled(clip.background), moving)


def _pictures(slots: Slots) -> NDArray[np.floating] | None:
    """(B, H, W, 3) the next frame as expected, by a model that expects any."""
    if slots.expectation is None:
        return None
    return np.asarray(slots.expectation.frame.permute(0, 2, 3, 1).double().cpu().numpy())


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole > 0 else float("nan")
