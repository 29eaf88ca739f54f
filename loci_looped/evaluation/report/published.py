"""The published numbers, as data with their sources (published.json beside this file)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from loci_looped.evaluation.experiments.results import plain
from loci_looped.evaluation.experiments.summary import probability_words

FILE = Path(__file__).with_name("published.json")


@dataclass(frozen=True)
class Source:
    words: str          # as a table calls it
    title: str
    note: str


@dataclass(frozen=True)
class PublishedRow:
    """One line of a published table."""

    model: str
    source: str         # a key of `sources()`
    values: dict[str, Any]

    def cell(self, key: str, spread: bool = False) -> str:
        """A number as it was published; a dash where nothing was."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            return "–"
        if "text" in value:
            return str(value["text"])
        metric = key.rpartition("/")[2]
        if metric == "p_one_sided":
            return probability_words(value["value"])
        # The paper's digits as printed; the notebooks print many more.
        shown = plain if self.source == "notebooks" and metric != "degrees" else "{:g}".format
        text = shown(value["value"])
        return f"{text} ± {shown(value['std'])}" if spread and "std" in value else text


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def sources() -> dict[str, Source]:
    return {name: Source(**values) for name, values in _content()["sources"].items()}


def caveat(experiment: str) -> str:
    """What one must know before comparing with the published numbers."""
    return str(_content()["caveats"].get("tracking" if experiment == "ablation" else experiment, ""))


def published(experiment: str) -> list[PublishedRow]:
    rows = _content()["tracking" if experiment == "ablation" else experiment]
    return [PublishedRow(row["model"], row["source"], row) for row in rows]
