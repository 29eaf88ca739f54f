"""What documents name: commands, flags, files and Python blocks."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from functools import cache
from pathlib import Path

from loci_looped.cli.main import VERBS, main

ROOT = Path(__file__).parents[2]
ROOTS = (ROOT, ROOT / "loci_looped", ROOT / "docs")
PATH = re.compile(r"^[\w.-]+(/[\w.-]+)*/?(::\w+)?$")
SUFFIXES = (".py", ".md", ".sh", ".json", ".html", ".js", ".mjs", ".yml", ".toml", ".txt", ".png", ".cff", ".npz")
WRITTEN_BY_USERS = ("runs/", "tracking.json", "report.html", "results/", "clip.mp4", "film.mp4", "net.pt", "index.html",
                    "masks", "curves.png")


def blocks(text: str, language: str = "") -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def quoted(text: str) -> list[str]:
    """What stands between single backticks, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))


def commands(text: str) -> list[list[str]]:
    """Every command line that begins with loci, python, pytest or make, without its comment."""
    lines = [line for block in blocks(text) for line in block.splitlines()] + quoted(text)
    plain = [re.split(r"\s#\s", line)[0].strip() for line in lines]
    return [shlex.split(line) for line in plain if re.match(r"(loci|python|pytest|make) \S", line)]


def paths(text: str) -> set[str]:
    """Every file, folder, and `file::name` that a document names."""
    named = {word for word in quoted(text) if PATH.match(word)}
    named |= {link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link}
    looks_like_one = {word for word in named if "/" in word or word.split("::")[0].endswith(SUFFIXES)}
    return {word for word in looks_like_one if not word.startswith(WRITTEN_BY_USERS)}


def is_there(named: str) -> bool:
    """Does the file exist, and is the class or function in it?"""
    place, _, name = named.partition("::")
    found = [root / place for root in ROOTS if (root / place).exists()]
    if "/" not in place:
        found += [path for root in ("loci_looped", "tests", "tools", "docs") for path in (ROOT / root).rglob(place)]
    defined = re.compile(rf"^(class|def) {name}\b|^{name}\b.* = ", re.M)
    return any(not name or defined.search(path.read_text(encoding="utf-8")) for path in found)


@cache
def help_of(*words: str) -> str:
    """What `loci WORDS --help` prints, on a wide page."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return said.getvalue()


def mistake(command: list[str]) -> str:
    """What is wrong with a command line, as far as it can be seen without running it; empty if nothing is."""
    program, *words = command
    flags = [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    if program == "loci":
        return _mistake_of_loci(words, flags)
    if program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
        return "" if words[0] in targets else f"make knows no {words[0]}"
    script = next((word for word in words if word.endswith(".py")), None)
    if script is None:
        return ""
    if not (ROOT / script).is_file():
        return f"there is no {script}"
    missing = [flag for flag in flags if program == "python" and f'"{flag}"' not in (ROOT / script).read_text()]
    return f"{script} does not know {missing}" if missing else ""


def _mistake_of_loci(words: list[str], flags: list[str]) -> str:
    verb = words[0]
    if verb in ("VERB", "--help", "--version"):
        return ""
    if verb not in VERBS:
        return f"there is no verb {verb}"
    asked = (verb, words[1]) if verb == "train" and len(words) > 1 and not words[1].startswith("-") else (verb,)
    text = help_of(*asked) + (help_of("train") if verb == "train" else "")
    missing = [flag for flag in flags if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text)]
    return f"loci {verb} does not know {missing}" if missing else ""
