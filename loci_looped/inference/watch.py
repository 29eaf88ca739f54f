"""Watching: a stream goes in, what the network makes of each frame comes out. Nothing is kept but the network's state.

    for seen in watch(model, "clip.mp4"):
        seen.percept.position       # (K, 2) where each object is, seen or hidden: y, x in [-1, 1]
        seen.surprise               # (K,) how unusual what happens to it is, in bits
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from loci_looped.configs.surprise import ROUGH
from loci_looped.data.clip import ObjectTruth
from loci_looped.data.coordinates import resize, to_pixels
from loci_looped.data.formats.images import shape_note
from loci_looped.data.formats.video import NATURAL, Selection
from loci_looped.data.presence import at_no_object
from loci_looped.inference.belief import Belief, believe_now, screen_slot, slot_on
from loci_looped.inference.pixels import to_picture, to_tensor
from loci_looped.inference.run import scan
from loci_looped.inference.stream import Frame, Picture, Watchable, background_of, open_source
from loci_looped.inference.surprise import SETTLING, Surprise, Vigilance, gathered, judged
from loci_looped.inference.video_model import LociVideoModel
from loci_looped.model import GateKind, LociLooped
from loci_looped.model.state import LociState, SlotCodes, StepOutput
from loci_looped.utils.errors import LociError, warn

FIRST_DARK = 6
"""So many frames are light in any case, as in the interruptions experiment: slots have to find their objects."""


@dataclass(frozen=True)
class FrameResult:
    """One frame and what the network makes of it. Tensors have no batch axis; K slots, H x W the network's size."""

    number: int                     # frames before this one
    time: float                     # seconds since the beginning
    picture: Picture                # the frame as the source gave it
    frame: Picture                  # (H, W, 3) the frame as the network saw it; black in a blackout
    background: Picture             # (H, W, 3) the empty scene
    expected: Picture               # (H, W, 3) what the network had predicted for this frame
    output: StepOutput              # everything, with a batch axis of 1
    belief: Belief                  # the painted percept, with a batch axis of 1
    amazement: Surprise             # in bits, with a batch axis of 1
    screen: int | None              # the slot that holds the occluder, if there seems to be one
    truth: ObjectTruth | None = None    # at the network's size, with a time axis of 1

    @property
    def percept(self) -> SlotCodes:
        """What and where each object is held to be now."""
        return _first(self.output.percept)

    @property
    def predicted(self) -> SlotCodes:
        """The same for the next frame."""
        return _first(self.output.predicted)

    @property
    def gate(self) -> Tensor:
        """(K, 2) how far the gates for gestalt and position let the eyes have their say; 0 is pure imagination."""
        return self.output.gate[0]

    @property
    def occlusion(self) -> Tensor:
        """(K,) hidden share of each object, 0 to 1."""
        return self.output.occlusion[0]

    @property
    def surprise(self) -> Tensor:
        """(K,) in bits: of 2^b ordinary films one holds something as unusual as what happens to this slot's object.

        What nobody expected is told of the slot that found it. See `inference/surprise.py`.
        """
        return self.amazement.slots[0]

    @property
    def unexpected(self) -> float:
        """In bits: the same of what is there although nobody expected it, whether a slot has found it or not."""
        return float(self.amazement.unexpected[0])

    @property
    def slot_error(self) -> Tensor:
        """(K,) the paper's S: squared error of the prediction in the slot's visible mask, per pixel of the mask."""
        # The network gives the mean over all numbers of the frame, as the released code does.
        return self.output.slot_error[0] * float(self.frame.size)

    @property
    def bound(self) -> Tensor:
        """(K,) bool: does the slot hold an object?"""
        return self.output.bound[0]

    @property
    def phantoms(self) -> Tensor | None:
        """(K,) bool: the slot believes in something that is not there. None where the truth is not known."""
        if self.truth is None:
            return None
        size = self.frame.shape[0], self.frame.shape[1]
        places = to_pixels(self.percept.position.numpy().astype(np.float64), size)
        hidden = (self.bound & (self.occlusion >= 1)).numpy()
        return self.bound & torch.from_numpy(at_no_object(places[None], hidden[None], self.truth)[0])

    def imagined(self, without: int | None = None) -> Picture:
        """(H, W, 3) the scene as believed; without the given slot, one sees what it hides."""
        shown = self.output.bound.clone()
        if without is not None:
            shown[0, without] = False
        return to_picture(self.belief.picture(to_tensor(self.background).unsqueeze(0), shown))

    @property
    def behind_the_screen(self) -> Picture:
        """(H, W, 3) the scene as believed, the screen taken away."""
        return self.imagined(self.screen)


def _first(codes: SlotCodes) -> SlotCodes:
    return codes.map(lambda leaf: leaf[0])


