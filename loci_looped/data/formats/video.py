"""Anybody's film: a video file, or a folder with one picture per frame. As a stream or as a whole clip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import Size, resize
from loci_looped.data.formats.background import SAMPLES, Background, estimate, spread
from loci_looped.data.formats.images import check_size, in_number_order, is_picture, read_rgb, to_rgb
from loci_looped.data.formats.read_result import ReadResult
from loci_looped.utils.errors import LociError, warn

CLIP_FPS = 25 / 3
"""Frames per second of generated scenes, as networks see them: every third of 25."""
PLAUSIBLE_FPS = 0.5, 1000.0
USUAL_FPS = 25.0            # of films that tell no rate, or an impossible one
SPARE = 0.02                # share of its announced length that a film may lack before it is called cut off
Say = Callable[[str], None]
FILM_SUFFIXES = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".gif", ".mpg", ".mpeg", ".ogv", ".wmv")


@dataclass(frozen=True)
class FilmInfo:
    """What a film says about itself before it is decoded."""

    size: Size                  # (H, W)
    frames: int | None          # None where the container does not tell
    fps: float | None           # None for a folder of pictures
    has_alpha: bool


@dataclass(frozen=True)
class Selection:
    """Which frames are wanted and at which size: every `stride`-th from `start` up to, not including, `stop`.

    Without a stride, so many of a film that there are about 8 in a second, which networks are used to.
    """

    start: int = 0
    stop: int | None = None
    stride: int | None = 1
    size: Size | None = None    # (H, W); None keeps the film's own

    def __post_init__(self) -> None:
        check_size(self.size)
        no_step = self.stride is not None and self.stride < 1
        if self.start < 0 or no_step or (self.stop is not None and self.stop <= self.start):
            raise LociError(
                f"Frames {self.start} to {self.stop} by {self.stride} cannot be read: start counts from 0, stop lies "
                f"behind it, and the stride is at least 1."
            )


ALL = Selection()
NATURAL = Selection(stride=None)


def frame_rate(fps: float | None) -> float:
    """The rate a film tells, if that can be."""
    return fps if fps is not None and PLAUSIBLE_FPS[0] <= fps <= PLAUSIBLE_FPS[1] else USUAL_FPS


def natural_stride(fps: float | None) -> int:
    """Which frames of a film make about as many per second as networks are used to; a folder of pictures has no rate,
    and all of its frames are meant."""
    return 1 if fps is None else max(1, round(frame_rate(fps) / CLIP_FPS))


def info(path: str | Path) -> FilmInfo:
    """Size, length and frame rate."""
    path = Path(path)
    if path.is_dir():
        pictures = pictures_in(path)
        first, transparent = read_rgb(pictures[0])
        return FilmInfo(first.shape[:2], len(pictures), None, transparent)
    with _opened(path) as container:
        stream = container.streams.video[0]
        rate = _rate(stream)
        alpha = stream.format is not None and any(part.is_alpha for part in stream.format.components)
        count = stream.frames or None
    start = list(frames(path, Selection(stop=1)))       # a film that lies on its side is turned only when decoded
    if not start:
        raise LociError(f"{path} holds no frame.")
    return FilmInfo(start[0].shape[:2], count, rate, alpha)


def frames(path: str | Path, selection: Selection = ALL, say: Say = warn) -> Iterator[NDArray[np.uint8]]:
    """The film frame by frame, (H, W, 3) RGB, in constant memory. Transparent parts show black.

    A film that breaks off is used as far as it goes, and `say` gets a sentence about that.
    """
    for frame, _ in _with_alpha(Path(path), selection, say):
        yield frame


def background(path: str | Path, selection: Selection = ALL, samples: int = SAMPLES) -> Background:
    """The film's background, from frames spread over the selection: one pass, constant memory."""
    return estimate(spread(frames(path, selection), samples))


def read(path: str | Path, selection: Selection = ALL, clean: NDArray[np.uint8] | None = None) -> ReadResult:
    """The selected frames as one clip. `clean` (H, W, 3) is the empty scene, if somebody has a picture of it."""
    path = Path(path)
    notes: list[str] = []
    pairs = list(_with_alpha(path, selection, notes.append))
    if len(pairs) < 2:
        count = "no frame" if not pairs else "only one frame"
        raise LociError(f"{path} gives {count} for this selection; a clip needs at least two to show any motion.")
    pixels = np.stack([frame for frame, _ in pairs])
    if any(transparent for _, transparent in pairs):
        notes.append(f"{path} is partly transparent; black was put behind it.")
    if clean is not None:
        image, known = resize(clean, pixels.shape[1:3]), np.ones(pixels.shape[1:3], dtype=bool)
    else:
        guess = estimate(spread(pixels))
        image, known = guess.image, guess.known
        notes += unseen_note(path, known)
    return ReadResult(Clip(pixels, image, source=str(path)), known, tuple(notes))


