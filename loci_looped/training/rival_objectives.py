"""How the rivals SAVi and G-SWM learn: the loss of a crop is back-propagated at once, one update per batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from loci_looped.baselines import gswm, savi
from loci_looped.baselines.gswm import Gswm
from loci_looped.baselines.savi import Savi
from loci_looped.configs.rivals import CropTraining, GswmTraining, SaviTraining
from loci_looped.data.clip import Clip
from loci_looped.inference.network_kinds import can_imagine, frame_of, rival_video_model
from loci_looped.inference.run import evaluation_mode
from loci_looped.model.losses import foreground, objects_and_outlines
from loci_looped.training.film_validation import Findings, validate_film_slots
from loci_looped.training.objective import Config, Network, Objective, Stretch
from loci_looped.training.sequence import crop
from loci_looped.training.validation import validate_slots, write_slot_strip
from loci_looped.training.window import Window


@dataclass(frozen=True)
class Crops:
    """The circumstances of one update."""

    update: int
    length: int     # frames per crop
    blackout: float

    @property
    def name(self) -> str:
        return f"{self.length} frames"


class RivalObjective(Objective[Config, Network, Stretch]):
    """What the rivals have in common: they are looked at through the protocol of video models."""

    def frame(self, model: Network) -> tuple[int, int]:
        return frame_of(model)

    def validate(self, network: Network, clips: Sequence[Clip], phase: str) -> Findings:
        del phase
        with evaluation_mode(network):
            watching = rival_video_model(network)
            if self.config.data.folder:
                return validate_film_slots(watching, clips, imagines=can_imagine(network))
            return validate_slots(watching, clips)

    def write_strip(self, network: Network, clip: Clip, phase: str, path: Path, title: str) -> None:
        del phase
        with evaluation_mode(network):
            write_slot_strip(rival_video_model(network), clip, path, title)


class SaviObjective(RivalObjective[SaviTraining, Savi, Crops]):
    def build(self) -> Savi:
        return Savi(self.config.model)

    def phase(self, update: int, calls: int) -> Crops:
        del calls
        return crops_at(self.config, update)

    def windows(
        self, model: Savi, frames: Tensor, background: Tensor, phase: Crops, generator: torch.Generator
    ) -> Iterator[Window]:
        """SAVi is not told the background; it may be told what of the picture to paint."""
        frames = crop(frames, phase.length, generator)
        shown = darkened(frames, phase.blackout, generator)
        targets, weight, told = frames, None, self.config.loss
        if told.on_black or told.balanced:
            behind = background.unsqueeze(1).expand_as(frames).flatten(0, 1)
            front = foreground(frames.flatten(0, 1), behind)
            targets = frames * front.unflatten(0, frames.shape[:2]) if told.on_black else frames
            weight = objects_and_outlines(front).unflatten(0, frames.shape[:2]) if told.balanced else None
        loss, parts = savi.clip_loss(model, shown, generator, targets=targets, weight=weight)
        yield Window(loss, numbers_of(parts), frames.shape[1])


class GswmObjective(RivalObjective[GswmTraining, Gswm, Crops]):
    def build(self) -> Gswm:
        return Gswm(self.config.model)

    def phase(self, update: int, calls: int) -> Crops:
        del calls
        return crops_at(self.config, update)

    def windows(
        self, model: Gswm, frames: Tensor, background: Tensor, phase: Crops, generator: torch.Generator
    ) -> Iterator[Window]:
        frames = crop(frames, phase.length, generator)
        frames = darkened(frames, phase.blackout, generator)
        loss, parts = gswm.clip_loss(model, frames, phase.update, generator, background=background)
        yield Window(loss, numbers_of(parts), frames.shape[1])


def crops_at(config: CropTraining, update: int) -> Crops:
    return Crops(update, config.curriculum.length_at(update), config.curriculum.blackout)


def darkened(frames: Tensor, probability: float, generator: torch.Generator) -> Tensor:
    """The same with some frames black, never the first; nothing is drawn where there is nothing to decide."""
    if probability == 0:
        return frames
    dark = torch.rand(frames.shape[:2], generator=generator, device=frames.device) < probability
    dark[:, 0] = False
    return frames.masked_fill(dark[:, :, None, None, None], 0.0)


def numbers_of(parts: dict[str, Tensor]) -> dict[str, float]:
    """name -> scalar, fetched from the device at once."""
    return dict(zip(parts, torch.stack([part.detach().reshape(()) for part in parts.values()]).tolist(), strict=True))


