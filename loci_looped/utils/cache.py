"""Where downloaded things are kept: LOCI_CACHE if it is set, else loci-looped in the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder need not exist yet."""
    own = os.environ.get("LOCI_CACHE")
    if own:
        return Path(own).expanduser()
    general = os.environ.get("XDG_CACHE_HOME")
    return (Path(general) if general else Path.home() / ".cache") / "loci-looped"
