"""What is wrong with a line is a plain sentence, said before any work is done: torch is not even loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loci_looped.cli.checks import check_file, check_folder
from loci_looped.cli.main import main
from loci_looped.utils.errors import LociError

LINES = [
    (["demo", "--seed", "-1"], "--seed is a whole number from 0 on, not -1."),
    (["demo", "--out", "FILE"], "FILE is a file, but a folder is needed"),
    (["generate", "vanish", "--out", "g", "-n", "-2"], "--count is 1 or more, not -2."),
    (["generate", "vanish", "--out", "g", "--seed", "-1"], "--seed is a whole number"),
    (["generate", "vanish", "--out", "FILE/deeper"], "FILE is a file"),
    (["evaluate", "adept-small", "--seed", "-1"], "--seed is a whole number"),
    (["evaluate", "adept-small", "--scenes", "0"], "--scenes is 1 or more, not 0."),
    (["evaluate", "adept-small", "--pairs", "-1"], "--pairs is 1 or more"),
    (["evaluate", "adept-small", "--json", "."], ". is a folder"),
    (["evaluate", "adept-small", "--json", "FILE/r.json"], "FILE is a file"),
    (["train", "adept-small", "--seed", "-1"], "--seed is a whole number"),
    (["train", "adept-small", "--minutes", "-3"], "--minutes is 0 or more, not -3."),
    (["train", "adept-small", "--minutes", "nan"], "--minutes is 0 or more, not nan."),
    (["train", "adept-small", "--out", "FILE"], "FILE is a file"),
    (["watch", "vanish:seed=1", "--out", "FILE"], "FILE is a file"),
    (["export", "adept-small", "--out", "FILE"], "FILE is a file"),
    (["inspect", "FILE", "--clips", "0"], "--clips is 1 or more"),
    (["inspect", "FILE", "--out", "."], ". is a folder"),
    (["report", "adept-small", "--seed", "-4"], "--seed is a whole number"),
    (["report", "adept-small", "--out", "FILE/page.html"], "FILE is a file"),
    (["import-official", "FILE", "--config", "adept", "--out", "FILE"], "FILE is a file"),
]


@pytest.mark.parametrize(("words", "sentence"), LINES, ids=[" ".join(words)[:50] for words, _ in LINES])
def test_an_impossible_line_is_a_sentence_and_leaves_nothing(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("here", encoding="utf-8")
    assert main(words) == 2
    told = capsys.readouterr().err
    assert sentence in told and "Traceback" not in told and len(told.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["FILE"]
    assert (tmp_path / "FILE").read_text(encoding="utf-8") == "here"


def test_it_is_said_before_torch_is_loaded(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom loci_looped.cli.main import main\n"
        f"for line in {[words for words, _ in LINES]!r}:\n"
        "    assert main(line) == 2, line\n"
        "    assert 'torch' not in sys.modules, line\n"
    )
    (tmp_path / "FILE").write_text("here", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-800:]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can play somebody who may not write")
def test_a_folder_that_does_not_let_you_is_named(tmp_path: Path) -> None:
    """Root may write everywhere, so the question is asked by a process that has become nobody."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from loci_looped.cli.checks import check_folder\nfrom loci_looped.utils.errors import LociError\n"
        "os.setuid(65534)\n"
        f"try:\n    check_folder(Path({str(closed / 'results')!r}))\n"
        "except LociError as error:\n    print(error)\n"
    )
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert "you are not allowed to put files into" in done.stdout, done.stderr


def test_places_that_can_be_written_are_left_alone(tmp_path: Path) -> None:
    check_folder(tmp_path / "a" / "b")
    check_file(tmp_path / "a" / "b.json", "--json")
    assert not list(tmp_path.iterdir())
    with pytest.raises(LociError, match="is a folder"):
        check_file(tmp_path, "--json")


def test_a_file_that_may_not_be_read_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Root may read everything, so the refusal of the system is put in its place."""
    for name in ("film.mp4", "0.png"):
        (tmp_path / name).write_bytes(b"secret")

    def refuse(path: object, *rest: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("av.open", refuse)
    monkeypatch.setattr("PIL.Image.open", refuse)
    for path in (tmp_path / "film.mp4", tmp_path):
        assert main(["watch", str(path), "--out", str(tmp_path / "out")]) == 2
        told = capsys.readouterr().err
        assert "is there, but you are not allowed to read it." in told and "damaged" not in told


def test_a_world_without_a_network_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("loci_looped.inference.networks.shipped_networks", lambda: ("adept-learnt",))
    assert main(["lab", "--world", "collide", "--port", "0"]) != 0
    assert "Train one with loci train clevrer-small" in capsys.readouterr().err
