"""A folder that is in use is not used by a second process, and no crash leaves it locked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loci_looped.cli.main import main
from loci_looped.utils.errors import LociError
from loci_looped.utils.lock import NAME, locked

HOLDER = """
import sys, time
from pathlib import Path
from loci_looped.utils.lock import locked
with locked(Path(sys.argv[1]), "trains"):
    print("held", flush=True)
    time.sleep(60)
"""


def _holder(folder: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    return holder


def test_a_run_under_way_is_not_trained_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    holder = _holder(folder)
    try:
        (folder / "log.jsonl").write_text('{"kind": "train", "update": 9}\n')
        for words in (["adept-small", "--out", str(folder)], ["--resume", str(folder)]):
            assert main(["train", *words]) == 2
            told = capsys.readouterr().err
            assert f"process {holder.pid} on " in told and f"trains in {folder} already" in told
        assert (folder / "log.jsonl").read_text() == '{"kind": "train", "update": 9}\n'
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert (folder / NAME).exists()             # what a killed process leaves is no lock
    with locked(folder, "trains"):
        assert str(os.getpid()) in (folder / NAME).read_text()
    assert not (folder / NAME).exists()


def test_a_lock_leaves_no_empty_folders_but_those_it_found(tmp_path: Path) -> None:
    (tmp_path / "found").mkdir()
    for folder in (tmp_path / "found", tmp_path / "found" / "runs" / "new"):
        with locked(folder, "trains"):
            assert folder.is_dir()
        assert list((tmp_path / "found").iterdir()) == []


def test_a_file_is_no_folder_to_train_in(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("precious")
    with pytest.raises(LociError, match="run is a file, but a folder is needed"), locked(tmp_path / "run", "trains"):
        pass
    assert (tmp_path / "run").read_text() == "precious"
