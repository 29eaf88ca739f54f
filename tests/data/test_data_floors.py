"""Inside the data room arrows point one way, too: scenes are described, rendered, written in a format, films
prepared, all of it stored."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import loci_looped.data

ROOM = Path(str(loci_looped.data.__file__)).parent
BASE = {"clip", "coordinates", "events", "presence"}

FLOORS: dict[str, set[str]] = {
    "base": set(),
    "scenes": {"base"},
    "render": {"base", "scenes"},
    "formats": {"base", "scenes", "render"},
    "films": {"base", "formats"},
    "store": {"base", "scenes", "render", "formats", "films"},
}
"""Every part of the room and what it may import, wherever in a file the import stands."""


def floor(words: tuple[str, ...]) -> str:
    """('scenes', 'vanish') -> 'scenes'; ('clip',) -> 'base'."""
    return "base" if words[0] in BASE else words[0]


def imports(path: Path) -> Iterator[str]:
    """Every module of this room that a file imports, as words below `loci_looped.data`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are spelled out here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name.removeprefix("loci_looped.data.") for name in names if name.startswith("loci_looped.data."))


def arrows() -> Iterator[tuple[str, str, str]]:
    """(file, its floor, the floor it reaches into)"""
    for path in sorted(ROOM.rglob("*.py")):
        words = path.relative_to(ROOM).with_suffix("").parts
        if words == ("__init__",):
            continue
        for module in imports(path):
            yield "/".join(words), floor(words), floor(tuple(module.split(".")))


def test_every_part_has_its_floor() -> None:
    parts = {floor(path.relative_to(ROOM).with_suffix("").parts) for path in ROOM.rglob("*.py")}
    assert parts - {"__init__"} == set(FLOORS)


def test_arrows_point_one_way() -> None:
    found = list(arrows())
    assert ("render/draw", "render", "scenes") in found         # so the search finds arrows at all
    wrong = [f"{file} imports {theirs}" for file, ours, theirs in found if theirs not in FLOORS[ours] | {ours}]
    assert not wrong, "\n".join(wrong)
