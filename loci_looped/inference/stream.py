"""Everything that can be watched, as one thing: a stream of pictures that is never held in memory as a whole.

    open_source("clip.mp4")             a film, or a folder with one picture per frame
    open_source("scene.clip")           a stored clip, with its truth; or a folder that holds one
    open_source("vanish:seed=7")        a generated scene; kind=control, control-1, surprise or a violation
    open_source("balls:seed=7")         bouncing balls; kind=interaction or occlusion; collide:seed=7 collisions
    open_source("camera:0")             a camera, through PyAV
    open_source(frames)                 numpy or torch, (T, H, W, 3) or (T, 3, H, W)
    open_source(clip)                   a `Clip`
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.coordinates import Size, resize
from loci_looped.data.films import occluders
from loci_looped.data.formats import video
from loci_looped.data.formats.background import estimate, spread
from loci_looped.data.formats.images import SHAPES_DIFFER, ratio_between, read_rgb
from loci_looped.data.formats.video import CLIP_FPS, NATURAL, Selection
from loci_looped.data.store.clip_file import SUFFIX, load_clip
from loci_looped.utils.errors import LociError

Picture = NDArray[np.uint8]                 # (H, W, 3) RGB
OCCLUDER_BYTES = 1 << 26
"""So much of a film is searched for standing occluders."""
LIVE_SAMPLES = 48
"""Frames of a camera (or of any stream that passes only once) from which its background is guessed."""


@dataclass(frozen=True)
class Frame:
    """One frame, and what is known to be true in it: one row of the clip's truth."""

    picture: Picture
    truth: ObjectTruth | None = None        # with a time axis of length 1


@dataclass(frozen=True)
class Source:
    """A stream of frames. `frames()` begins anew each time, unless the stream is `live`."""

    name: str
    frames: Callable[[], Iterator[Frame]]
    fps: float
    length: int | None = None               # None where nobody knows
    background: Picture | None = None       # the empty scene, where it is known
    live: bool = False
    events: tuple[Event, ...] = ()
    size: Size | None = None                # (H, W) of the frames, where it is known before the first one
    stride: int = 1                         # how many frames of the film pass for one that is watched


Watchable = str | Path | Clip | Source | NDArray[Any] | Iterable[Any]


