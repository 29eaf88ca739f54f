"""Films and film strips for the report: what the network sees, and what it believes behind the screen."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from loci_looped.data.clip import Clip
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.formats.video import CLIP_FPS
from loci_looped.data.store.clip_cache import cached_clip
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.inference.watch import FrameResult, watch
from loci_looped.model import LociLooped
from loci_looped.viz.canvas import Picture, factor_for
from loci_looped.viz.overlay import overlay
from loci_looped.viz.panel import slot_panel

COLUMNS = 9             # of a film strip
HEIGHT = 240            # of each of the two pictures of the film, one above the other: phones are narrow


@dataclass(frozen=True)
class Film:
    """A watched scene: the film (MP4) and the strip of its slots (PNG)."""

    title: str
    note: str
    movie: bytes
    strip: bytes


def films_of(model: EvaluatedModel, seed: int) -> list[Film]:
    """Scenes of the network's own world: a control and a surprise, or balls if its pictures are square."""
    if not isinstance(model.network, LociLooped):
        return []
    return [
        _film(model.network, f"{model.name}: {title}", note, cached_clip(spec))
        for title, note, spec in _scenes(model, seed)
    ]


def _scenes(model: EvaluatedModel, seed: int) -> list[tuple[str, str, ClipSpec]]:
    if model.frame[0] == model.frame[1]:
        return [(f"balls, sequence {seed} of the test set", "Three balls that bounce off each other.",
                 ClipSpec("balls-interaction-test", seed, model.frame, range(60)))]
    control = ClipSpec("vanish-control", seed, model.frame)
    surprise = ClipSpec("violations-vanish", seed, model.frame)
    return [
        (f"control scene {seed}", "Two objects pass behind the screen and come out again; then it falls.", control),
        (f"surprise scene {seed}", "The same, but while it is hidden one of the two is taken away.", surprise),
    ]


def _film(network: LociLooped, title: str, note: str, clip: Clip) -> Film:
    moments: list[FrameResult] = []
    chosen = {round(number) for number in np.linspace(0.08 * len(clip), 0.95 * (len(clip) - 1), COLUMNS)}

    def pictures() -> Iterator[Picture]:
        for seen in watch(network, clip):
            if seen.number in chosen:
                moments.append(seen)
            yield _pair(seen)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        write_film(path, pictures(), fps=CLIP_FPS, quality=20)
        movie = path.read_bytes()
    return Film(title, note, movie, png(slot_panel(moments, title)))


def _pair(seen: FrameResult) -> Picture:
    """Above what is seen, with the beliefs drawn on it; below what is believed, the screen taken away."""
    height, width = seen.frame.shape[:2]
    factor = factor_for(height, HEIGHT)
    size = (factor * height, factor * width)
    above = overlay(seen, size, seen.frame, tags=False)
    below = overlay(seen, size, seen.behind_the_screen, tags=False, ghost=seen.screen)
    return np.concatenate([above, np.full((8, size[1], 3), 255, np.uint8), below])


def png(picture: Picture) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
