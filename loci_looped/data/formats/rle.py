"""COCO's run-length masks: columns one after the other, runs of 0 and 1 in turn, packed into printable characters.

Each run length (from the third on: its difference to the one two places earlier) is cut into groups of five bits, low
ones first; a sixth bit says that more follow, and 48 makes it a character. The last group's top bit is the sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.utils.errors import LociError


def encode(mask: NDArray[np.bool_]) -> dict[str, Any]:
    """{"size": [H, W], "counts": text} of a mask (H, W)."""
    flat = np.concatenate([[False], mask.T.ravel(), [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1])                   # where runs begin, the first one of zeros
    bounds = np.concatenate([[0], edges, [mask.size]])
    lengths = np.diff(bounds)
    if len(lengths) > 1 and lengths[-1] == 0:                       # a mask that ends in ones has no last run of zeros
        lengths = lengths[:-1]
    return {"size": list(mask.shape), "counts": _pack([int(length) for length in lengths])}


def decode(code: Mapping[str, Any]) -> NDArray[np.bool_]:
    """The mask (H, W) of COCO's {"size", "counts"}; counts may be packed text or a plain list."""
    try:
        height, width = (int(side) for side in code["size"])
        counts = code["counts"]
        lengths = _unpack(counts) if isinstance(counts, str | bytes) else [int(value) for value in counts]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise LociError(f"This is not a COCO run-length mask with 'size' and 'counts': {str(code)[:80]}.") from error
    if sum(lengths) != height * width or min(lengths, default=0) < 0:
        raise LociError(f"A run-length mask of {height}x{width} has runs for {sum(lengths)} pixels; it is damaged.")
    values = np.arange(len(lengths)) % 2 == 1
    return np.ascontiguousarray(np.repeat(values, lengths).reshape(width, height).T)


def _pack(lengths: Sequence[int]) -> str:
    out: list[str] = []
    for index, length in enumerate(lengths):
        value = length - lengths[index - 2] if index > 2 else length
        while True:
            group, value = value & 31, value >> 5
            done = value == (-1 if group & 16 else 0)               # what is left is the sign, and the group shows it
            out.append(chr(48 + (group if done else group | 32)))
            if done:
                break
    return "".join(out)


def _unpack(text: str | bytes) -> list[int]:
    characters = text if isinstance(text, bytes) else text.encode("ascii")
    lengths: list[int] = []
    value, shift = 0, 0
    for character in characters:
        group = character - 48
        value |= (group & 31) << shift
        shift += 5
        if group & 32:
            continue
        if group & 16:
            value -= 1 << shift
        lengths.append(value + lengths[-2] if len(lengths) > 2 else value)
        value, shift = 0, 0
    return lengths
