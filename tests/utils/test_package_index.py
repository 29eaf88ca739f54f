"""Downloads follow pip's settings, check hashes, and tell what went wrong with each index."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from loci_looped.utils.errors import LociError
from loci_looped.utils.package_index import (
    DEFAULT_INDEX,
    IndexSettings,
    download,
    find_link,
    parse_settings,
    shown,
    user_settings,
)

CONTENT = b"weights" * 100_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")                             # the servers of these tests are on this machine


@pytest.fixture
def index(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A small package index, once over HTTP and once as files."""
    page = tmp_path / "simple" / "some-package"
    page.mkdir(parents=True)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "some_package-1.0.tar.gz").write_bytes(CONTENT)
    (page / "index.html").write_text(
        '<a href="../../files/other-1.0.tar.gz">other</a>'
        f'<a href="../../files/some_package-1.0.tar.gz#sha256={DIGEST}">some_package-1.0.tar.gz</a>'
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/simple/", (tmp_path / "simple").as_uri()
    server.shutdown()
    server.server_close()


def fetch(*indexes: str, digest: str = DIGEST, name: str = "some_package-1.0.tar.gz") -> bytes:
    return download("some-package", name, digest, IndexSettings(indexes, timeout=5), largest=10_000_000)


def test_the_file_is_found_over_http_and_as_files(index: tuple[str, str]) -> None:
    for address in index:
        assert fetch(address) == CONTENT
    seen = []
    settings = IndexSettings((index[0],), timeout=5)
    download("some-package", "some_package-1.0.tar.gz", DIGEST, settings, 10_000_000, lambda *a: seen.append(a))
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_second_index_helps_where_the_first_fails(index: tuple[str, str]) -> None:
    assert fetch("http://127.0.0.1:9/simple", "file:///nowhere/simple", index[0]) == CONTENT


def test_what_fails_is_told_in_a_sentence(index: tuple[str, str]) -> None:
    with pytest.raises(LociError, match=r"127\.0\.0\.1:9/simple answers: .*refused.*--archive some_package-1\.0\.tar"):
        fetch("http://127.0.0.1:9/simple")
    with pytest.raises(LociError, match="does not list it"):
        fetch(index[0], name="some_package-2.0.tar.gz")
    with pytest.raises(LociError, match=f"has the SHA-256 {DIGEST} instead of 1234"):
        fetch(index[0], digest="1234")
    with pytest.raises(LociError, match="no index at all"):
        fetch()
    with pytest.raises(LociError, match="File not found"):
        download("no-package", "x", DIGEST, IndexSettings((index[0],)), 1000)
    with pytest.raises(LociError) as told:
        fetch("https://someone:secret@example.invalid/simple")
    assert "asks for a password" in str(told.value) and "secret" not in str(told.value)


def test_a_file_larger_than_expected_is_not_read_to_its_end(index: tuple[str, str]) -> None:
    with pytest.raises(LociError, match="SHA-256"):
        download("some-package", "some_package-1.0.tar.gz", DIGEST, IndexSettings((index[0],)), largest=10_000)


def test_settings_are_pips() -> None:
    assert parse_settings("") == IndexSettings((DEFAULT_INDEX,))
    listing = "\n".join([
        ":env:.index-url='https://env.example/simple'", "download.index-url='https://download.example/simple'",
        "global.index-url='https://global.example/simple'", "global.extra-index-url='file:///a\\nhttps://b.example'",
        "global.cert='/etc/certs.pem'", "download.timeout='7'", "install.proxy='http://not.for.us'",
        "global.proxy='http://proxy.example:3128'",
    ])
    assert parse_settings(listing) == IndexSettings(
        indexes=("https://env.example/simple", "file:///a", "https://b.example"),
        certificates="/etc/certs.pem", proxy="http://proxy.example:3128", timeout=7,
    )
    assert parse_settings("global.no-index='true'").indexes == ()
    assert parse_settings("global.timeout='soon'\nnonsense").timeout == 60


def test_settings_come_from_pip_or_its_environment_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://mine.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://more.example/simple")
    asked = user_settings()
    assert asked.indexes == ("https://mine.example/simple", "https://more.example/simple")
    broken = tmp_path / "pip"                                       # a pip that cannot be run
    broken.mkdir()
    (broken / "__main__.py").write_text("raise SystemExit(1)")
    (broken / "__init__.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert user_settings().indexes == asked.indexes


def test_links_and_addresses() -> None:
    page = '<A HREF="https://files.example/a%2Bb-1.0.tar.gz#sha256=0">x</A><a>no link</a>'
    assert find_link(page, "https://index.example/simple/a/", "a+b-1.0.tar.gz") == "https://files.example/a%2Bb-1.0.tar.gz"
    assert find_link(page, "https://index.example/simple/a/", "other.tar.gz") is None
    assert shown("https://user:secret@host.example:8080/simple") == "https://host.example:8080/simple"
