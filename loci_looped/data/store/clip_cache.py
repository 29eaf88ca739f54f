"""Generated clips, made once and then kept in the cache folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import loci_looped.data
from loci_looped.data.clip import Clip
from loci_looped.data.store.clip_file import load_clip, save_clip
from loci_looped.data.store.clip_spec import AnyClipSpec
from loci_looped.utils.cache import cache_folder
from loci_looped.utils.errors import LociError

ProgressCallback = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def no_progress(label: str, done: int, total: int) -> None:
    """For those who do not want to know."""


@cache
def generator_version() -> str:
    """A fingerprint of everything that decides pixels: clips made by another version are never taken for ours."""
    return source_fingerprint(Path(str(loci_looped.data.__file__)).parent)


def source_fingerprint(folder: Path) -> str:
    """Of all Python files below a folder, their names and places included."""
    content = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        content.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return content.hexdigest()[:12]


def cached_file(spec: AnyClipSpec) -> Path:
    return cache_folder() / "clips" / generator_version() / f"{spec.key()}.clip"


def cached_clip(spec: AnyClipSpec) -> Clip:
    """From the cache if it is there and whole, else made now and put there."""
    if not spec.key():
        return spec.make()
    path = cached_file(spec)
    if path.is_file():
        try:
            return spec.named(load_clip(path))
        except LociError:
            pass                    # damaged: it is made again
    clip = spec.make()
    with suppress(LociError, OSError):      # a full or read-only disk costs time, not the experiment
        save_clip(clip, path)
    return spec.named(clip)


def fill_cache(
    specs: Sequence[AnyClipSpec], workers: int = 1, on_progress: ProgressCallback = no_progress
) -> None:
    """Make what is not in the cache yet, each clip once, in several processes if that is worth it."""
    missing = {spec.key(): spec for spec in specs if spec.key() and not cached_file(spec).is_file()}
    total = len(missing)
    if total == 0:
        return
    on_progress("making clips", 0, total)
    if workers < 2 or total < 4:
        for done, spec in enumerate(missing.values()):
            _put_in_cache(spec)
            on_progress("making clips", done + 1, total)
        return
    # Fresh processes: forking one in which torch already has threads may hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_put_in_cache, spec) for spec in missing.values()]
        for done, future in enumerate(as_completed(futures)):
            future.result()
            on_progress("making clips", done + 1, total)


def _put_in_cache(spec: AnyClipSpec) -> None:
    cached_clip(spec)
