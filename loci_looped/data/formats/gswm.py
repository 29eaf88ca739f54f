"""Bouncing balls on disk: G-SWM's own HDF5 files and the ones Loci-Looped packed from them. Reading and writing both.

G-SWM:        imgs (N, T, H, W, 3), positions, velocities (N, T, M, 2), colors (N, T, M, 3), and per ball (N, T, M)
              sizes, masses, layers, shapes, present, in_camera, ids.
Loci-Looped:  sequence_indices (N, 2), and row by row rgb_images (encoded), instance_positions, instance_incamera,
              instance_mask_bboxes, instance_masks, foreground_mask.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loci_looped.data.clip import Clip, ObjectTruth
from loci_looped.data.events import hiding
from loci_looped.data.render import sprite
from loci_looped.data.render.balls_render import assemble, render_balls
from loci_looped.data.scenes.balls import Balls, colour_name
from loci_looped.utils.atomic import replacing
from loci_looped.utils.errors import LociError

Layout = Literal["gswm", "loci"]
_NEEDED: dict[Layout, tuple[str, ...]] = {
    "gswm": ("imgs", "positions", "velocities", "colors", "sizes", "masses", "layers"),
    "loci": ("sequence_indices", "rgb_images", "instance_positions", "instance_masks"),
}


def layout(path: str | Path) -> Layout:
    """Which of the two layouts a file has."""
    with _opened(Path(path)) as file:
        for name, needed in _NEEDED.items():
            if all(key in file for key in needed):
                return name
        raise LociError(
            f"{path} is in neither layout of the bouncing balls: G-SWM's has {', '.join(_NEEDED['gswm'])}; "
            f"Loci-Looped's has {', '.join(_NEEDED['loci'])}; this one has {', '.join(file) or 'nothing'}."
        )


def count(path: str | Path) -> int:
    """How many sequences are in the file."""
    key = "imgs" if layout(path) == "gswm" else "sequence_indices"
    with _opened(Path(path)) as file:
        return len(file[key])


def read(path: str | Path, index: int) -> Clip:
    """One sequence of a file in either layout; nothing else of the file is loaded."""
    path = Path(path)
    kind = layout(path)
    total = count(path)
    if not 0 <= index < total:
        raise LociError(f"{path} has sequences 0 to {total - 1}, not {index}.")
    with _opened(path) as file:
        return _read_gswm(file, index, path) if kind == "gswm" else _read_packed(file, index, path)


def _balls(file: Any, index: int) -> Balls:
    return Balls(
        positions=np.asarray(file["positions"][index], dtype=np.float64),
        velocities=np.asarray(file["velocities"][index], dtype=np.float64),
        colours=_bytes(file["colors"][index, 0]),
        radii=np.asarray(file["sizes"][index, 0], dtype=np.float64).reshape(-1),
        masses=np.asarray(file["masses"][index, 0], dtype=np.float64).reshape(-1),
        layers=np.asarray(file["layers"][index, 0], dtype=np.int64).reshape(-1),
    )


def _bytes(colours: NDArray[Any]) -> NDArray[np.uint8]:
    """Colours as 0..255, whether the file counts to 1 or to 255."""
    values = np.asarray(colours, dtype=np.float64)
    return np.rint(values * 255 if values.max(initial=0) <= 1 else values).astype(np.uint8)


def _read_gswm(file: Any, index: int, path: Path) -> Clip:
    balls = _balls(file, index)
    frames = np.asarray(file["imgs"][index], dtype=np.uint8)
    size = frames.shape[1], frames.shape[2]
    # The file has no masks, but its rules say how a ball is drawn.
    opacity = np.stack([sprite.alphas(balls.positions[:, m], balls.radii[m], size) for m in range(len(balls.radii))], 1)
    return assemble(balls, frames, opacity, f"{path}#{index}")


def _read_packed(file: Any, index: int, path: Path) -> Clip:
    first, length = (int(value) for value in file["sequence_indices"][index])
    rows = slice(first, first + length)
    frames = np.stack([_picture(row, path) for row in file["rgb_images"][rows]])
    size = frames.shape[1], frames.shape[2]
    balls = len(file["instance_positions"]) // len(file["rgb_images"])
    each = slice(first * balls, (first + length) * balls)
    xy = np.asarray(file["instance_positions"][each], dtype=np.float64).reshape(length, balls, 2)
    masks = file["instance_masks"]
    # Written either with one row per ball and frame, or with one row per frame.
    stored = masks[each] if len(masks) == len(file["instance_positions"]) else masks[rows]
    whole = np.asarray(stored).reshape(length, balls, *size) > 0
    visible = sprite.topmost(whole, np.arange(balls))
    truth = ObjectTruth(
        names=tuple(f"{_seen_colour(frames, visible[:, m])} ball" for m in range(balls)),
        kinds=tuple("mover" for _ in range(balls)),
        positions=(xy[..., ::-1] - 0.5).astype(np.float32),
        visible_masks=visible,
        object_masks=whole,
        depths=np.broadcast_to(np.arange(balls, dtype=np.float32)[::-1], (length, balls)).copy(),
    )
    return Clip(frames, np.zeros_like(frames[0]), truth, hiding(truth), source=f"{path}#{index}")


def _picture(row: NDArray[Any], path: Path) -> NDArray[np.uint8]:
    """A stored frame: encoded bytes, or floats (3, H, W) in [0, 1]."""
    if row.ndim == 3:
        return np.asarray(np.rint(np.clip(row, 0, 1) * 255).astype(np.uint8).transpose(1, 2, 0))
    try:
        return np.asarray(Image.open(io.BytesIO(row.tobytes())).convert("RGB"))
    except (OSError, SyntaxError) as error:
        raise LociError(f"{path} holds a frame that cannot be decoded: {error}.") from error


def _seen_colour(frames: NDArray[np.uint8], visible: NDArray[np.bool_]) -> str:
    """The palette's word for what most pixels of a ball show; 'unseen' if none is visible."""
    pixels = frames[visible]
    if not len(pixels):
        return "unseen"
    values, counts = np.unique(pixels, axis=0, return_counts=True)
    return colour_name(np.where(values[counts.argmax()] > 127, 255, 0).astype(np.uint8))


