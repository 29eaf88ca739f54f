"""Diaries: what every slot sensed while a clip was watched, so that it can be lived through again without pictures."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from loci_looped.model import GateKind, LociLooped, LociState, Regime, StepOutput
from loci_looped.model.occlusion import explained_share
from loci_looped.model.state import SlotCodes, TensorTree

Tree = TypeVar("Tree", bound=TensorTree)

SHORTEST = 8
"""Clips of fewer frames are not worth a diary: there is nothing to imagine in them."""


FIRST_DARK = 10
IN_THE_DARK = -1.0
"""In a black frame nothing is explained, not even by chance."""


@dataclass(frozen=True)
class Diary(TensorTree):
    """What was sensed in some clips, (T, B, K, ...) each: T frames, B clips, K slots."""

    sensed: SlotCodes
    occlusion: Tensor           # (T, B, K) of the present, as sensed
    occlusion_expected: Tensor     # (T, B, K) as it had been predicted for this frame
    assigned: Tensor            # (T, B, K) bool
    bound: Tensor               # (T, B, K) bool: held an object when the frame came
    explained: Tensor           # (T, B, K) share of what the slot shows that is there; IN_THE_DARK in black ones
    looked_at: Tensor           # (T, B, K, 2) the place that had been predicted, where the slot began to look

    @property
    def clips(self) -> int:
        return self.occlusion.shape[1]

    @property
    def frames(self) -> int:
        return self.occlusion.shape[0]

    @property
    def dark(self) -> Tensor:
        """(T, B, K) bool: the frame was black."""
        return self.explained < 0

    def of_clips(self, index: Tensor | slice) -> Diary:
        """Some of the clips."""
        return self.map(lambda leaf: leaf[:, index])

    def to_tensors(self) -> dict[str, Tensor]:
        """Flat and named, for a checkpoint."""
        flat: dict[str, Tensor] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, SlotCodes):
                flat |= {f"{field.name}.{f.name}": getattr(value, f.name) for f in dataclasses.fields(value)}
            else:
                flat[field.name] = value
        return flat

    @staticmethod
    def from_tensors(flat: dict[str, Tensor]) -> Diary:
        """The inverse of `to_tensors`."""
        codes = {name.removeprefix("sensed."): value for name, value in flat.items() if name.startswith("sensed.")}
        rest = {name: value for name, value in flat.items() if "." not in name}
        return Diary(sensed=SlotCodes(**codes), **rest)


def entry(before: LociState, frame: Tensor, output: StepOutput) -> Diary:
    """One step of the network as a diary of one frame (B, 3, H, W), still without the axis of time."""
    return Diary(
        explained=explained_share(output.present.visible_masks, frame, before.background),
        sensed=output.sensed, occlusion=output.occlusion, occlusion_expected=before.occlusion, assigned=output.assigned,
        bound=before.registry.bound & output.assigned, looked_at=output.previous.position,
    ).detach()


@torch.no_grad()
def record(
    model: LociLooped, frames: Tensor, background: Tensor, gate: GateKind, hold: Tensor | None, warm_up: int,
    dark: Tensor | None = None,
) -> Diary:
    """Watch clips (B, T, 3, H, W) as the network is used, and keep what was sensed.

    `hold` (T, B, K) bool: slots that are made to imagine meanwhile, so that the diary also tells what is sensed by one
    who looks at the wrong place. `dark` (T, B) bool: frames that are black; whatever the gate has learnt, slots imagine
    then, so that objects are not lost, and the diary tells what is sensed in the dark. The network is left in the mode
    it was in.
    """
    was_training = model.training
    model.eval()
    regime = Regime(gate=gate)
    state = model.warm_up(frames[:, 0], model.initial(background), warm_up, regime)
    entries = []
    for t in range(frames.shape[1]):
        before = state
        held = None if hold is None else hold[t]
        if dark is None:
            state, output = model.step(frames[:, t], state, dataclasses.replace(regime, hold=held))
            entries.append(entry(before, frames[:, t], output))
            continue
        shut = dark[t].unsqueeze(1).expand(-1, model.config.slots)
        held = shut if held is None else held | shut
        state, output = model.step(frames[:, t], state, dataclasses.replace(regime, hold=held, blackout=dark[t]))
        written = entry(before, frames[:, t], output)
        entries.append(dataclasses.replace(written, explained=written.explained.masked_fill(shut, IN_THE_DARK)))
    model.train(was_training)
    return stacked(entries)


def stacked(entries: Sequence[Diary]) -> Diary:
    """Successive frames as one diary."""
    return _combined(entries, lambda leaves: torch.stack(leaves))


def joined(diaries: Sequence[Diary]) -> Diary:
    """Diaries of equal length as one of more clips."""
    return _combined(diaries, lambda leaves: torch.cat(leaves, dim=1))


def mirrored(diary: Diary, generator: torch.Generator) -> Diary:
    """Half of the clips with left and right exchanged: codes know no other symmetry of the world."""
    flips = torch.rand(diary.clips, generator=generator, device=generator.device) < 0.5
    sign = torch.where(flips, -1.0, 1.0).to(diary.looked_at)
    factor = torch.stack([torch.ones_like(sign), sign], dim=-1).view(1, -1, 1, 2)
    return dataclasses.replace(
        diary, sensed=dataclasses.replace(diary.sensed, position=diary.sensed.position * factor),
        looked_at=diary.looked_at * factor,
    )


def repainted(diary: Diary, share: float, generator: torch.Generator) -> Diary:
    """The same films with things of other looks: in each clip this share of the gestalt's bits is exchanged, in all
    slots and from the first frame to the last, so that what looked alike still does. How things move is then not to be
    remembered by their looks."""
    shape = (diary.clips, 1, diary.sensed.gestalt.shape[-1])
    flips = (torch.rand(shape, generator=generator, device=generator.device) < share).to(diary.looked_at.device)
    gestalt = torch.where(flips, 1 - diary.sensed.gestalt, diary.sensed.gestalt)
    return dataclasses.replace(diary, sensed=dataclasses.replace(diary.sensed, gestalt=gestalt))


def turned(diary: Diary, generator: torch.Generator) -> Diary:
    """The other symmetries of the square, each in half of the clips: top and bottom, rows and columns exchanged."""
    chances = torch.rand(2, diary.clips, generator=generator, device=generator.device).to(diary.looked_at.device)
    upside_down, transposed = (chances < 0.5).view(2, 1, -1, 1, 1)

    def of(places: Tensor) -> Tensor:
        rows, columns = places.unbind(-1)
        places = torch.where(upside_down, torch.stack([-rows, columns], dim=-1), places)
        return torch.where(transposed, places.flip(-1), places)

    return dataclasses.replace(
        diary, sensed=dataclasses.replace(diary.sensed, position=of(diary.sensed.position)),
        looked_at=of(diary.looked_at),
    )


def windows(diary: Diary, frames: int, generator: torch.Generator) -> Diary:
    """So many successive frames of each clip, beginning anywhere; all of them if there are no more."""
    if frames >= diary.frames:
        return diary
    device = diary.occlusion.device
    begin = torch.randint(diary.frames - frames + 1, (diary.clips,), generator=generator, device=generator.device)
    times = begin.to(device) + torch.arange(frames, device=device).unsqueeze(1)             # (frames, B)
    clips = torch.arange(diary.clips, device=device)
    return diary.map(lambda leaf: leaf[times, clips])


def dark_frames(shape: tuple[int, int], share: float, generator: torch.Generator) -> Tensor:
    """(T, B) bool: this share of the frames is black, none of the first ten: objects must have been found."""
    dark = torch.rand(shape, generator=generator, device=generator.device) < share
    dark[:FIRST_DARK] = False
    return dark


def shut_together(holds: Tensor, share: float, shortest: int, generator: torch.Generator, first: int = 4) -> Tensor:
    """(T, B, K) bool: in this share of the clips every slot is held from a random frame on, for `shortest` frames or
    more; the others are held as `holds` says."""
    frames, clips, _ = holds.shape
    device = generator.device
    last = max(frames - shortest, first)
    begin = torch.randint(first, last + 1, (clips,), generator=generator, device=device)
    chosen = torch.rand(clips, generator=generator, device=device) < share
    later = torch.arange(frames, device=device).unsqueeze(1) >= begin                           # (T, B)
    return torch.where(chosen.view(1, -1, 1), later.unsqueeze(-1), holds)


def random_holds(
    shape: tuple[int, int, int], begins: float, shortest: int, longest: int, generator: torch.Generator,
    first: int = 4,
) -> Tensor:
    """(T, B, K) bool: windows of forced imagination that begin with this probability per frame, from frame `first` on.
    """
    frames, *rest = shape
    device = generator.device
    left = torch.zeros(rest, dtype=torch.long, device=device)
    held = []
    for t in range(frames):
        left = (left - 1).clamp(min=0)
        starts = (torch.rand(rest, generator=generator, device=device) < begins) & (left == 0) & (t >= first)
        length = torch.randint(shortest, longest + 1, rest, generator=generator, device=device)
        left = torch.where(starts, length, left)
        held.append(left > 0)
    return torch.stack(held)


def _combined(trees: Sequence[Tree], combine: Any) -> Tree:
    def of(values: list[Any]) -> Any:
        if isinstance(values[0], Tensor):
            return combine(values)
        names = [field.name for field in dataclasses.fields(values[0])]
        return type(values[0])(**{name: of([getattr(value, name) for value in values]) for name in names})

    result: Tree = of(list(trees))
    return result
