"""Clips that can be made or opened at any time, named by what decides their pixels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from loci_looped.configs.scenes import family_of
from loci_looped.data import scenes
from loci_looped.data.clip import Clip
from loci_looped.data.coordinates import Size
from loci_looped.data.render.clips import make_clip
from loci_looped.data.store.clip_file import load_clip
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class ClipSpec:
    """A generated clip."""

    kind: str                       # a name that `scenes.make` knows
    seed: int                       # of a published split: the number of the sequence
    size: Size                      # (H, W)
    frames: range | None = None     # frame numbers of the scene; None: those that its clips have

    @property
    def source(self) -> str:
        """What the clip calls itself."""
        return scenes.source_of(self.kind, self.seed)

    def key(self) -> str:
        """Names the file in the cache: equal for clips with equal pixels and truth, even if their kinds differ."""
        return _key(self)

    def make(self) -> Clip:
        return make_clip(self.kind, self.seed, self.size, self.frames)

    def named(self, clip: Clip) -> Clip:
        """A clip with this key under this spec's own name: the control of a violation is a control scene, too."""
        return replace(clip, source=self.source)


@dataclass(frozen=True)
class StoredClip:
    """A `.clip` file of the user's, shown at another size."""

    path: Path
    size: Size

    def key(self) -> str:
        return ""                   # it has a file already

    def make(self) -> Clip:
        clip = load_clip(self.path)
        check_shape(clip, self.size)
        return replace(clip.resized(self.size), source=clip.source or self.path.name)

    def named(self, clip: Clip) -> Clip:
        return clip


AnyClipSpec = ClipSpec | StoredClip


def check_shape(clip: Clip, size: Size) -> None:
    """Pictures are made larger and smaller, but not squeezed."""
    (height, width), (new_height, new_width) = clip.size, size
    if abs(height * new_width - width * new_height) > max(height * new_width, width * new_height) / 20:
        raise LociError(
            f"{clip.source or 'A clip'} is {height} x {width} pixels, but the network works at "
            f"{new_height} x {new_width}: another shape of picture. Evaluate a network that was made for such clips."
        )


@lru_cache(maxsize=4096)
def _key(spec: ClipSpec) -> str:
    frames = spec.frames or scenes.frames_of(spec.kind, spec.seed)
    described = family_of(spec.kind) in ("vanish", "violations")
    what: object = scenes.make(spec.kind, spec.seed) if described else (spec.kind, spec.seed)
    return hashlib.sha256(repr((what, frames, spec.size)).encode()).hexdigest()[:24]