def write_gswm(
    path: str | Path, sequences: Iterable[Balls], on_written: Callable[[Clip], None] = lambda clip: None
) -> int:
    """Write sequences in G-SWM's layout, one at a time; returns how many. Each clip is passed to `on_written`."""
    with _created(Path(path)) as (file, sink):
        number = -1
        for number, balls in enumerate(sequences):
            clip = render_balls(balls, str(path))
            steps, m = balls.positions.shape[:2]
            held: dict[str, NDArray[Any]] = {
                "colors": balls.colours / 255.0, "sizes": balls.radii, "masses": balls.masses, "layers": balls.layers,
                "shapes": np.zeros(m, np.int64), "present": np.ones(m, np.int64), "in_camera": np.ones(m, np.int64),
                "ids": np.arange(1, m + 1),
            }
            rows = {key: np.broadcast_to(value, (steps, *value.shape)) for key, value in held.items()}
            rows |= {"imgs": clip.frames, "positions": balls.positions, "velocities": balls.velocities}
            for key, value in rows.items():
                if number == 0:
                    file.create_dataset(key, (0, *value.shape), value.dtype, maxshape=(None, *value.shape),
                                        chunks=(1, *value.shape), compression="gzip", compression_opts=1)
                _append(file[key], value[None], path)
            sink.check()
            on_written(clip)
        if number < 0:
            raise LociError(f"{path} was not written: there were no sequences.")
        return number + 1


