"""One browser tab: a world, a network's state, and the requests that move them on. Nothing here knows of the web."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from loci_looped.app.own_films import judged, occluder_part, with_occluder
from loci_looped.app.playback import ClipPlayback, Playback
from loci_looped.app.screen_world import ScreenWorld
from loci_looped.app.settings import Settings
from loci_looped.app.things import LabWorld
from loci_looped.app.wire import Part, numbers, pack
from loci_looped.inference.belief import Belief, believe, implant
from loci_looped.inference.pixels import to_bytes, to_tensor
from loci_looped.inference.verdict import Judge
from loci_looped.inference.watch import FrameResult, Watcher
from loci_looped.model.loci import LociLooped
from loci_looped.model.state import SlotCodes
from loci_looped.utils.errors import LociError

FindClip = Callable[[str], ClipPlayback]
Request = dict[str, Any]


class Session:
    """Answers requests one after the other; each answer is one packed message."""

    def __init__(
        self, model: LociLooped, settings: Settings, find_clip: FindClip, trained_on: str = "other films",
        scenes: LabWorld | None = None,
    ):
        """`scenes` is the kind of scenes that can be opened; without it those with a screen."""
        self.model = model
        self.scenes: LabWorld = scenes or ScreenWorld(model.config.frame, settings)
        self.settings = settings
        self.find_clip = find_clip
        self.trained_on = trained_on
        self.judge: Judge | None = None     # of films: whether they are of the network's world
        self.world: Playback | None = None
        self.watcher: Watcher | None = None
        self.number = 0
        self.last: FrameResult | None = None

    def answer(self, request: Request) -> bytes:
        """What is wrong with a request is told in a LociError; the session goes on as it was."""
        kinds: dict[str, Callable[[Request], bytes]] = {
            "open": self._open, "change": self._change, "next": self._next, "preview": self._preview,
            "decode": self._decode, "adopt": self._adopt,
        }
        kind = kinds.get(request["type"])
        if kind is None:
            raise LociError(f"The lab does not know the request {request['type'][:40]!r}.")
        return kind(request)

    # ------------------------------------------------------------------------------------------------ the world

    def _open(self, request: Request) -> bytes:
        """A scene or an uploaded film from its beginning, with a fresh mind."""
        if "clip" in request:
            clip = self.find_clip(str(request["clip"])[:64])
            clip.check(self.model.config.frame)
            self.world, self.judge = with_occluder(clip, request.get("occluder")), Judge(self.trained_on)
        else:
            self.world, self.judge = self.scenes.playback(request.get("scene")), None
        self.watcher, self.last, self.number = None, None, 0
        return pack(
            {"type": "opened", "length": self.world.length, "fps": self.world.fps, "size": self.model.config.frame,
             "slots": self.model.config.slots, "gestalt": self.model.config.gestalt},
            {"background": self.world.background, "view": self.world.view(0), **occluder_part(self.world)},
        )

    def _change(self, request: Request) -> bytes:
        """The world is another one from now on; the mind stays."""
        if self.world is None or isinstance(self.world, ClipPlayback):
            raise LociError("Only scenes can be changed while they run, films cannot.")
        changed = self.scenes.playback(request.get("scene"))
        if not self.scenes.same_surroundings(self.world, changed):
            raise LociError("Floor and light cannot change while the scene runs: start it anew.")
        self.world = changed
        return pack({"type": "changed", "length": changed.length})

    def _preview(self, request: Request) -> bytes:
        """A picture of a scene that is being edited; nothing else changes."""
        (frame,) = numbers([request.get("frame", 0)], 1, self.settings.scene_frames, "frame")
        view = self.scenes.preview(request.get("scene"), max(0, int(frame)), rough=request.get("rough") is True)
        return pack({"type": "preview", "frame": int(frame)}, {"view": view})

    # ------------------------------------------------------------------------------------------------ the mind

    def _next(self, request: Request) -> bytes:
        """The next frame of the world goes through the network."""
        world = self._opened()
        if self.number >= world.length:
            return pack({"type": "end"})
        picture, truth = world.shot(self.number)
        if self.watcher is None:
            self.watcher = Watcher.begin(self.model, world.background, world.fps)
        blackout, dream = request.get("blackout") is True, request.get("dream") is True
        self.watcher, seen = self.watcher.see(picture, truth, blackout, dream=dream)
        self.last, self.number = seen, self.number + 1
        header, parts = told(seen)
        header["things"] = world.things(seen.number)        # so that the page can take hold of them
        if self.judge is not None:
            header |= judged(self.judge, seen, world.view(seen.number), dark=blackout or dream)
        return pack({"type": "frame", **header}, {**parts, "view": world.view(seen.number)})

    def _decode(self, request: Request) -> bytes:
        """What would the network imagine if its codes were these? A question: nothing changes."""
        world = self._opened()
        codes, bound = self._codes(request)
        belief = believe(self.model, codes, bound, to_tensor(world.background).unsqueeze(0))
        nearness = [round(value, 4) for value in belief.nearness[0].tolist()]
        return pack({"type": "decoded", "nearness": nearness}, painted(belief, bound[0]))

    def _adopt(self, request: Request) -> bytes:
        """The network is talked into other codes for the frame it has just seen, and goes on from there."""
        if self.watcher is None or self.last is None:
            raise LociError("There is no belief yet to be changed: play at least one frame.")
        if request.get("frame") != self.last.number:
            raise LociError("Only the belief about the latest frame can be changed for good: go to that one.")
        codes, _ = self._codes(request)
        state, percept = self.watcher.state, self.last.output.percept
        bound = self.last.output.bound & state.registry.assigned
        shifted = SlotCodes(
            # A bit the user has flipped is set; the others stay as predicted.
            gestalt=torch.where((codes.gestalt - percept.gestalt).abs() > 0.25, codes.gestalt, state.predicted.gestalt),
            position=state.predicted.position + codes.position - percept.position,
            size=(state.predicted.size + codes.size - percept.size).clamp(min=0),
            priority=state.predicted.priority + codes.priority - percept.priority,
        )
        state = implant(self.model, state, shifted.where(bound, state.predicted))
        self.watcher = dataclasses.replace(self.watcher, state=state)
        return pack({"type": "adopted"})

    def _codes(self, request: Request) -> tuple[SlotCodes, torch.Tensor]:
        """The codes of all slots as the page sends them, and which of them hold something, both with a batch axis."""
        slots, gestalt = self.model.config.slots, self.model.config.gestalt
        entries = request.get("slots")
        if not isinstance(entries, list) or len(entries) != slots or not all(isinstance(e, dict) for e in entries):
            raise LociError(f"The codes of all {slots} slots are needed.")
        rows = [
            [*numbers(e.get("gestalt"), gestalt, 1.5, "gestalt"), *numbers(e.get("position"), 2, 100.0, "position"),
             *numbers([e.get("size"), e.get("priority")], 2, 1000.0, "size and priority")]
            for e in entries
        ]
        values = torch.tensor(rows, dtype=torch.float32).unsqueeze(0)
        bound = torch.tensor([[e.get("bound") is True for e in entries]])
        parts = values[..., :gestalt], values[..., gestalt : gestalt + 2], values[..., -2], values[..., -1]
        return SlotCodes(*parts), bound

    def _opened(self) -> Playback:
        if self.world is None:
            raise LociError("Open a scene or a film first.")
        return self.world


def told(seen: FrameResult) -> tuple[dict[str, Any], dict[str, Part]]:
    """One frame for the page: numbers in the header, pictures as parts."""
    percept, nearness, phantoms = seen.percept, seen.belief.nearness[0], seen.phantoms
    slots = [
        {
            "bound": bool(seen.bound[k]), "position": _rounded(percept.position[k]),
            "size": round(float(percept.size[k]), 5), "priority": round(float(percept.priority[k]), 5),
            "gestalt": _rounded(percept.gestalt[k], 3), "nearness": round(float(nearness[k]), 4),
            "occlusion": round(float(seen.occlusion[k]), 4), "gate": _rounded(seen.gate[k], 4),
            "surprise": round(float(seen.surprise[k]), 3),
            "phantom": phantoms is not None and bool(phantoms[k]),
        }
        for k in range(seen.bound.shape[0])
    ]
    header: dict[str, Any] = {"frame": seen.number, "time": round(seen.time, 3), "screen": seen.screen, "slots": slots}
    parts: dict[str, Part] = {"seen": seen.frame, "expected": seen.expected, **painted(seen.belief, seen.bound)}
    if seen.truth is not None:
        whole, visible = seen.truth.object_masks[0], seen.truth.visible_masks[0]
        header["truth"] = [
            {"name": name, "kind": kind, "whole": int(whole[o].sum()), "visible": int(visible[o].sum())}
            for o, (name, kind) in enumerate(zip(seen.truth.names, seen.truth.kinds, strict=True))
        ]
        parts["true_masks"] = whole.astype(np.uint8) + visible.astype(np.uint8)     # 0 nothing, 1 hidden, 2 seen
    return header, parts


def painted(belief: Belief, bound: torch.Tensor) -> dict[str, Part]:
    """Whole masks (N, H, W) and colours (N, H, W, 3) of the N bound slots, in their order."""
    masks = to_bytes(belief.whole_masks[0, bound])
    colours = to_bytes(belief.whole_colours[0, bound]).permute(0, 2, 3, 1)
    return {"masks": masks.numpy(), "colours": colours.contiguous().numpy()}


def _rounded(values: torch.Tensor, places: int = 5) -> list[float]:
    return [round(value, places) for value in values.tolist()]
