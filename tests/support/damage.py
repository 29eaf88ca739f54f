"""Ways to damage bytes and JSON, by a seed: what disks, downloads, editors and strangers do to files."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

Random = np.random.Generator
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2**40, -(2**70), 0.5, 1e308, float("nan"), float("-inf"), "", "x" * 70, "movers", "\u0000", [],
    {}, [[]], [1, 2, 3], {"type": "open"}, [None] * 20, "NaN", "../../etc/passwd",
)


def damaged_bytes(content: bytes, random: Random) -> bytes:
    """Cut, flip, wipe, repeat, mix up, or grow."""
    place = int(random.integers(len(content) + 1))
    length = int(random.integers(1, max(2, len(content) // 8)))
    kind = int(random.integers(7))
    if kind == 0:                                                   # cut off
        return content[:place]
    if kind == 1:                                                   # a few bits flipped
        changed = bytearray(content)
        for where in random.integers(len(content), size=int(random.integers(1, 6))):
            changed[where] ^= 1 << int(random.integers(8))
        return bytes(changed)
    if kind == 2:                                                   # a hole of zeros
        return content[:place] + bytes(len(content[place : place + length])) + content[place + length :]
    if kind == 3:                                                   # a hole of noise
        return content[:place] + random.bytes(len(content[place : place + length])) + content[place + length :]
    if kind == 4:                                                   # a part twice
        return content[: place + length] + content[place:]
    if kind == 5:                                                   # a part left out
        return content[:place] + content[place + length :]
    return random.bytes(int(random.integers(0, 200))) + content     # something before it


def damaged_value(value: Any, random: Random) -> Any:
    """One place of a JSON value is replaced, left out, or doubled."""
    changed = copy.deepcopy(value)
    places = list(_places(changed))
    holder, key = places[int(random.integers(len(places)))]
    kind = int(random.integers(4))
    if kind == 0 and isinstance(holder, dict):
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif kind == 2 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = holder[key] * float(random.choice([-1.0, 0.0, 3.7, 1e6]))
    else:
        holder[key] = copy.deepcopy(ODD[int(random.integers(len(ODD)))])
    return changed


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _places(item)