def write_packed(path: str | Path, clips: Iterable[Clip]) -> int:
    """Write clips in Loci-Looped's layout (frames as PNG); how many they were."""
    h5py = _h5py()
    with _created(Path(path)) as (file, sink):
        number, first = -1, 0
        for number, clip in enumerate(clips):
            truth, steps = clip.truth, len(clip)
            if truth is None:
                raise LociError(f"{clip.source or 'A clip'} has no truth, but this layout needs masks and positions.")
            (height, width), balls = clip.size, truth.count
            masks = truth.object_masks.reshape(steps * balls, height, width)
            rows: dict[str, NDArray[Any]] = {
                "sequence_indices": np.array([[first, steps]]),
                "instance_positions": truth.positions.reshape(-1, 2)[:, ::-1] + 0.5,
                "instance_incamera": np.asarray(masks.any(axis=(1, 2)), dtype=np.uint8),
                "instance_mask_bboxes": np.stack([_box(mask) for mask in masks]),
                "instance_masks": masks.astype(np.uint8),
                "foreground_mask": np.asarray(truth.object_masks.any(axis=1), dtype=np.uint8),
            }
            if number == 0:
                file.create_dataset("rgb_images", (0,), h5py.vlen_dtype(np.uint8), maxshape=(None,))
                for key, value in rows.items():
                    file.create_dataset(key, (0, *value.shape[1:]), value.dtype, maxshape=(None, *value.shape[1:]),
                                        chunks=(max(1, len(value)), *value.shape[1:]), compression="gzip",
                                        compression_opts=1)
            for key, value in rows.items():
                _append(file[key], value, path)
            images = file["rgb_images"]
            images.resize(first + steps, axis=0)
            for step, frame in enumerate(clip.frames):
                images[first + step] = np.frombuffer(_png(frame), dtype=np.uint8)
            first += steps
            sink.check()
        if number < 0:
            raise LociError(f"{path} was not written: there were no sequences.")
        return number + 1


def _append(dataset: Any, rows: NDArray[Any], path: str | Path) -> None:
    if dataset.shape[1:] != rows.shape[1:]:
        raise LociError(f"{path} cannot hold sequences of different shape: {dataset.shape[1:]} and {rows.shape[1:]}.")
    dataset.resize(len(dataset) + len(rows), axis=0)
    dataset[-len(rows):] = rows


def _png(frame: NDArray[np.uint8]) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(frame).save(stream, format="png", compress_level=1)
    return stream.getvalue()


def _box(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(x0, y0, x1, y1), the last ones included; zeros for an empty mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return np.array([columns[0], rows[0], columns[-1], rows[-1]]) if len(rows) else np.zeros(4, np.int64)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    h5py = _h5py()
    if not path.is_file():
        raise LociError(f"There is no file {path}.")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise LociError(f"{path} is not an HDF5 file that can be read ({error}); is it cut off?") from error
    with file:
        yield file


@contextmanager
def _created(path: Path) -> Iterator[tuple[Any, _Sink]]:
    h5py = _h5py()
    with replacing(path) as temporary, open(temporary, "w+b", buffering=0) as raw:
        sink = _Sink(raw)
        with h5py.File(sink, "w") as file:
            yield file, sink
        sink.check()


class _Sink(io.RawIOBase):
    """A file that takes every write and remembers if the disk refused one: HDF5 crashes if it learns at once."""

    def __init__(self, raw: io.RawIOBase | io.FileIO) -> None:
        self.raw = raw
        self.error: OSError | None = None

    def check(self) -> None:
        if self.error is not None:
            raise self.error

    def write(self, content: Any) -> int:
        if self.error is None:
            view = memoryview(content).cast("B")
            try:
                while len(view):                    # an unbuffered file may take a part only
                    view = view[self.raw.write(view) or 0 :]
            except OSError as error:
                self.error = error
        return len(content)

    def readinto(self, target: Any) -> int:
        got = self.raw.readinto(target) or 0
        memoryview(target).cast("B")[got:] = bytes(memoryview(target).nbytes - got)
        return memoryview(target).nbytes

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.raw.seek(offset, whence)

    def tell(self) -> int:
        return self.raw.tell()

    def truncate(self, size: int | None = None) -> int:
        try:
            return self.raw.truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise LociError("HDF5 files need h5py; install it with: pip install 'loci-looped[data]'") from error
    return h5py
