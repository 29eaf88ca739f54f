"""Scenes with a screen in the lab, as the adept networks know them: things go behind it and come out again."""

from __future__ import annotations

from typing import Any

from loci_looped.app.playback import Playback, ScenePlayback, Size, view_of
from loci_looped.app.scenes import example, lab_scene, options
from loci_looped.app.settings import Settings
from loci_looped.app.things import Description
from loci_looped.data.scenes.scene_json import describe


class ScreenWorld:
    name = "vanish"

    def __init__(self, size: Size, settings: Settings):
        self.size, self.settings = size, settings

    def facts(self) -> dict[str, Any]:
        return options(self.settings)

    def example(self, name: str, seed: int) -> Description:
        return describe(example(name, seed))

    def playback(self, description: object) -> ScenePlayback:
        return ScenePlayback(lab_scene(description, self.settings), self.size, self.settings.view)

    def preview(self, description: object, frame: int, *, rough: bool) -> bytes:
        return view_of(lab_scene(description, self.settings), frame, self.settings.view, 1 if rough else 3)

    def same_surroundings(self, before: Playback, after: Playback) -> bool:
        scenes = isinstance(before, ScenePlayback) and isinstance(after, ScenePlayback)
        return scenes and before.scene.backdrop == after.scene.backdrop  # type: ignore[attr-defined]
