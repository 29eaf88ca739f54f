"""The first answer of the command line: at once, and without the heavy libraries."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from loci_looped.cli.main import VERBS, main


def test_help_answers_at_once_without_torch() -> None:
    code = (
        "import sys\nfrom loci_looped.cli.main import main\nassert main(['--help']) == 0\n"
        "heavy = {'torch', 'numpy', 'scipy', 'matplotlib', 'av', 'tyro'} & set(sys.modules)\nassert not heavy, heavy"
    )
    fastest = float("inf")
    for _ in range(3):      # the machine is shared: the best of three
        begun = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
        fastest = min(fastest, time.perf_counter() - begun)
        assert done.returncode == 0, done.stderr
        assert "usage: loci VERB" in done.stdout and all(verb in done.stdout for verb in VERBS)
    assert fastest < 1.5


def test_an_unknown_verb_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wach"]) == 2
    assert "there is no verb 'wach'. Did you mean 'watch'?" in capsys.readouterr().err


def test_no_verb_tells_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "import-official" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.count(".") == 2


def test_mistakes_are_sentences_not_tracebacks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-official", "no-such.pt", "--config", "adept", "--out", "nowhere"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("loci import-official: There is no file no-such.pt") and "Traceback" not in told


def test_a_listener_that_has_gone_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    script = "import sys; from loci_looped.cli.main import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", script], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
