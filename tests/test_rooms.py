"""The house: arrows between rooms point one way, and the network needs nobody else."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "loci_looped"

FLOORS: dict[str, set[str]] = {
    "utils": set(),
    "configs": {"utils"},
    "weights": set(),
    "model": {"configs"},
    "data": {"configs", "utils"},
    "baselines": {"model", "data", "configs", "utils"},
    "inference": {"baselines", "model", "data", "configs", "utils"},
    "viz": {"inference", "baselines", "model", "data", "configs", "utils"},
    "evaluation": {"viz", "inference", "baselines", "model", "data", "configs", "utils"},
    "training": {"evaluation", "viz", "inference", "baselines", "model", "data", "configs", "utils"},
    "app": {"training", "evaluation", "viz", "inference", "baselines", "model", "data", "configs", "utils"},
    "cli": {"app", "training", "evaluation", "viz", "inference", "baselines", "model", "data", "configs", "utils"},
    "__init__": {"inference", "model", "data"},
    "__main__": {"cli"},
}
"""Every room and what it may import, wherever in a file the import stands."""

VERSION = {"loci_looped.__version__"}
"""The one thing below that the package itself tells everybody."""


def imports(path: Path) -> Iterator[str]:
    """Every module a file imports, wherever in it, relative ones spelled out."""
    inside = path.relative_to(PACKAGE.parent).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(inside[: len(inside) - node.level]) if node.level else ""
            module = ".".join(part for part in (above, node.module or "") if part)
            # `from loci_looped import x` may name a room.
            yield from (f"{module}.{alias.name}" for alias in node.names) if module == "loci_looped" else (module,)


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


def arrows() -> Iterator[tuple[Path, str, str]]:
    """(file, its room, the room it reaches into)"""
    for path in sorted(PACKAGE.rglob("*.py")):
        for module in imports(path):
            first, *rest = module.split(".")
            if first == "loci_looped" and rest and rest[0] != room(path) and module not in VERSION:
                yield path, room(path), rest[0]


def test_arrows_are_found() -> None:
    assert ("import_official", "cli", "model") in {(path.stem, ours, theirs) for path, ours, theirs in arrows()}


def test_every_room_has_its_floor() -> None:
    rooms = {room(path) for path in PACKAGE.rglob("*.py")}
    assert rooms == set(FLOORS)


def test_arrows_point_one_way() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {theirs}" for path, ours, theirs in arrows() if theirs not in FLOORS[ours]
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_lies_about_at_the_root() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_the_network_imports_torch_and_einops_only() -> None:
    allowed = {"torch", "einops", "loci_looped", *sys.stdlib_module_names}
    ours = ("loci_looped.model", "loci_looped.configs")
    for path in (PACKAGE / "model").rglob("*.py"):
        foreign = {module.split(".")[0] for module in imports(path)} - allowed
        assert not foreign, f"{path.name} imports {foreign}"
        assert not [m for m in imports(path) if m.startswith("loci_looped") and not m.startswith(ours)]


ALONE = """
import importlib.abc, sys

class Wall(importlib.abc.MetaPathFinder):
    # Rooms and third-party packages the network must do without. torch itself may use what it likes of the latter.
    rooms = ROOMS
    packages = ("scipy", "PIL", "av", "safetensors", "tyro", "rich", "matplotlib", "h5py", "yaml", "skimage", "sklearn",
                "starlette", "onnx", "onnxscript", "onnxruntime", "numba", "torchvision", "hypothesis", "pytest")

    def find_spec(self, name, path=None, target=None):
        first, _, rest = name.partition(".")
        if first in self.packages or (first == "loci_looped" and rest.split(".")[0] in self.rooms):
            raise ImportError("blocked: " + name)

sys.meta_path.insert(0, Wall())
import torch
from loci_looped.model import LociLooped
import loci_looped.model.released.checkpoint, loci_looped.model.losses
model = LociLooped("balls").eval()
with torch.no_grad():
    state = model.warm_up(torch.rand(1, 3, 64, 64), model.initial(torch.zeros(1, 3, 64, 64)), 1)
    _, out = model.step(torch.rand(1, 3, 64, 64), state)
loaded = {name for name in sys.modules if name.startswith("loci_looped.")}
assert all(name.startswith(("loci_looped.model", "loci_looped.configs")) for name in loaded), loaded
try:
    import loci_looped.inference.networks
except ImportError as error:
    print(tuple(out.next_frame.frame.shape), error)
"""


def test_the_network_loads_with_every_other_room_blocked() -> None:
    rooms = sorted({path.stem for path in PACKAGE.iterdir()} - {"model", "configs", "__init__", "__pycache__"})
    assert {"data", "training", "inference", "utils"} <= set(rooms)
    done = subprocess.run(
        [sys.executable, "-c", ALONE.replace("ROOMS", repr(tuple(rooms)))], capture_output=True, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(1, 3, 64, 64) blocked: loci_looped.inference\n"


def test_files_stay_small_enough_to_read() -> None:
    lines = {path.relative_to(PACKAGE): len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert not {path: count for path, count in lines.items() if count > 400}
