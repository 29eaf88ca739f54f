"""Films of a bright square that slides over a grey floor: small, and known to the pixel."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from loci_looped.data.clip import Clip

SIZE = (16, 24)
FRAMES = 13


def square_clip(seed: int, frames: int = FRAMES, size: tuple[int, int] = SIZE) -> Clip:
    """A bright square that slides over a grey floor."""
    random = np.random.default_rng(seed)
    background = np.full((*size, 3), 90, dtype=np.uint8)
    film = np.repeat(background[None], frames, axis=0)
    row, column, step = int(random.integers(1, 9)), int(random.integers(0, 8)), int(random.integers(1, 3))
    colour = random.integers(150, 255, 3)
    for t in range(frames):
        film[t, row : row + 6, min(column + step * t, size[1] - 6) :][:, :6] = colour
    return Clip(film, background, source=f"square-{seed}")


def flags_of(config: Any, default: Any, prefix: str = "--") -> list[str]:
    """The command line that turns the recipe `default` into `config`."""
    words: list[str] = []
    for field in dataclasses.fields(config):
        ours, theirs = getattr(config, field.name), getattr(default, field.name)
        flag = prefix + field.name.replace("_", "-")
        if dataclasses.is_dataclass(ours):
            words += flags_of(ours, theirs, flag + ".")
        elif ours == theirs:
            continue
        elif isinstance(ours, bool):
            words.append(flag if ours else f"{prefix}no-{field.name.replace('_', '-')}")
        else:
            words += [flag, *(str(part) for part in np.ravel(np.array(ours, dtype=object)))]
    return words
