"""What a run tells: a line on the terminal, JSONL on disk, TensorBoard if it is installed."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Averages:
    """Means of named numbers since the last look."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = defaultdict(float)
        self._counts: dict[str, int] = defaultdict(int)

    def add(self, values: dict[str, float]) -> None:
        for name, value in values.items():
            if math.isfinite(value):
                self._sums[name] += value
                self._counts[name] += 1

    def take(self) -> dict[str, float]:
        means = {name: self._sums[name] / self._counts[name] for name in self._sums}
        self._sums.clear()
        self._counts.clear()
        return means


class RunLog:
    """The log of one run folder. Reopened at update n, it forgets what was written beyond n, as the run itself does."""

    def __init__(self, folder: Path, updates: int, resumed_at: int, console: Console | None = None):
        self.path = folder / "log.jsonl"
        self.console = console or Console(stderr=True)
        self._forget_beyond(resumed_at)
        self._file = self.path.open("a", encoding="utf-8")
        self._board = _tensorboard(folder)
        self._progress = Progress(
            TextColumn("[bold]{task.fields[phase]:<11}"), BarColumn(bar_width=20), TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.fields[line]}"), TimeElapsedColumn(), TimeRemainingColumn(),
            console=self.console, disable=not self.console.is_terminal,
        )
        self._task: TaskID = self._progress.add_task("", total=updates, completed=resumed_at, phase="", line="")

    def __enter__(self) -> RunLog:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()
        self._file.close()
        if self._board is not None:
            self._board.close()

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False)

    def record(self, kind: str, update: int, values: dict[str, Any]) -> None:
        """One JSON line, at once on disk; numbers also go to TensorBoard."""
        clean = {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in values.items()}
        self._file.write(json.dumps({"kind": kind, "update": update, **clean}) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in clean.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{kind}/{name}", value, update)

    def progress(self, update: int, phase: str, values: dict[str, float]) -> None:
        line = (
            f"{values['updates_per_second']:.1f}/s  loss {values['loss']:.3f}  foreground {values['foreground_error']:.4f}  "
            f"slots {values['bound_slots']:.1f}  gates {values['gestalt_gate']:.2f} {values['position_gate']:.2f}"
        )
        self._progress.update(self._task, completed=update, phase=phase, line=line)
        if not self.console.is_terminal:
            self.say(f"{update:>8} {phase:<11} {line}")

    def _forget_beyond(self, update: int) -> None:
        if not self.path.exists():
            return
        kept = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                if json.loads(line)["update"] <= update:
                    kept.append(line)
            except (ValueError, KeyError):
                continue        # a line cut short by a power failure
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
        temporary.replace(self.path)


def _tensorboard(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"))  # type: ignore[no-untyped-call]


def read_log(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The records of one kind, in order."""
    path = folder / "log.jsonl"
    if not path.exists():
        return []
    records = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [record for record in records if record["kind"] == kind]
