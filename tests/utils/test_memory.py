"""Freed memory is kept where glibc hands it out, and nothing happens elsewhere."""

from __future__ import annotations

import ctypes
import platform
import sys
from types import SimpleNamespace

import pytest

from loci_looped.utils.memory import keep_memory


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
