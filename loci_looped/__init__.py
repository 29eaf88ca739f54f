"""Loci-Looped: object permanence learnt from video.

    import loci_looped

    model = loci_looped.load("adept-learnt")
    for moment in loci_looped.watch(model, "clip.mp4"):
        ...

Each name is imported when it is first used, so that `import loci_looped` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loci_looped.data.clip import Clip
    from loci_looped.inference.networks import load
    from loci_looped.inference.watch import watch
    from loci_looped.model import LociConfig, LociLooped

__version__ = "0.1.0"
__all__ = ["Clip", "LociConfig", "LociLooped", "__version__", "load", "watch"]


def __getattr__(name: str) -> Any:
    if name == "load":
        from loci_looped.inference.networks import load
        return load
    if name == "watch":
        from loci_looped.inference.watch import watch
        return watch
    if name == "Clip":
        from loci_looped.data.clip import Clip
        return Clip
    if name in ("LociConfig", "LociLooped"):
        from loci_looped import model
        return getattr(model, name)
    raise AttributeError(f"loci_looped has no {name!r}; it has {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return list(__all__)
