"""One process at a time in a folder: a lock that dies with the process that holds it, also when that is killed."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from loci_looped.utils.errors import LociError

NAME = ".lock"


@contextmanager
def locked(folder: Path, work: str) -> Iterator[None]:
    """Hold the folder while `work` ("trains") is done in it; a sentence tells who holds it already.

    Folders that are missing are made, and taken away again if nothing has been put into them.
    """
    if folder.exists() and not folder.is_dir():
        raise LociError(f"{folder} is a file, but a folder is needed there; choose another with --out.")
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = _lock(folder, work)
    except OSError as error:
        raise LociError(f"The folder {folder} cannot be written in: {error.strerror or error}.") from error
    try:
        yield
    finally:
        # Only the holder removes the file, and it does so before it lets go: see _lock.
        (folder / NAME).unlink(missing_ok=True)
        os.close(place)
        with suppress(OSError):         # something is in them, as it should be
            for empty in made:
                empty.rmdir()


def _lock(folder: Path, work: str) -> int:
    """The open, locked file. It tells who holds it, but what counts is the lock, which no crash leaves behind."""
    path = folder / NAME
    while True:
        place = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _take(place):
            holder = os.read(place, 200).decode("utf-8", "replace").strip() or f"Another process {work}"
            os.close(place)
            raise LociError(f"{holder} in {folder} already. Wait until it has ended, or use another folder.")
        try:
            ours = os.stat(path).st_ino == os.fstat(place).st_ino
        except FileNotFoundError:
            ours = False
        if ours:
            break
        os.close(place)     # the holder before removed the file between our opening and our locking it
    since = time.strftime("%Y-%m-%d %H:%M")
    os.ftruncate(place, 0)
    os.write(place, f"Since {since}, process {os.getpid()} on {socket.gethostname()} {work}\n".encode())
    return place


def _take(place: int) -> bool:
    """Lock an open file without waiting; False if somebody else has it."""
    if sys.platform == "win32":
        return True         # locks there forbid reading, too; such users are trusted
    import fcntl

    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass                # some network disks know no locks; that is no reason not to train there
    return True
