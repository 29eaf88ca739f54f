"""Uploaded films: received into a temporary folder, decoded by another process, kept in memory, forgotten again."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np

from loci_looped.app.playback import ClipPlayback, jpeg
from loci_looped.app.settings import Settings
from loci_looped.data.formats.video import FILM_SUFFIXES
from loci_looped.data.store.clip_file import SUFFIX
from loci_looped.utils.errors import LociError

SAYS_AT_MOST = 400              # characters of the decoder's message that are passed on


class ClipStore:
    """The films of all tabs, by a name nobody can guess. The one unused for longest goes first."""

    def __init__(self, settings: Settings, size: tuple[int, int]):
        self.settings = settings
        self.size = size
        self.clips: OrderedDict[str, ClipPlayback] = OrderedDict()
        self.places = asyncio.Semaphore(settings.uploads)

    def find(self, name: str) -> ClipPlayback:
        if name not in self.clips:
            raise LociError("This film is no longer here; upload it again.")
        self.clips.move_to_end(name)
        return self.clips[name]

    async def receive(self, title: str, body: AsyncIterator[bytes], announced: int | None) -> tuple[str, ClipPlayback]:
        """Take in a film and decode it. Whatever goes wrong, nothing of it is left."""
        suffix = Path(title).suffix.lower()
        endings = (*FILM_SUFFIXES, SUFFIX)
        if suffix not in endings:
            raise LociError(f"{title[:80]!r} is not named like a film; films end in {', '.join(endings)}.")
        if announced is not None and announced > self.settings.upload_bytes:
            raise self._too_large()
        if self.places.locked():
            raise LociError("Other films are being read at the moment; try again in some seconds.")
        async with self.places:
            with tempfile.TemporaryDirectory(prefix="loci-lab-") as name:
                folder = Path(name)
                film = folder / f"film{suffix}"
                await self._save(film, body)
                await self._decode(film, folder)
                clip = await asyncio.to_thread(self._load, folder, title)
        key = secrets.token_urlsafe(16)
        self.clips[key] = clip
        while len(self.clips) > self.settings.clips:
            self.clips.popitem(last=False)
        return key, clip

    async def _save(self, film: Path, body: AsyncIterator[bytes]) -> None:
        received = 0
        with film.open("wb") as file:
            async for chunk in body:
                received += len(chunk)
                if received > self.settings.upload_bytes:
                    raise self._too_large()
                file.write(chunk)
        if received == 0:
            raise LociError("The file is empty.")

    def _too_large(self) -> LociError:
        return LociError(
            f"The film is larger than {self.settings.upload_bytes >> 20} MB. Cut out the part you want to see, or make "
            f"it smaller: the network looks at {self.size[0]} x {self.size[1]} pixels, so 320 x 480 is plenty. "
            "`loci watch` takes films of any size."
        )

    async def _decode(self, film: Path, folder: Path) -> None:
        seconds = self.settings.decode_seconds
        order = {
            "size": self.size, "view": self.settings.view, "frames": self.settings.clip_frames,
            "seconds": int(seconds),
        }
        environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG") if name in os.environ}
        environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "loci_looped.app.decoding", str(film), str(folder), json.dumps(order),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            cwd=folder, env=environment,
        )
        try:
            _, said = await asyncio.wait_for(process.communicate(), seconds)
        except TimeoutError:
            words = f"Reading the film took longer than {seconds:g} s. Cut it shorter or make it smaller."
            raise LociError(words) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            lines = said.decode("utf-8", "replace").strip().splitlines()
            if process.returncode == 2 and lines:
                raise LociError(lines[-1][:SAYS_AT_MOST])
            raise LociError("The film could not be decoded: it is damaged, or it asks for more memory than is allowed.")

    def _load(self, folder: Path, title: str) -> ClipPlayback:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        frames, background, views, occluder = (
            np.load(folder / f"{name}.npy", allow_pickle=False)
            for name in ("frames", "background", "views", "occluder")
        )
        cut = (f"Only the first {about['seconds']:.0f} s are used.",) if about["cut"] else ()
        notes = (*cut, *about["notes"])
        name = "".join(letter for letter in Path(title).name if letter.isprintable())[:80]
        return ClipPlayback(frames, background, tuple(jpeg(view) for view in views), float(about["fps"]), name, notes,
                            occluder)
