"""What a run tells: a line on the terminal, JSONL on disk, TensorBoard if it is installed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from loci_looped.data.formats.images import read_rgb
from loci_looped.utils.atomic import write_text

LOG = "log.jsonl"


class Averages:
    """Means of named numbers since the last look."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def add(self, values: dict[str, float]) -> None:
        for name, value in values.items():
            if math.isfinite(value):
                self._sums[name] = self._sums.get(name, 0.0) + value
                self._counts[name] = self._counts.get(name, 0) + 1

    def take(self) -> dict[str, float]:
        means = {name: total / self._counts[name] for name, total in self._sums.items()}
        self._sums, self._counts = {}, {}
        return means

    def to_json(self) -> dict[str, Any]:
        return {"sums": dict(self._sums), "counts": dict(self._counts)}

    @staticmethod
    def from_json(values: dict[str, Any]) -> Averages:
        averages = Averages()
        averages._sums, averages._counts = dict(values["sums"]), dict(values["counts"])
        return averages


def without_nan(values: dict[str, Any]) -> dict[str, Any]:
    """What is no number becomes null: JSON knows no NaN."""
    return {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in values.items()}


class RunLog:
    """The log of one run folder. Reopened at update n, it forgets what was written beyond n, as the run itself does."""

    def __init__(self, folder: Path, updates: int, resumed_at: int = 0, console: Console | None = None):
        self.path = folder / LOG
        self.console = console or Console(stderr=True)
        folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            kept = [r for r in _records(self.path) if r["update"] <= resumed_at and resumed_at > 0]
            write_text(self.path, "".join(json.dumps(record) + "\n" for record in kept))
        self._file = self.path.open("a", encoding="utf-8")
        self._board = _tensorboard(folder, resumed_at)
        self._progress = Progress(
            TextColumn("[bold]{task.fields[phase]:<11}"), BarColumn(bar_width=20),
            TextColumn("{task.completed}/{task.total}"), TextColumn("{task.fields[line]}"),
            TimeElapsedColumn(), TimeRemainingColumn(),
            console=self.console, disable=not self.console.is_terminal,
        )
        self._task: TaskID = self._progress.add_task("", total=updates, completed=resumed_at, phase="", line="")

    def __enter__(self) -> RunLog:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        self._file.close()
        if self._board is not None:
            self._board.close()

    def say(self, text: str, style: str | None = None) -> None:
        self.console.print(text, highlight=False, markup=False, style=style, soft_wrap=True)

    def record(self, kind: str, update: int, values: dict[str, Any]) -> None:
        """One JSON line, at once on disk; numbers also go to TensorBoard."""
        clean = without_nan(values)
        self._file.write(json.dumps({"kind": kind, "update": update, **clean}) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in clean.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{kind}/{name}", value, update)

    def picture(self, name: str, update: int, path: Path) -> None:
        """A picture that is on disk already, for TensorBoard."""
        if self._board is not None:
            self._board.add_image(name, read_rgb(path)[0], update, dataformats="HWC")

    def progress(self, update: int, phase: str, values: dict[str, float]) -> None:
        """The line of a terminal, with a bar and the time left; elsewhere one line after the other."""
        line = _rehearsed(values) if phase == "rehearsal" else _seen(values) if "foreground_error" in values else (
            _losses(values)
        )
        self._progress.update(self._task, completed=update, phase=phase, line=line)
        if not self.console.is_terminal:
            self.say(f"{update:>8} {phase:<11} {line}")


def _seen(values: dict[str, float]) -> str:
    """A line about Loci-Looped: how well objects are painted, slots in use, and gate openings."""
    nothing = math.nan
    return (
        f"{values.get('updates_per_second', nothing):.1f}/s  loss {values.get('loss', nothing):.3f}  "
        f"foreground {values.get('foreground_error', nothing):.4f}  "
        f"slots {values.get('bound_slots', nothing):.1f}  "
        f"gates {values.get('gestalt_gate', nothing):.2f} {values.get('position_gate', nothing):.2f}"
    )


ALWAYS = ("updates_per_second", "loss", "learning_rate", "seconds", "gradient_norm")


def _losses(values: dict[str, float]) -> str:
    """A line about any network: the loss and its largest parts."""
    nothing = math.nan
    parts = sorted(((n, v) for n, v in values.items() if n not in ALWAYS), key=lambda part: -abs(part[1]))
    told = "  ".join(f"{name} {value:.4g}" for name, value in parts[:4])
    return f"{values.get('updates_per_second', nothing):.1f}/s  loss {values.get('loss', nothing):.4g}  {told}"


def _rehearsed(values: dict[str, float]) -> str:
    """A line about rehearsal: what is expected of places and looks, and gate openings in sight / hidden."""
    nothing = math.nan
    gates = ", ".join(
        f"{name} {values.get(f'{name}_gate_seen', nothing):.2f} / {values.get(f'{name}_gate_hidden', nothing):.2f}"
        for name in ("position", "gestalt")
    )
    return (
        f"{values.get('updates_per_second', nothing):.1f}/s  loss {values.get('loss', nothing):.3f}  "
        f"position {values.get('position', nothing):.3f}  gestalt {values.get('gestalt', nothing):.3f}  "
        f"gates seen / hidden: {gates}"
    )


def _tensorboard(folder: Path, resumed_at: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"), purge_step=resumed_at + 1 if resumed_at else None)


def _records(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a log; one cut short by a kill is left out."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and "update" in record and "kind" in record:
            records.append(record)
    return records


def read_log(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The records of one kind, in order."""
    path = folder / LOG
    return [record for record in _records(path) if record["kind"] == kind] if path.exists() else []
