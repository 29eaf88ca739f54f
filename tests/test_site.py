"""The documentation as a site: its pages exist, its reference names what exists, and it needs no network to be read."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT

yaml = pytest.importorskip("yaml")
DOCS = ROOT / "docs"


def settings() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    return found


def pages(entries: list[Any]) -> list[str]:
    """The files of a navigation, sections opened."""
    named: list[str] = []
    for entry in entries:
        for target in entry.values() if isinstance(entry, dict) else [entry]:
            named += pages(target) if isinstance(target, list) else [target]
    return named


def test_every_page_of_the_navigation_exists_and_none_twice() -> None:
    named = pages(settings()["nav"])
    assert [name for name in [*named, *settings()["extra_css"]] if not (DOCS / name).is_file()] == []
    assert len(named) == len(set(named)) > 10


def test_every_guide_is_in_the_navigation() -> None:
    unlisted = {"decisions/renderer.md"}            # an appendix, named by the page of decisions
    there = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert there - unlisted == set(pages(settings()["nav"]))


def test_the_reference_names_what_exists() -> None:
    named = re.findall(r"^::: (\S+)$", (DOCS / "api.md").read_text(encoding="utf-8"), flags=re.M)
    assert len(named) > 15
    for name in named:
        module, _, thing = name.rpartition(".")
        assert getattr(importlib.import_module(module), thing).__doc__, name


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)], cwd=ROOT,
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_is_built_without_a_complaint(site: Path) -> None:
    for page in pages(settings()["nav"]):
        assert (site / page.replace(".md", ".html")).is_file()
    reference = (site / "api.html").read_text(encoding="utf-8")
    assert "Watch a film, a folder, frames" in reference            # a docstring


def test_the_site_asks_nobody_for_anything(site: Path) -> None:
    fetched = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="((?:https?:)?//[^"]+)"')
    found = {(path.name, url) for path in site.rglob("*.html") for url in fetched.findall(path.read_text("utf-8"))}
    imported = re.compile(r"(?:@import|url\()\s*['\"]?https?:")
    styles = {path.name for path in site.rglob("*.css") if imported.search(path.read_text("utf-8"))}
    assert found == set() and styles == set()


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_make_docs_builds_the_site() -> None:
    asked = subprocess.run(["make", "--dry-run", "docs"], cwd=ROOT, capture_output=True, text=True)
    assert "mkdocs build" in asked.stdout
