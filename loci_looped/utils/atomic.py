"""Writing files so that a final name always holds a whole file: first a temporary name beside it, then a rename."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from loci_looped.utils.errors import LociError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Gives a temporary name with the same suffix; renames it to `path` at the end, removes it after an error.

    Missing folders above `path` are made. Whatever the system refuses (no room, no right) becomes a sentence.
    """
    final = Path(path)
    temporary = final.with_name(f".{final.stem}.{secrets.token_hex(4)}{final.suffix}")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, final)
    except OSError as error:
        reason = error.strerror or str(error)
        raise LociError(f"{final} could not be written: {reason}. Nothing was left under that name.") from error
    finally:
        with suppress(OSError):         # where nothing could be written, nothing is left
            temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)
