"""ADEPT's mask files: one picture per object and frame, found by the time in its name; broken ones are reported.

A released name ends in `_<object>_<seconds>s.png`, e.g. `01_train_00201_2_003.40s.png`. Stray files are left alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.coordinates import Size, resize_masks
from loci_looped.data.formats import rle
from loci_looped.data.formats.images import open_picture
from loci_looped.data.formats.read_result import summarise
from loci_looped.utils.errors import LociError

_MASK_NAME = re.compile(r"_(\d+)_(\d+\.\d+)s?\.png$")
_IMAGE_TIME = re.compile(r"(\d+\.\d+)s?\.\w+$")


def read(
    folder: Path, images: list[Path], scene: list[Any], chosen: range, entries: list[tuple[int, ...]], size: Size,
    drawn: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], list[str]]:
    """(T, O, H, W) visible masks, and notes. Without a usable file the annotation's run-length mask is taken; without
    that the mask `drawn` from the annotated geometry, and a note says so."""
    files, stray = index_files(folder / "masks", sum(len(members) for members in entries))
    notes = [f"{folder}/masks holds {len(stray)} files that belong to no object: {summarise(stray)}."] if stray else []
    visible = np.zeros((len(chosen), len(entries), *size), dtype=bool)
    broken: list[str] = []
    missing: list[str] = []
    for step, index in enumerate(chosen):
        for number, members in enumerate(entries):
            for entry in members:
                file = files.get((entry, time_of(images[index], index)))
                mask = None
                if file is None:
                    missing.append(f"object {entry} in frame {index}")
                else:
                    try:
                        mask = load(file)
                    except LociError:
                        broken.append(file.name)
                if mask is None:
                    mask = _run_length(scene[index]["objects"][entry])
                if mask is None:
                    visible[step, number] |= drawn[step, number]
                else:
                    visible[step, number] |= resize_masks(mask, size)
    instead = "the annotation's own masks, or else masks drawn from the annotated geometry, stand in"
    if broken:
        notes.append(f"{folder}/masks holds {len(broken)} damaged files ({summarise(broken)}); {instead}.")
    if missing:
        notes.append(f"{folder}/masks lacks {len(missing)} masks ({summarise(missing)}); {instead}.")
    return visible, notes


def whole(
    folder: Path, images: list[Path], chosen: range, entries: list[tuple[int, ...]], visible: NDArray[np.bool_],
    drawn: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], list[str]]:
    """(T, O, H, W) whole-object masks: from `whole/`, which our writer adds; ADEPT itself has none, so there an object
    that may be hidden by another one is completed by the mask `drawn` from its geometry."""
    size = visible.shape[2], visible.shape[3]
    if (folder / "whole").is_dir():
        files, _ = index_files(folder / "whole", sum(len(members) for members in entries))
        result = np.zeros_like(visible)
        for step, index in enumerate(chosen):
            for number, members in enumerate(entries):
                for entry in members:
                    file = files.get((entry, time_of(images[index], index)))
                    if file is None:
                        raise LociError(f"{folder}/whole lacks the mask of object {entry} in frame {index}.")
                    result[step, number] |= resize_masks(load(file), size)
        return result, []
    shared = drawn.sum(axis=1)                                          # (T, H, W) how many objects lie on the ray
    contested = (drawn & (shared[:, None] > 1)).any(axis=(2, 3))        # (T, O)
    completed = visible | (drawn & contested[..., None, None])
    note = f"{folder}: ADEPT has no whole-object masks; hidden parts are drawn from the annotated geometry."
    return completed, [note]


def index_files(folder: Path, count: int) -> tuple[dict[tuple[int, float], Path], list[str]]:
    """(object, seconds) -> file, and the names that fit no object."""
    files: dict[tuple[int, float], Path] = {}
    stray: list[str] = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        match = _MASK_NAME.search(path.name)
        if match and int(match[1]) < count:
            files[int(match[1]), float(match[2])] = path
        else:
            stray.append(path.name)
    return files, stray


def time_of(image: Path, index: int) -> float:
    """The seconds in an image's name; ADEPT writes one frame every 0.04 s, should the name not tell."""
    match = _IMAGE_TIME.search(image.name)
    return float(match[1]) if match else round(index * 0.04, 2)


def load(path: Path) -> NDArray[np.bool_]:
    """(H, W) of a mask picture: set where any colour is bright, whatever its alpha says."""
    picture = open_picture(path)
    pixels = np.asarray(picture.convert("RGB"))
    return np.asarray(pixels.max(axis=-1) > 127)


def _run_length(entry: dict[str, Any]) -> NDArray[np.bool_] | None:
    code = entry.get("mask")
    return rle.decode(code) if isinstance(code, dict) else None
