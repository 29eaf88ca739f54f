"""A film, or a clip of anybody's, made fit for a network: its size, its rate, a background, one clip per shot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import Size, resize, resize_masks
from loci_looped.data.films import occluders
from loci_looped.data.films.camera_motion import MOVES, CameraMotion, camera_motion
from loci_looped.data.films.framing import Box, framing
from loci_looped.data.formats import video
from loci_looped.data.formats.background import estimate, spread
from loci_looped.data.formats.images import read_rgb
from loci_looped.data.formats.read_result import ReadResult
from loci_looped.data.formats.video import NATURAL, Selection
from loci_looped.utils.errors import LociError

SHORTEST_SHOT = 8
"""Frames below which a shot tells nothing."""
MEMORY = 2 << 30
"""Bytes that a film may take at the network's size."""


@dataclass(frozen=True)
class Preparation:
    """What is to be done to every film."""

    size: Size                      # (H, W) of the network
    stride: int | None = None       # every n-th frame; without it about 8 per second of a film, and all of a clip
    start: int = 0                  # frames before it, and from stop on, are left out
    stop: int | None = None
    crop: str = "none"
    background: str = "auto"        # auto: the known one, else estimated; estimate: in any case; or a picture's file
    occluder: str = "auto"          # auto: found where the background is estimated; none; or a mask's file

    @property
    def selection(self) -> Selection:
        return Selection(self.start, self.stop, self.stride)


@dataclass(frozen=True)
class Prepared:
    """One shot, ready to be watched or learnt from."""

    clip: Clip
    camera_extent: float = 0.0      # how far the camera strays, as a share of the picture's width
    occluder: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    notes: tuple[str, ...] = ()

    @property
    def camera_moves(self) -> bool:
        return self.camera_extent > MOVES


def prepare_film(path: Path, wanted: Preparation) -> list[Prepared]:
    """The shots of a film or of a folder of frames, decoded once and never held at full size."""
    about = video.info(path)
    frame = framing(path.name, about.size, wanted.size, wanted.crop)
    stride = wanted.stride or video.natural_stride(about.fps)
    notes = [frame.sentence] if frame.sentence else []
    small: list[NDArray[np.uint8]] = []
    most = MEMORY // (3 * wanted.size[0] * wanted.size[1])

    def pictures() -> Iterator[NDArray[np.uint8]]:
        for picture in video.frames(path, wanted.selection, notes.append):
            part = picture[frame.box.rows, frame.box.columns]
            small.append(resize(np.ascontiguousarray(part), wanted.size))
            if len(small) > most:
                raise LociError(
                    f"{path} has more than {most} frames at stride {stride}, too many at once: convert it in parts "
                    f"with loci convert {path} --start 0 --stop {most * stride}."
                )
            yield part

    camera = camera_motion(pictures())
    if len(small) < 2:
        raise LociError(f"{path} gives {len(small)} frame(s) for this range and stride; a clip needs at least two.")
    if camera.cuts:
        notes.append(f"{path.name}: it is cut {len(camera.cuts)} times; every shot has a background of its own.")
    clip = Clip(np.stack(small), small[0], source=path.name)
    return _shots(clip, camera, frame.box, about.size, wanted, notes)


def _shots(
    clip: Clip, camera: CameraMotion, box: Box, film: Size, wanted: Preparation, notes: list[str]
) -> list[Prepared]:
    shots = [shot for shot in camera.shots() if len(shot) >= SHORTEST_SHOT] or camera.shots()
    found = []
    for number, shot in enumerate(shots):
        part = replace(
            clip.strided(1, shot.start, shot.stop),
            source=clip.source if len(shots) == 1 else f"{clip.source}, shot {number + 1}",
        )
        extent = camera.extent(shot) if camera.certain else 0.0
        finished = _with_background(part, wanted, known=False, box=box, film=film)
        found.append(replace(finished, camera_extent=extent, notes=(*(notes if number == 0 else ()), *finished.notes)))
    return found


def prepare_reading(read: ReadResult, wanted: Preparation) -> Prepared:
    """A clip with a background of its own, such as the readers of releases give; its truth goes with it."""
    clip = read.clip
    if wanted.selection != NATURAL:
        clip = clip.strided(wanted.stride or 1, wanted.start, wanted.stop)
    frame = framing(clip.source, clip.size, wanted.size, wanted.crop)
    film = clip.size
    whole = frame.box == Box(0, 0, *film)
    clip = (clip if whole else clip.cropped(frame.box.rows, frame.box.columns)).resized(wanted.size)
    notes = [frame.sentence] if frame.sentence else []
    finished = _with_background(clip, wanted, known=True, box=frame.box, film=film)
    return replace(finished, notes=(*notes, *read.notes, *finished.notes))


def _with_background(clip: Clip, wanted: Preparation, known: bool, box: Box, film: Size) -> Prepared:
    """The clip with the background that is asked for, freed of what stands before it."""
    frames = np.asarray(clip.frames)
    empty, estimated = clip.background, False
    if wanted.background not in ("auto", "estimate"):
        empty = resize(_part(read_rgb(Path(wanted.background))[0], box, film), wanted.size)
    elif wanted.background == "estimate" or not known:
        empty, estimated = estimate(spread(frames)).image, True
    mask = None
    if wanted.occluder not in ("auto", "none"):
        mask = resize_masks(_part(occluders.read_mask(wanted.occluder), box, film), wanted.size)
    empty, mask = occluders.marked_or_found(frames, empty, mask, find=estimated and wanted.occluder == "auto")
    notes: tuple[str, ...] = ()
    if estimated and wanted.occluder == "auto" and mask.any():
        share = f"{100 * mask.mean():.0f} %" if mask.mean() >= 0.01 else "less than 1 %"
        notes = (
            f"{clip.source}: something that never moves was seen to hide others, on {share} of the picture; it is "
            "taken for an object (--occluder none leaves it in the background).",
        )
    return Prepared(replace(clip, background=empty), occluder=mask, notes=notes)


Image = TypeVar("Image", NDArray[np.uint8], NDArray[np.bool_])


def _part(picture: Image, box: Box, film: Size) -> Image:
    """The box, given in the film's pixels, cut out of a picture of the same scene at any size."""
    scale = picture.shape[0] / film[0], picture.shape[1] / film[1]
    if abs(scale[0] / scale[1] - 1) > 0.05:
        raise LociError(
            f"A picture of {picture.shape[0]} x {picture.shape[1]} pixels does not show the same as a film of "
            f"{film[0]} x {film[1]}: it must have the same shape."
        )
    top, left = round(box.top * scale[0]), round(box.left * scale[1])
    bottom, right = round((box.top + box.height) * scale[0]), round((box.left + box.width) * scale[1])
    return np.ascontiguousarray(picture[top : max(top + 1, bottom), left : max(left + 1, right)])
