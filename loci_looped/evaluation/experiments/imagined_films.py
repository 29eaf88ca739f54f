"""Imagined films beside the true ones: a strip of moments and a film for each sequence, to be judged by eye."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from loci_looped.configs.experiments import SEEN
from loci_looped.data.clip import Clip
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.formats.video import CLIP_FPS
from loci_looped.data.store.clip_cache import cached_clip
from loci_looped.data.store.clip_spec import AnyClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments.imagination import shown_in
from loci_looped.inference.run import run
from loci_looped.model import GateKind
from loci_looped.utils.errors import LociError
from loci_looped.viz.canvas import Picture, Sheet, enlarge, write_png
from loci_looped.viz.colours import LIGHT

FRAMES = 90
"""Imagined frames of a film."""
SHOWN = (1, 3, 5, 7, 10, 15, 20, 30, 45, 60, 75, 90)
"""Imagined steps of a strip."""
SEQUENCES = 4
MARGIN, FACTOR, CAPTION = 12, 2, 40


def write_imagined_films(
    folder: Path, evaluated: EvaluatedModel, gate: GateKind, specs: Sequence[AnyClipSpec]
) -> list[Path]:
    """A PNG and an MP4 of each of the first sequences; returns what was written."""
    clips = [cached_clip(spec) for spec in specs[:SEQUENCES]]
    steps = min(FRAMES, min(len(clip) for clip in clips) - SEEN)
    if steps < 1:
        raise LociError(f"Films begin after {SEEN} seen frames, but the sequences have no more than that.")
    imagined = imagined_pictures(evaluated, gate, clips, steps)
    written = []
    for clip, pictures in zip(clips, imagined, strict=True):
        name = f"{clip.source.replace('/', '-') or 'clip'}-imagined"
        title = f"{evaluated.name}: {clip.source}, imagined after {SEEN} frames"
        strip, film = folder / f"{name}.png", folder / f"{name}.mp4"
        folder.mkdir(parents=True, exist_ok=True)
        write_png(strip, film_strip(clip, pictures, title))
        write_film(film, (_pair(clip.frames[SEEN + n], picture) for n, picture in enumerate(pictures)), fps=CLIP_FPS,
                   quality=20)
        written += [strip, film]
    return written


def imagined_pictures(evaluated: EvaluatedModel, gate: GateKind, clips: Sequence[Clip], steps: int) -> list[Picture]:
    """(steps, H, W, 3) of each clip: frame SEEN + n as the network imagined it, its eyes shut from frame SEEN on."""
    model = evaluated.video_model(clips, gate)
    frames = []
    for t, slots in run(model, clips, show=shown_in("imagine", evaluated.label(gate)), steps=SEEN + steps - 1):
        if slots.expectation is None:
            raise LociError(f"{evaluated.label(gate)} paints no frames, so there are no films of what it imagines.")
        if t >= SEEN - 1:
            frames.append(slots.expectation.frame.clamp(0, 1).permute(0, 2, 3, 1).mul(255).round().byte().numpy())
    return list(np.stack(frames, axis=1))


def film_strip(clip: Clip, pictures: Picture, title: str) -> Picture:
    """The true film above the imagined one, at moments that lie ever further apart."""
    moments = [step for step in SHOWN if step <= len(pictures)]
    height, width = FACTOR * clip.size[0], FACTOR * clip.size[1]
    left = MARGIN + 72
    sheet = Sheet(CAPTION + 2 * (height + MARGIN) + MARGIN, left + len(moments) * (width + 4) + MARGIN, LIGHT.paper)
    sheet.text(title, 14, MARGIN, LIGHT.ink, size=13, bold=True, anchor="lm")
    for row, words in enumerate(("true", "imagined")):
        top = CAPTION + row * (height + MARGIN)
        sheet.text(words, top + height // 2, MARGIN, LIGHT.ink, size=12, anchor="lm")
        for column, step in enumerate(moments):
            picture = clip.frames[SEEN + step - 1] if row == 0 else pictures[step - 1]
            sheet.paste(enlarge(picture, FACTOR), top, left + column * (width + 4))
            if row == 0:
                sheet.text(str(step), top - 3, left + column * (width + 4), LIGHT.faint, size=10, anchor="ls")
    return sheet.picture


def _pair(true: Picture, imagined: Picture) -> Picture:
    gap = np.full((FACTOR * 2 * true.shape[0], 8, 3), 255, dtype=np.uint8)
    return np.concatenate([enlarge(true, 2 * FACTOR), gap, enlarge(imagined, 2 * FACTOR)], axis=1)
