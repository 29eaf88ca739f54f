"""Freed memory is kept where glibc hands it out, and nothing happens elsewhere."""

from __future__ import annotations

import ctypes
import gc
import platform
import sys
import weakref
from types import SimpleNamespace

import pytest

from loci_looped.utils.memory import keep_memory, rarely_collected


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another library hands out memory")
def test_glibc_is_asked_to_keep_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = ctypes.CDLL(None).mallopt, []

    def mallopt(what: int, value: int) -> int:
        asked.append((what, value))
        return int(real(what, value))

    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=mallopt))
    assert keep_memory(), "it must understand both"
    assert asked == [(-3, 2**30), (-1, 2**31 - 1)], "M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h"


def test_elsewhere_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    assert not keep_memory(), "another library of C"
    monkeypatch.setattr(sys, "platform", "win32")
    assert not keep_memory()


def test_what_was_there_before_is_not_looked_through() -> None:
    class Knot:
        def __init__(self) -> None:
            self.own = self

    with rarely_collected():
        assert gc.get_freeze_count() > 1000
        knot = weakref.ref(Knot())
        gc.collect()
        assert knot() is None, "what came later is collected as ever"
    assert gc.get_freeze_count() == 0
