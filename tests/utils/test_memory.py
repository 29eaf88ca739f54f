"""Freed memory is kept where glibc hands it out, and nothing happens elsewhere."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from loci_looped.utils.memory import keep_memory

FAULTS = """
import resource, torch
from loci_looped.utils.memory import keep_memory
if {keeps}:
    assert keep_memory()
def work():
    for _ in range(10):
        a = torch.ones(3_000_000); b = a + 1; del a, b
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another library hands out memory")
def test_memory_is_not_fetched_twice() -> None:
    def faults(keeps: bool) -> int:
        done = subprocess.run([sys.executable, "-c", FAULTS.format(keeps=keeps)], check=True, capture_output=True)
        return int(done.stdout)

    assert faults(True) < 100 < faults(False)


def test_elsewhere_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert not keep_memory()
