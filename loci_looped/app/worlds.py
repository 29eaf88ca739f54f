"""The lab's worlds by name."""

from __future__ import annotations

from loci_looped.app.ball_world import BallWorld
from loci_looped.app.playback import Size
from loci_looped.app.screen_world import ScreenWorld
from loci_looped.app.settings import Settings
from loci_looped.app.table_world import TableWorld
from loci_looped.app.things import LabWorld
from loci_looped.configs.scenes import LabWorldName


def world_called(name: LabWorldName, size: Size, slots: int, settings: Settings) -> LabWorld:
    """The world for a network of this size and so many slots."""
    if name == "balls":
        return BallWorld(size, slots, settings.view)
    if name == "collide":
        return TableWorld(size, slots, settings.view)
    return ScreenWorld(size, settings)
