"""Where downloaded things are kept."""

from pathlib import Path

import pytest

from loci_looped.utils.cache import cache_folder


def test_the_cache_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "general"))
    monkeypatch.delenv("LOCI_CACHE", raising=False)
    assert cache_folder() == tmp_path / "general" / "loci-looped"
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("LOCI_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "loci-looped"
