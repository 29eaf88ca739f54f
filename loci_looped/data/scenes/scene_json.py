"""Scene descriptions as plain dictionaries and back, for files, for the browser, for a report of what was filmed."""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from loci_looped.data.scenes.scene import Scene
from loci_looped.utils.errors import LociError


def describe(scene: Scene) -> dict[str, Any]:
    """Everything about the scene in dictionaries, lists, numbers and words; `json.dumps` takes it."""
    plain = _plain(asdict(scene))
    assert isinstance(plain, dict)
    return plain


def scene_from(description: object) -> Scene:
    """The scene of a description. What is left out takes its default; what does not fit is named with its place."""
    if isinstance(description, dict) and "stage" in description:        # what descriptions called it before 0.2
        description = {"backdrop" if name == "stage" else name: value for name, value in description.items()}
    scene = _read(Scene, description, "scene")
    assert isinstance(scene, Scene)
    return scene


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _read(kind: Any, value: object, where: str) -> Any:
    """Turn a JSON value into the annotated type."""
    origin, options = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _read_dataclass(kind, value, where)
    if origin in (Union, UnionType):
        if value is None and type(None) in options:
            return None
        return _read(next(option for option in options if option is not type(None)), value, where)
    if origin is tuple:
        return _read_tuple(options, value, where)
    if origin is Literal:
        if value not in options:
            raise LociError(f"{where} is {value!r}; it must be one of {', '.join(map(str, options))}.")
        return value
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if kind in (int, str, bool) and type(value) is kind:
        return value
    raise LociError(f"{where} is {value!r}; it must be a {'finite number' if kind is float else kind.__name__}.")


def _read_tuple(options: tuple[Any, ...], value: object, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise LociError(f"{where} is {value!r}; it must be a list.")
    if len(options) == 2 and options[1] is Ellipsis:
        return tuple(_read(options[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if len(value) != len(options):
        raise LociError(f"{where} has {len(value)} entries; it must have {len(options)}.")
    return tuple(_read(kind, item, f"{where}[{index}]")
                 for index, (kind, item) in enumerate(zip(options, value, strict=True)))


def _read_dataclass(kind: Any, value: object, where: str) -> Any:
    if not isinstance(value, dict):
        raise LociError(f"{where} is {value!r}; it must be an object with the entries of a {kind.__name__}.")
    hints, known = get_type_hints(kind), {item.name: item for item in fields(kind)}
    for name in value:
        if name not in known:
            raise LociError(f"{where} has an entry {name!r}, but a {kind.__name__} knows only {', '.join(known)}.")
    for name, item in known.items():
        if name not in value and item.default is MISSING and item.default_factory is MISSING:
            raise LociError(f"{where} lacks the entry {name!r} of a {kind.__name__}.")
    return kind(**{name: _read(hints[name], item, f"{where}.{name}") for name, item in value.items()})
