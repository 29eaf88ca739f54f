"""How server and page talk: the page sends JSON; the server answers with a JSON header and raw pictures behind it.

    4 bytes   length of the header, little-endian
    header    JSON; its "parts" list names each part that follows, with its shape
    parts     bytes, one after the other
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.utils.errors import LociError

Part = NDArray[np.uint8] | bytes


def pack(header: Mapping[str, Any], parts: Mapping[str, Part] | None = None) -> bytes:
    """One message. Arrays are sent as they lie in memory, encoded pictures (bytes) as they are."""
    listed, bodies = [], []
    for name, part in (parts or {}).items():
        body = part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes()
        shape = None if isinstance(part, bytes) else list(part.shape)
        listed.append({"name": name, "bytes": len(body), "shape": shape})
        bodies.append(body)
    text = json.dumps({**header, "parts": listed}, allow_nan=False, separators=(",", ":")).encode()
    return b"".join([len(text).to_bytes(4, "little"), text, *bodies])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, Part]]:
    """The inverse of `pack`."""
    length = int.from_bytes(message[:4], "little")
    header = json.loads(message[4 : 4 + length])
    parts: dict[str, Part] = {}
    place = 4 + length
    for entry in header.pop("parts"):
        body = message[place : place + entry["bytes"]]
        place += entry["bytes"]
        shape = entry["shape"]
        parts[entry["name"]] = body if shape is None else np.frombuffer(body, np.uint8).reshape(shape)
    return header, parts


def read_request(text: str) -> dict[str, Any]:
    """A request from the page, or a sentence about what is wrong with it."""
    try:
        request = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise LociError("The message is not JSON.") from error
    if not isinstance(request, dict) or not isinstance(request.get("type"), str):
        raise LociError("A message is a JSON object with a 'type'.")
    return request


def numbers(value: object, count: int, limit: float, where: str) -> list[float]:
    """A list of `count` finite numbers between -limit and limit."""
    if not isinstance(value, list) or len(value) != count:
        raise LociError(f"{where} must be a list of {count} numbers.")
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int | float) or not abs(item) <= limit:
            raise LociError(f"{where} must hold numbers between {-limit:g} and {limit:g}, not {item!r}.")
    return [float(item) for item in value]