@dataclass(frozen=True)
class Watcher:
    """The state of one watched stream: what crosses from frame to frame. `see` gives the next one."""

    model: LociVideoModel
    background: Picture
    state: LociState
    largest: Tensor                 # (K,) the largest whole object of each slot so far
    vigilance: Vigilance
    number: int = 0
    fps: float = 25.0

    @staticmethod
    def begin(network: LociLooped, background: Picture, fps: float = 25.0, gate: GateKind = "learned") -> Watcher:
        """Before the first frame. `background` is the empty scene at the network's size."""
        model = LociVideoModel(network, gate)
        state = model.initial(to_tensor(background).unsqueeze(0))
        return Watcher(
            model, background, state, torch.zeros(network.config.slots), Vigilance.initial(state), fps=fps
        )

    @torch.no_grad()
    def see(
        self, picture: Picture, truth: ObjectTruth | None = None, blackout: bool = False, *, dream: bool = False
    ) -> tuple[Watcher, FrameResult]:
        """One time step. In a blackout the network gets a black frame and must go on by itself; in a dream it gets no
        frame at all, its gate is shut. The first frame is seen in any case."""
        network = self.model.network
        size = network.config.frame
        frame = resize(picture, size)
        given = to_tensor(frame).unsqueeze(0)
        before = self.model.settled(given, self.state)
        dream = dream and not self.state.fresh
        dark = torch.tensor([True]) if blackout and not dream else None
        state, output = self.model.observe(None if dream else given, before, blackout=dark)
        unseen = torch.tensor([True]) if blackout or dream else None
        vigilance, evidence = gathered(
            self.vigilance, before, output, given.to(before.background.device),
            None if unseen is None else unseen.to(before.background.device), settling=self.number < SETTLING,
        )
        belief = believe_now(network, output, state.background).to("cpu")
        output = output.to("cpu")
        areas = (belief.whole_masks[0] > 0.5).sum((1, 2)).float()
        largest = torch.where(output.bound[0], torch.maximum(self.largest, areas), 0.0)
        truth = truth and truth.resized(size)
        seen = FrameResult(
            number=self.number, time=self.number / self.fps, picture=picture,
            frame=np.zeros_like(frame) if blackout or dream else frame, background=self.background,
            expected=to_picture(before.next_frame.frame), output=output, belief=belief,
            amazement=judged(evidence, network.surprise_scale or ROUGH).to("cpu"),
            screen=_screen(output, belief, largest, truth), truth=truth,
        )
        return replace(self, state=state, largest=largest, vigilance=vigilance, number=self.number + 1), seen


def _screen(output: StepOutput, belief: Belief, largest: Tensor, truth: ObjectTruth | None) -> int | None:
    """Where the truth is known, the slot on the true screen, if there is one; otherwise what looks like a screen."""
    whole, bound = belief.whole_masks[0], output.bound[0]
    if truth is not None and "screen" not in truth.kinds:
        return None
    if truth is not None:
        mask = torch.from_numpy(truth.object_masks[0, truth.kinds.index("screen")])
        found = slot_on(mask, whole, bound)
        if found is not None:
            return found
    return screen_slot(largest, bound, whole.shape[1] * whole.shape[2])


def blackouts(probability: float, seed: int = 0) -> Callable[[int], bool]:
    """In which frames the lights are out: by chance, the same for the same seed, and never in the first ones."""
    if not 0 <= probability <= 1:
        raise LociError(f"A blackout has a probability between 0 and 1, not {probability:g}.")

    def dark(number: int) -> bool:
        return number >= FIRST_DARK and float(np.random.default_rng([seed, number]).random()) < probability

    return dark


def watch(
    model: LociLooped, source: Watchable, *, background: Picture | str | Path | None = None,
    occluder: str | Path = "auto",
    selection: Selection = NATURAL, blackout: Callable[[int], bool] = lambda number: False, gate: GateKind = "learned",
) -> Iterator[FrameResult]:
    """Watch a film, a folder, frames, a clip, 'vanish:seed=7' or 'camera:0', frame by frame in constant memory.

    `background` is a picture of the empty scene (or its file); without one it is known, or estimated from the stream.
    `selection` says which frames; without it, about 8 per second of a film, which is what networks are trained on.
    `occluder` is a picture that is white where something stands still and hides others; "auto" finds such things in
    films where it can be told, "none" takes them for background.
    `blackout(number)` says in which frames the network sees nothing. `gate` says how its percept gate is used.
    """
    model = model.eval()
    stream = open_source(source, selection, model.config.frame)
    for note in shape_note(stream.name, stream.size or model.config.frame, model.config.frame):
        warn(note)
    empty, stream = background_of(stream, model.config.frame, background, occluder)

    def see(frame: Frame, watcher: Watcher) -> tuple[Watcher, FrameResult]:
        return watcher.see(frame.picture, frame.truth, blackout(watcher.number))

    for _, seen in scan(see, Watcher.begin(model, empty, stream.fps, gate), stream.frames()):
        yield seen
