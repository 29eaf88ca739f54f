"""What the lab allows: every limit in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8642
    extra_hosts: tuple[str, ...] = ()       # names under which the page may be opened, besides this machine's own
    sessions: int = 8
    """Browser tabs that may have a network running at the same time."""
    idle_seconds: float = 900.0
    """A tab that is silent for so long loses its session; it gets a new one when it is used again."""
    workers: int = 1
    """Threads that run networks. Each uses one core."""
    message_bytes: int = 64 * 1024
    """Largest message from a browser."""
    upload_bytes: int = 48 * 1024 * 1024
    uploads: int = 2
    """Films that may be received and decoded at the same time."""
    decode_seconds: float = 30.0
    clip_frames: int = 400
    clips: int = 8
    """Uploaded films kept in memory; the one unused for longest goes first."""
    scene_movers: int = 4
    scene_frames: int = 600
    view: tuple[int, int] = (240, 360)
    """Size (H, W) of the picture of the world beside the network's own small one."""

    @property
    def hosts(self) -> frozenset[str]:
        """The values of the Host header that are answered. Any other name is a page that pretends to be us."""
        own = {"127.0.0.1", "localhost", "[::1]", *self.extra_hosts}
        if self.host not in ("0.0.0.0", "::"):
            own.add(f"[{self.host}]" if ":" in self.host else self.host)
        return frozenset(name.lower() for name in own)
