"""Memory that a process has once used it keeps for the next tensor, and what lives long is not looked through."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1     # of malloc.h
LARGEST = 1 << 30


def keep_memory() -> bool:
    """Ask glibc to reuse freed memory; False where another library hands it out, which is left as it is.

    A training step makes and drops the same large maps again and again. By default every second one comes fresh from
    the system, which fills it with zeros page by page first: 6 % of an update of the balls.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(MMAP_THRESHOLD, LARGEST) and mallopt(TRIM_THRESHOLD, 2 * LARGEST - 1))


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Meanwhile what is there already counts as permanent: Python's search for garbage then has little to look at.

    PyTorch alone brings hundreds of thousands of objects. To look through them now and then takes a tenth of the time
    of training a small network.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
