"""The learning curves of a run, from the log it keeps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loci_looped.evaluation.report.charts import Chart, Line, Shade
from loci_looped.utils.errors import LociError

LOG = "log.jsonl"
MOST_POINTS = 400


def read_records(run: Path) -> list[dict[str, Any]]:
    """Every whole line of the log; a last line cut short by a crash is passed over."""
    path = run / LOG
    if not path.is_file():
        raise LociError(f"{run} has no {LOG}, so there are no learning curves: is it the folder of a training run?")
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get("update"), int):
            records.append(record)
    return records


def curve(records: Sequence[dict[str, Any]], kind: str, name: str, words: str, colour: int) -> Line:
    """One quantity over the updates; long runs are thinned by averaging."""
    points = [(float(record["update"]), float(record[name])) for record in records
              if record.get("kind") == kind and isinstance(record.get(name), int | float)]
    size = max(1, -(-len(points) // MOST_POINTS))
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return Line(words, [sum(x for x, _ in group) / len(group) for group in groups],
                [sum(y for _, y in group) / len(group) for group in groups], colour=colour)


def phases(records: Sequence[dict[str, Any]]) -> list[Shade]:
    """The phases of the curriculum, each named, every second one shaded."""
    spans: list[tuple[str, float, float]] = []
    for record in records:
        phase, update = record.get("phase"), float(record["update"])
        if not isinstance(phase, str):
            continue
        if spans and spans[-1][0] == phase:
            spans[-1] = (phase, spans[-1][1], update)
        else:
            spans.append((phase, spans[-1][2] if spans else update, update))
    return [Shade(first, last, phase, filled=index % 2 == 1) for index, (phase, first, last) in enumerate(spans)]


def learning_figures(run: Path) -> list[Chart]:
    """Loss, tracking error and gates over the updates of a run."""
    records = read_records(run)
    shades = phases([record for record in records if record.get("kind") == "train"])
    name = run.name
    return [
        Chart(f"{name}: foreground error", "update", "squared error", [
            curve(records, "train", "foreground_error", "prediction of the next frame, where something is", 1)],
            shades, "On training clips, logarithmic.", logarithmic=True),
        Chart(f"{name}: tracking error", "update", "% of diagonal", [
            curve(records, "validation", "visible_error", "visible", 1),
            curve(records, "validation", "occluded_error", "occluded", 3)],
            shades, "Validation on scenes that are neither trained nor tested on.", dots=True),
        Chart(f"{name}: found and kept", "update", "%", [
            curve(records, "validation", "movers_found", "movers found", 1),
            curve(records, "validation", "successful", "successful trackings", 2)], shades, top=100.0, dots=True),
        Chart(f"{name}: gate openings", "update", "opening α", [
            curve(records, "validation", "position_gate_visible", "position, visible", 1),
            curve(records, "validation", "position_gate_hidden", "position, hidden", 3),
            curve(records, "validation", "gestalt_gate_visible", "gestalt, visible", 2),
            curve(records, "validation", "gestalt_gate_hidden", "gestalt, hidden", 4)], shades, top=1.0, dots=True),
    ]


def strips(run: Path, most: int = 3) -> list[tuple[str, Path]]:
    """The film strips a run has drawn of its first validation scene: the first, some between, and the last."""
    files = sorted((run / "strips").glob("update-*.png"))
    if not files:
        return []
    count = min(most, len(files))
    chosen = [files[round(index * (len(files) - 1) / max(1, count - 1))] for index in range(count)]
    updates = [f"{int(file.stem.split('-')[1]):,}".replace(",", " ") for file in chosen]
    return [(f"{run.name}, after {update} updates", file) for update, file in zip(updates, chosen, strict=True)]