def open_source(source: Watchable, selection: Selection = NATURAL, size: Size = (40, 60)) -> Source:
    """`size` is only asked of generated scenes: the others come as they are.

    Without a selection, so many frames of a film are watched that there are about 8 in a second; of the rest all.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, str) and not source.strip():
        raise LociError("Watch what? Give a film, a folder of pictures, a .clip file, 'vanish:seed=7' or 'camera:0'.")
    if isinstance(source, Clip):
        return _clip(source, selection)
    if isinstance(source, str | Path):
        text = str(source)
        if text.startswith("vanish:") or text == "vanish":
            from loci_looped.inference.scene_stream import vanish_source

            return vanish_source(text.partition(":")[2], selection, size)
        world, colon, rest = text.partition(":")
        if colon and world in ("balls", "collide"):
            from loci_looped.inference.scene_stream import world_clip

            return replace(_clip(world_clip(world, rest, size), selection), name=text.replace(":", " "))
        if text.startswith("camera:"):
            return _camera(text.partition(":")[2], selection)
        stored = stored_clips(Path(source))
        if len(stored) > 1:
            raise LociError(
                f"The folder {source} holds {len(stored)} clips, and each is a film of its own: name one of them, for "
                f"example {stored[0]}."
            )
        if stored:
            return replace(_clip(load_clip(stored[0]), selection), name=stored[0].name)
        return _film(Path(source), selection)
    if hasattr(source, "shape"):
        return _array(source, selection)
    if isinstance(source, Iterable):
        return Source("frames", lambda: (Frame(_picture(frame)) for frame in _selected(source, selection)), CLIP_FPS,
                      live=True)
    raise LociError(
        f"A {type(source).__name__} cannot be watched: give a film, a folder of pictures, frames, a Clip, "
        "'vanish:seed=7' or 'camera:0'."
    )


def stored_clips(path: Path) -> list[Path]:
    """The clip at a path, or those of a folder; other things in such a folder (its preview, a log) are no frames."""
    if path.is_dir():
        return sorted(item for item in path.iterdir() if item.suffix == SUFFIX and not item.name.startswith("."))
    return [path] if path.suffix == SUFFIX else []


def background_of(
    source: Source, size: Size, given: Picture | str | Path | None = None, occluder: str | Path = "auto"
) -> tuple[Picture, Source]:
    """The empty scene at `size`, and the source to go on with (a live one has been looked at already).

    In this order: the picture that is given, the one the source knows, a robust estimate from the whole stream, or, for
    a stream that passes only once, from its first frames.

    `occluder` is what stands still and hides others: it is taken out of the background, so that it becomes an object.
    "auto" finds it, where the background is estimated and it can be told; "none" leaves it; or a picture marks it.
    """
    if str(occluder) not in ("auto", "none"):
        image, source = background_of(source, size, given, "none")
        return occluders.without(image, occluders.read_mask(occluder, size)), source
    if given is not None:
        picture = read_rgb(Path(given))[0] if isinstance(given, str | Path) else _picture(given)
        _check_background(picture, source, size)
        return resize(picture, size), source
    if source.background is not None:
        return resize(source.background, size), source
    if not source.live:
        small = (resize(frame.picture, size) for frame in source.frames())
        return _estimated(small, source, find=str(occluder) == "auto"), source
    frames = source.frames()
    first = list(itertools.islice(frames, LIVE_SAMPLES))
    image = _estimated((resize(frame.picture, size) for frame in first), source)
    rest = Source(source.name, lambda: itertools.chain(first, frames), source.fps, live=True)
    return image, rest


def _estimated(pictures: Iterator[Picture], source: Source, find: bool = False) -> Picture:
    """The background behind what moves in these pictures; there must be two of them at least. With `find`, what stands
    still and was seen to hide something is not part of it."""
    first = list(itertools.islice(pictures, 2))
    if not first:
        raise LociError(f"{source.name} has no frames in this range.")
    if len(first) == 1:
        raise LociError(
            f"{source.name} has only one frame in this range, and nothing moves in one picture: give a longer range, "
            "or a picture of the empty scene (--background)."
        )
    kept = [*first, *itertools.islice(pictures, OCCLUDER_BYTES // first[0].nbytes)] if find else first
    image = estimate(spread(itertools.chain(kept, pictures))).image
    return occluders.marked_or_found(np.stack(kept), image, None)[0] if find else image


def _check_background(picture: Picture, source: Source, size: Size) -> None:
    """Somebody gave a picture of the empty scene: it must be one that can be it."""
    height, width = picture.shape[:2]
    if height < size[0] or width < size[1]:
        raise LociError(
            f"The background is {height} x {width} pixels, but the network looks at {size[0]} x {size[1]}: give a "
            "picture of the empty scene as the camera saw it."
        )
    if source.size is not None and ratio_between((height, width), source.size) > SHAPES_DIFFER:
        raise LociError(
            f"The background is {height} x {width} pixels and {source.name} {source.size[0]} x {source.size[1]}, which "
            "are different shapes: give a picture of the same scene from the same camera."
        )


# ------------------------------------------------------------------------------------------------ the kinds of source

def _film(path: Path, selection: Selection) -> Source:
    about = video.info(path)
    stride = selection.stride or video.natural_stride(about.fps)
    chosen = replace(selection, stride=stride)
    total = about.frames
    if total is not None:
        total = len(range(total)[chosen.start : chosen.stop : stride])
    fps = (CLIP_FPS if about.fps is None else video.frame_rate(about.fps)) / stride
    return Source(path.name, lambda: (Frame(frame) for frame in video.frames(path, chosen)), fps, total,
                  size=about.size, stride=stride)


def _clip(clip: Clip, selection: Selection) -> Source:
    numbers = range(len(clip))[selection.start : selection.stop : selection.stride]

    def frames() -> Iterator[Frame]:
        for t in numbers:
            yield Frame(clip.frames[t], clip.truth and clip.truth.at(t))

    untouched = numbers == range(len(clip))
    return Source(clip.source or "clip", frames, CLIP_FPS, len(numbers), clip.background,
                  events=clip.events if untouched else (), size=clip.size)


def _array(frames: Any, selection: Selection) -> Source:
    if frames.ndim != 4 or frames.shape[0] < 1:
        raise LociError(f"Frames must be (T, H, W, 3) or (T, 3, H, W) with T at least 1, not {tuple(frames.shape)}.")
    numbers = range(frames.shape[0])[selection.start : selection.stop : selection.stride]
    first = _picture(frames[0])
    return Source("frames", lambda: (Frame(_picture(frames[t])) for t in numbers), CLIP_FPS, len(numbers),
                  size=(first.shape[0], first.shape[1]))


def _selected(frames: Iterable[Any], selection: Selection) -> Iterator[Any]:
    return itertools.islice(iter(frames), selection.start, selection.stop, selection.stride)


def _picture(frame: Any) -> Picture:
    """(H, W, 3) bytes from numpy or torch, channels first or last, bytes or numbers in [0, 1]."""
    values = np.asarray(frame.detach().cpu() if hasattr(frame, "detach") else frame)
    if values.ndim == 3 and values.shape[0] == 3 and values.shape[2] != 3:
        values = values.transpose(1, 2, 0)
    if values.ndim != 3 or values.shape[2] != 3:
        raise LociError(f"A frame must be (H, W, 3) or (3, H, W) in RGB, not {values.shape}.")
    if values.dtype == np.uint8:
        return np.ascontiguousarray(values)
    if not np.isfinite(values).all() or values.min() < -1e-3 or values.max() > 1 + 1e-3:
        raise LociError("Frames in floating point must hold numbers from 0 to 1; give bytes (uint8) otherwise.")
    return np.asarray(np.rint(np.clip(values, 0, 1) * 255), dtype=np.uint8)


CAMERA_FORMATS = {"linux": ("v4l2", "/dev/video{}"), "darwin": ("avfoundation", "{}"), "win32": ("dshow", "video={}")}


def _camera(name: str, selection: Selection) -> Source:
    import av

    if sys.platform not in CAMERA_FORMATS:
        raise LociError(f"Cameras cannot be read on {sys.platform}; record a film and watch that.")
    kind, pattern = CAMERA_FORMATS[sys.platform]
    device = pattern.format(name or "0")
    if sys.platform == "linux" and not Path(device).exists():
        raise LociError(f"There is no camera {device}. Plug one in, or watch a film, a folder or 'vanish:seed=7'.")

    def frames() -> Iterator[Frame]:
        try:
            with av.open(device, format=kind) as container:
                pictures = (frame.to_ndarray(format="rgb24") for frame in container.decode(video=0))
                yield from (Frame(np.asarray(picture, np.uint8)) for picture in _selected(pictures, selection))
        except (av.FFmpegError, OSError) as error:
            reason = getattr(error, "strerror", None) or error
            raise LociError(f"The camera {device} cannot be read ({reason}); is another program using it?") from error

    return Source(f"camera {name or 0}", frames, 25.0 / (selection.stride or 1), live=True)
