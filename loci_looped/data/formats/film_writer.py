"""Writing films: H.264 in MP4 for looking, the same without loss for keeping, GIF for pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loci_looped.utils.atomic import replacing
from loci_looped.utils.errors import LociError

SUFFIXES = (".mp4", ".mkv", ".mov", ".gif")
Frames = Iterable[NDArray[np.uint8]]        # each (H, W, 3) RGB


def write_film(path: str | Path, frames: Frames, fps: float = 25.0, lossless: bool = False, quality: int = 16) -> None:
    """Write RGB frames to `path`; the suffix (.mp4, .mkv, .mov, .gif) chooses the container.

    `frames` may be an array (T, H, W, 3) or anything that yields frames, so a long film needs no memory.
    Players want even sizes: a film with an odd side gets one more row or column, a copy of the last one. With
    `lossless` every pixel is kept, at any size, but browsers do not play it. `quality` is H.264's constant rate factor
    (0 best, 51 worst). Pictures are what they were; the bytes of a lossy film are the encoder's affair and may vary.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise LociError(f"{path} cannot be written: a film's name must end in one of {', '.join(SUFFIXES)}.")
    if not fps > 0:
        raise LociError(f"{path} cannot be written at {fps} frames per second; give a number above 0.")
    checked = _checked(frames, path)
    with replacing(path) as temporary:
        if path.suffix.lower() == ".gif":
            _write_gif(temporary, checked, fps)
        else:
            try:
                _write_h264(temporary, checked, fps, lossless, quality)
            except av.FFmpegError as error:
                raise LociError(f"{path} could not be written: {error.strerror}. Is the disk full?") from error


def _checked(frames: Frames, path: Path) -> Iterator[NDArray[np.uint8]]:
    """The same frames; stops with a sentence at the first that is not (H, W, 3) uint8 of the first one's size."""
    shape: tuple[int, ...] | None = None
    for number, frame in enumerate(frames):
        shape = shape or frame.shape
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or frame.shape != shape:
            raise LociError(
                f"Frame {number} of {path} is {frame.shape} in {frame.dtype}; a film needs (H, W, 3) in uint8, "
                f"all of one size."
            )
        yield frame
    if shape is None:
        raise LociError(f"{path} was not written: there were no frames.")


def _write_h264(path: Path, frames: Iterator[NDArray[np.uint8]], fps: float, lossless: bool, quality: int) -> None:
    first = next(frames)
    height, width = first.shape[:2]
    with av.open(str(path), "w") as container:
        stream = container.add_stream(
            "libx264rgb" if lossless else "libx264", rate=Fraction(fps).limit_denominator(1001)
        )
        stream.pix_fmt = "rgb24" if lossless else "yuv420p"
        stream.width = width if lossless else width + width % 2
        stream.height = height if lossless else height + height % 2
        stream.options = {"qp": "0"} if lossless else {"crf": str(quality)}
        pad = ((0, stream.height - height), (0, stream.width - width), (0, 0))
        for frame in _chain(first, frames):
            picture = av.VideoFrame.from_ndarray(np.pad(frame, pad, mode="edge"), format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))


def _write_gif(path: Path, frames: Iterator[NDArray[np.uint8]], fps: float) -> None:
    pictures = (Image.fromarray(frame).quantize(256, dither=Image.Dither.NONE) for frame in frames)
    first = next(pictures)
    # A GIF counts time in hundredths of a second, and players slow down below two of them.
    first.save(path, save_all=True, append_images=pictures, duration=max(20, round(1000 / fps)), loop=0)


def _chain(first: NDArray[np.uint8], rest: Iterator[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    yield first
    yield from rest
