"""Documents name files that exist and commands that can be typed; tests have names one can read."""

from __future__ import annotations

import ast

import pytest
from documents import ROOT, commands, is_there, mistake, paths

PAGES = ("docs/index.md", "docs/films.md", "docs/lab.md", "docs/faq.md")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md", *PAGES)
LONGEST_NAME = 70


@pytest.fixture(autouse=True)
def _wide_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "240")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_a_document_names_exists(document: str) -> None:
    named = paths((ROOT / document).read_text(encoding="utf-8"))
    assert named
    assert sorted(name for name in named if not is_there(name)) == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/architecture.md", *PAGES])
def test_every_command_a_document_names_can_be_typed(document: str) -> None:
    found = commands((ROOT / document).read_text(encoding="utf-8"))
    assert found
    assert [f"{' '.join(command)}: {wrong}" for command in found if (wrong := mistake(command))] == []


@pytest.mark.parametrize(("command", "wrong"), [
    (["loci", "wach", "x"], "no verb"), (["loci", "watch", "x", "--sideways"], "--sideways"), (["make", "tea"], "tea"),
    (["python", "tools/none.py"], "none.py"), (["python", "tools/ship.py", "--bottle"], "--bottle"),
    (["loci", "train", "adept-small", "--curriculum.speed", "2"], "--curriculum.speed"),
])
def test_mistakes_in_commands_are_found(command: list[str], wrong: str) -> None:
    assert wrong in mistake(command)


def test_missing_files_and_names_are_found() -> None:
    assert is_there("model/gate.py::PerceptGate") and is_there("docs/decisions.md")
    assert not is_there("model/gate.py::PerceptDoor") and not is_there("model/door.py")


def test_names_of_tests_can_be_read() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {node.name}" for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and len(node.name) >= LONGEST_NAME
    ]
    assert long == []
