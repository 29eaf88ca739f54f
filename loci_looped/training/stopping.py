"""Ctrl-C and SIGTERM ask a run to end; a second Ctrl-C ends it at once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def asked_to_stop(stop: Callable[[], None]) -> Iterator[None]:
    """While inside, the first signal of each kind calls `stop`; the next has its usual effect."""
    before: dict[int, Any] = {}

    def ask(number: int, frame: FrameType | None) -> None:
        del frame
        stop()
        signal.signal(number, before[number])

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, ask)
    except ValueError:
        pass                # not in the main thread: whoever runs us there stops us there
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
