"""Clips on disk: one file per clip, without loss, checked on reading, frames memory-mapped.

A `.clip` file is a safetensors file (any safetensors library opens it) with the tensors frames, background and, where
the truth is known, positions, depths and the two kinds of masks, eight pixels to the byte. Its metadata hold the rest
of the clip as JSON, the version of this layout, and checksums of each tensor and of that JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.utils.atomic import replacing
from loci_looped.utils.errors import LociError

SUFFIX = ".clip"
SCHEMA = 1
_TYPES: Mapping[str, type[np.generic]] = {"U8": np.uint8, "F32": np.float32}
_NAMES = {"uint8": "U8", "float32": "F32"}
_LARGEST_HEADER = 10_000_000


def save_clip(clip: Clip, path: str | Path) -> Path:
    """Write the clip, whole or not at all. The name gets the suffix `.clip` if it has none."""
    final = Path(path) if Path(path).suffix else Path(path).with_suffix(SUFFIX)
    tensors: dict[str, NDArray[Any]] = {"frames": clip.frames, "background": clip.background}
    if clip.truth is not None:
        tensors |= {
            "positions": clip.truth.positions.astype(np.float32, copy=False),
            "depths": clip.truth.depths.astype(np.float32, copy=False),
            "visible_masks": np.packbits(clip.truth.visible_masks, axis=-1),
            "object_masks": np.packbits(clip.truth.object_masks, axis=-1),
        }
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    about = {
        "names": None if clip.truth is None else clip.truth.names,
        "kinds": None if clip.truth is None else clip.truth.kinds,
        "events": [asdict(event) for event in clip.events],
        "seed": clip.seed,
        "source": clip.source,
        "camera": clip.camera,
        "checksums": {name: _checksum(tensor) for name, tensor in tensors.items()},
    }
    text = json.dumps(about)
    _write(final, tensors, {"schema": str(SCHEMA), "clip": text, "checksum": _checksum(text)})
    return final


def load_clip(path: str | Path, verify: bool = True) -> Clip:
    """Read a clip. The frames stay on disk until they are used; `verify=False` skips the checksums of the pixels."""
    opened = _open(Path(path))
    try:
        return _assemble(opened, verify)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise LociError(f"{path} lacks a part of a clip ({error}); {_ADVICE}") from error


def load_pixels(path: str | Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Frames (T, H, W, 3) and background (H, W, 3) alone, memory-mapped and unchecked, for a training loop."""
    opened = _open(Path(path))
    if not {"frames", "background"} <= opened.tensors.keys():
        raise LociError(f"{path} has no frames and background: it is not a clip.")
    return opened.tensors["frames"], opened.tensors["background"]


def clip_files(folder: str | Path) -> list[Path]:
    """The clips of a folder, in order of their names."""
    place = Path(folder)
    if not place.is_dir():
        raise LociError(f"{place} is not a folder. Make clips with `loci generate vanish --out {place}`.")
    found = sorted(place.glob(f"*{SUFFIX}"))
    if not found:
        raise LociError(f"{place} holds no {SUFFIX} files. Make some with `loci generate vanish --out {place}`.")
    return found


# ------------------------------------------------------------------------------------------------------ the file

_ADVICE = "generate or copy the file again."


def _write(path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """The safetensors layout. (Its library shuffles the metadata; here the same clip gives the same bytes.)"""
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": _NAMES[tensor.dtype.name], "shape": tensor.shape, "data_offsets": (begin, end)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.reshape(-1).view(np.uint8).data)


class _Opened(NamedTuple):
    path: Path
    tensors: dict[str, NDArray[Any]]        # memory-mapped
    about: dict[str, Any]


def _checksum(content: NDArray[Any] | str) -> str:
    data = content.encode() if isinstance(content, str) else content.reshape(-1).view(np.uint8).data
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _open(path: Path) -> _Opened:
    """Map the tensors of a file whose header agrees with its length."""
    if not path.is_file():
        raise LociError(f"There is no clip {path}.")
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 0 < length <= min(_LARGEST_HEADER, size - 8):
            raise LociError(f"{path} is not a clip, or it was cut off: its header is missing; {_ADVICE}")
        text = file.read(length)
    try:
        header = json.loads(text)
        metadata = header.pop("__metadata__")
        if metadata["schema"] != str(SCHEMA):
            raise LociError(f"{path} has layout {metadata['schema']}, but this version of the package reads {SCHEMA}.")
        if _checksum(metadata["clip"]) != metadata["checksum"]:
            raise LociError(f"{path} is damaged: the checksum of its description is wrong; {_ADVICE}")
        tensors = {name: _map(path, 8 + length, size, entry) for name, entry in header.items()}
        return _Opened(path, tensors, json.loads(metadata["clip"]))
    except LociError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LociError(f"{path} is not a clip: its header cannot be read ({error}); {_ADVICE}") from error


def _map(path: Path, base: int, size: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    shape, kind = tuple(int(n) for n in entry["shape"]), np.dtype(_TYPES[entry["dtype"]])
    if base + end > size:
        raise LociError(f"{path} was cut off: {base + end - size} bytes are missing at its end; {_ADVICE}")
    if math.prod(shape) * kind.itemsize != end - begin:
        raise LociError(f"{path} is damaged: a tensor of shape {shape} cannot fill {end - begin} bytes; {_ADVICE}")
    if end == begin:
        return np.zeros(shape, dtype=kind)
    return np.memmap(path, dtype=kind, mode="r", offset=base + begin, shape=shape)


def _assemble(opened: _Opened, verify: bool) -> Clip:
    path, tensors, about = opened
    if verify:
        for name, tensor in tensors.items():
            if _checksum(tensor) != about["checksums"].get(name):
                raise LociError(f"{path} is damaged: the checksum of its {name} is wrong; {_ADVICE}")
    truth = None
    if about["names"] is not None:
        width = tensors["frames"].shape[2]
        truth = ObjectTruth(
            names=tuple(about["names"]),
            kinds=tuple(about["kinds"]),
            positions=np.array(tensors["positions"]),
            visible_masks=np.unpackbits(tensors["visible_masks"], axis=-1, count=width).view(np.bool_),
            object_masks=np.unpackbits(tensors["object_masks"], axis=-1, count=width).view(np.bool_),
            depths=np.array(tensors["depths"]),
        )
    return Clip(
        frames=cast("NDArray[np.uint8]", tensors["frames"]),
        background=np.array(tensors["background"]),
        truth=truth,
        events=tuple(Event(**event) for event in about["events"]),
        seed=about["seed"],
        source=about["source"],
        camera=about["camera"],
    )
