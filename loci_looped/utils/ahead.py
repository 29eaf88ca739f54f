"""Work on the next items while somebody is busy with this one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class _End:
    error: BaseException | None = None


def ahead(items: Iterable[Item], depth: int) -> Iterator[Item]:
    """The same items in the same order, made by a thread that is at most `depth` of them ahead.

    What goes wrong while an item is made is raised here, in its place. Who stops asking stops the thread, too.
    """
    made: queue.Queue[Item | _End] = queue.Queue(depth)
    stopped = threading.Event()

    def put(thing: Item | _End) -> None:
        while not stopped.is_set():
            try:
                return made.put(thing, timeout=0.1)
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(_End())
        except BaseException as error:      # told to whoever asks for the item
            put(_End(error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while not isinstance(item := made.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        thread.join()
