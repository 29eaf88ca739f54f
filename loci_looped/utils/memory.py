"""Memory that a process has once used it keeps for the next tensor, instead of giving it back after each."""

from __future__ import annotations

import ctypes
import sys

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