def unseen_note(path: Path, known: NDArray[np.bool_]) -> list[str]:
    """A sentence about pixels whose background was perhaps never uncovered, if there are any."""
    unseen = int((~known).sum())
    if not unseen:
        return []
    share = f"{unseen} pixels ({100 * unseen / known.size:.1f} %)"
    return [f"{path}: the background of {share} was perhaps never uncovered; it is a guess there."]


def pictures_in(folder: Path) -> list[Path]:
    """The pictures of a folder, in number order; a sentence if there are none."""
    if not folder.is_dir():
        raise LociError(f"There is no folder {folder}.")
    found = in_number_order([path for path in folder.iterdir() if is_picture(path)])
    if not found:
        raise LociError(f"The folder {folder} holds no pictures (looked for .png, .jpg, .bmp, .webp, .tif).")
    return found


def _with_alpha(path: Path, selection: Selection, say: Say) -> Iterator[tuple[NDArray[np.uint8], bool]]:
    """The selected frames, resized, each with a flag: was anything transparent?"""
    chosen = _pictures(path, selection) if path.is_dir() else _film(path, selection, say)
    shape: tuple[int, ...] | None = None
    for frame, transparent, name in chosen:
        shape = shape or frame.shape
        if frame.shape != shape:
            raise LociError(
                f"{name} is {frame.shape[0]}x{frame.shape[1]}, the frames before it are {shape[0]}x{shape[1]}; "
                f"all frames of a clip have one size."
            )
        yield resize(frame, selection.size), transparent


def _pictures(folder: Path, selection: Selection) -> Iterator[tuple[NDArray[np.uint8], bool, str]]:
    for path in pictures_in(folder)[selection.start : selection.stop : selection.stride]:
        yield *read_rgb(path), str(path)


def _film(path: Path, selection: Selection, say: Say) -> Iterator[tuple[NDArray[np.uint8], bool, str]]:
    with _opened(path) as container:
        stream = container.streams.video[0]
        stride = selection.stride or natural_stride(_rate(stream))
        number, last = 0, 0.0
        try:
            for frame in container.decode(stream):
                if frame.is_corrupt:
                    _break_off(path, number, "the decoder calls it damaged", say)
                    return
                # Frames that nobody asked for are decoded, since later ones lean on them, but not converted.
                if number >= selection.start and (number - selection.start) % stride == 0:
                    yield *_pixels(frame), f"frame {number} of {path}"
                number, last = number + 1, frame.time or last
                if number == selection.stop:        # what follows may be damaged; nobody wants it
                    return
        except av.FFmpegError as error:
            _break_off(path, number, error.strerror or "it cannot be decoded", say)
            return
        if number == 0:
            raise LociError(f"{path} holds no frame that can be read; is it cut off or damaged?")
        if stream.frames and number < stream.frames and path.suffix.lower() != ".gif":  # GIFs do not know their length
            _break_off(path, number, f"the file announces {stream.frames} and ends here", say)
        elif not stream.frames and number and (announced := _seconds(container, stream)) is not None:
            seconds = last + 1 / frame_rate(_rate(stream))
            if seconds < (1 - SPARE) * announced - 1 / frame_rate(_rate(stream)):
                reason = f"the file announces {announced:.2f} s and ends after {seconds:.2f} s"
                _break_off(path, number, reason, say)


def _rate(stream: VideoStream) -> float | None:
    rate = stream.average_rate or stream.guessed_rate
    return float(rate) if rate else None


def _seconds(container: InputContainer, stream: VideoStream) -> float | None:
    """How long the picture track says it is; None if it does not, or if a sound may be what is so long."""
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    alone = len(container.streams) == 1 and container.duration is not None
    return container.duration / av.time_base if alone and container.duration is not None else None


def _pixels(frame: av.VideoFrame) -> tuple[NDArray[np.uint8], bool]:
    has_alpha = any(part.is_alpha for part in frame.format.components)
    pixels = np.asarray(frame.to_ndarray(format="rgba" if has_alpha else "rgb24"), dtype=np.uint8)
    quarters = round(getattr(frame, "rotation", 0) / 90) % 4        # phones store films lying on their side
    return to_rgb(np.ascontiguousarray(np.rot90(pixels, quarters)))


def _break_off(path: Path, number: int, reason: str, say: Say) -> None:
    """What is there is used, and that is said; where nothing is, it cannot be."""
    if number == 0:
        raise LociError(f"{path} cannot be read from its first frame on: {reason}. Is it cut off or damaged?")
    say(f"{path} breaks off after {number} frames ({reason}); only those are used.")


@contextmanager
def _opened(path: Path) -> Iterator[InputContainer]:
    if not path.exists():
        raise LociError(f"There is no film or folder {path}.")
    try:
        container = av.open(str(path))
    except PermissionError:
        raise LociError(f"{path} is there, but you are not allowed to read it.") from None
    except (av.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LociError(f"{path} is not a film that can be read ({reason}); is it cut off or damaged?") from error
    with container:
        if not container.streams.video:
            raise LociError(f"{path} has no picture track.")
        yield container
