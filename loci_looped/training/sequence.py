"""One training sequence: a batch of clips, step by step, as windows of truncated back-propagation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from loci_looped.configs.training import LossConfig, TrainConfig
from loci_looped.model import LociLooped, LociState, StepOutput
from loci_looped.model import losses as losses_of
from loci_looped.training.curriculum import Phase
from loci_looped.training.window import Window


@dataclass(frozen=True)
class Target:
    """What a step should paint: the frame, as much of its background as has faded in, and where the foreground is."""

    frame: Tensor       # (B, 3, H, W)
    front: Tensor       # (B, 1, H, W)

    @cached_property
    def near(self) -> Tensor:
        """(B, 1, H, W) how much objects and their outlines weigh."""
        return losses_of.objects_and_outlines(self.front)

    @staticmethod
    def of(frame: Tensor, background: Tensor, phase: Phase, colour: Tensor) -> Target:
        front = losses_of.foreground(frame, background)
        return Target(frame if phase.fade >= 1 else front * frame + (1 - front) * fade_in(frame, phase, colour), front)


def fade_in(picture: Tensor, phase: Phase, colour: Tensor) -> Tensor:
    """β of the picture, the rest plain colour."""
    return picture if phase.fade >= 1 else phase.fade * picture + (1 - phase.fade) * colour


def draw_colour(phase: Phase, like: Tensor, generator: torch.Generator) -> Tensor:
    """(B, 3, 1, 1) what the background is before it fades in: black, or any colour."""
    if phase.canvas != "colours" or phase.fade >= 1:
        return like.new_zeros(like.shape[0], 3, 1, 1)
    return torch.rand((like.shape[0], 3, 1, 1), generator=generator, device=like.device)


def unroll(
    model: LociLooped, frames: Tensor, background: Tensor, phase: Phase, config: TrainConfig,
    generator: torch.Generator,
) -> Iterator[Window]:
    """Windows of one sequence (B, T, 3, H, W). Update the network between them; the state is cut off there."""
    weights = config.loss
    if phase.name == "foreground":
        # A centring loss on the first scribbles makes slots claim the whole picture, and outlines, which are all
        # background, make empty slots cheap; both wait for objects.
        weights = dataclasses.replace(weights, centring=0.0, outlines=False, haze=0.0)
    if phase.fade >= 1 and _drawn(config.curriculum.colours_share, generator):
        phase = dataclasses.replace(phase, fade=0.0, canvas="colours")
    if phase.glimpse and not phase.still:
        frames = crop(frames, phase.glimpse, generator)
    state = model.initial(background)
    held = torch.zeros(frames.shape[0], model.config.slots, dtype=torch.long, device=frames.device)
    losses: list[Tensor] = []
    records: list[dict[str, Tensor]] = []
    to_come: Target | None = None
    times = range(-config.warm_up, frames.shape[1] - 1)
    if phase.still and config.curriculum.still_steps:
        frames, times = _one_frame_each(frames, generator), range(-config.curriculum.still_steps, 0)
    for t in times:
        warm = t < 0 or phase.still or phase.looks
        frame = frames[:, max(t, 0)]
        coming = frame if warm else frames[:, t + 1]
        held, hold = _held(held, phase, t, config, generator)
        dark = _blackout(frames, phase, t, generator)
        colour = draw_colour(phase, background, generator)
        canvas = background if phase.canvas == "released" else fade_in(background, phase, colour)
        if t >= 0 and _drawn(config.curriculum.error_dropout, generator):
            state = without_error(state, frame)
        regime = dataclasses.replace(
            phase.regime(settling=t <= 0), blackout=dark, hold=hold, canvas=canvas,
            generator=generator if config.noise else None,
        )
        state, output = (model.settle if warm else model.step)(frame, state, regime)
        seen = frame if dark is None else torch.where(dark.view(-1, 1, 1, 1), torch.zeros_like(frame), frame)
        # What was to come is now here, unless it is dark or its background has another colour.
        expected = to_come if dark is None and phase.fade >= 1 else None
        to_come = Target.of(coming, background, phase, colour)
        present = to_come if seen is coming else expected or Target.of(seen, background, phase, colour)
        parts = step_losses(output, present, to_come, weights, model.parts.position_change, warm=warm)
        losses.append(weighted(parts, weights))
        records.append(parts | vital_signs(output, coming, background, to_come.front))
        if _window_ends(t, times, phase.window, config):
            count = len(losses)
            total = torch.stack(losses).sum()
            yield Window(total / count if config.loss.mean_over_window else total, _means(records), count)
            state, losses, records = state.detach(), [], []


def _one_frame_each(frames: Tensor, generator: torch.Generator) -> Tensor:
    """(B, T, 3, H, W) -> (B, 1, 3, H, W): any frame of each clip."""
    batch, length = frames.shape[:2]
    chosen = torch.randint(length, (batch,), generator=generator, device=frames.device)
    return frames[torch.arange(batch, device=frames.device), chosen].unsqueeze(1)


def crop(frames: Tensor, length: int, generator: torch.Generator) -> Tensor:
    """(B, T, 3, H, W) -> (B, length, 3, H, W): some successive frames of each clip; of shorter clips all."""
    batch, whole = frames.shape[:2]
    if whole <= length:
        return frames
    first = torch.randint(whole - length + 1, (batch, 1), generator=generator, device=frames.device)
    chosen = first + torch.arange(length, device=frames.device)
    return frames[torch.arange(batch, device=frames.device).unsqueeze(1), chosen]


@torch.no_grad()
def _means(records: list[dict[str, Tensor]]) -> dict[str, float]:
    """Means over the steps of a window, fetched from the device at once."""
    names = list(records[-1])
    table = torch.stack([torch.stack([record[name].detach() for name in names]) for record in records])
    return dict(zip(names, table.mean(0).tolist(), strict=True))


def _window_ends(t: int, times: range, window: int, config: TrainConfig) -> bool:
    """Is this step the last of its window? What is left over at the end of a clip is a window, too, or dropped."""
    if t < 0:
        return config.warm_up_updates or t == -1 or (t - times.start) % window == window - 1
    return t % window == window - 1 or (t == times.stop - 1 and not config.curriculum.drop_rest)


def _drawn(probability: float, generator: torch.Generator) -> bool:
    """One draw for the whole batch; none where there is nothing to decide."""
    if probability == 0:
        return False
    return bool(torch.rand((), generator=generator, device=generator.device) < probability)


def without_error(state: LociState, frame: Tensor) -> LociState:
    """Withhold the error map from the coming step: the last prediction is taken to have come true."""
    return dataclasses.replace(state, next_frame=dataclasses.replace(state.next_frame, frame=frame))


def _held(
    held: Tensor, phase: Phase, t: int, config: TrainConfig, generator: torch.Generator
) -> tuple[Tensor, Tensor | None]:
    """Windows of forced imagination: (frames left per slot, who is held now)."""
    if phase.hold == 0 or t < 4:
        return held, None
    held = (held - 1).clamp(min=0)
    begins = (torch.rand(held.shape, generator=generator, device=held.device) < phase.hold) & (held == 0)
    shortest, longest = config.curriculum.hold_from, config.curriculum.hold_to
    length = torch.randint(shortest, longest + 1, held.shape, generator=generator, device=held.device)
    held = torch.where(begins, length, held)
    return held, held > 0


def _blackout(frames: Tensor, phase: Phase, t: int, generator: torch.Generator) -> Tensor | None:
    """(B,) which streams see nothing in this step; never in the first ten frames."""
    if phase.blackout == 0 or t < 10:
        return None
    return torch.rand(frames.shape[0], generator=generator, device=frames.device) < phase.blackout


def step_losses(
    output: StepOutput, present: Target, coming: Target, config: LossConfig,
    position_change: Callable[[StepOutput], Tensor], *, warm: bool,
) -> dict[str, Tensor]:
    """name -> unweighted scalar."""
    painted, expected = (
        losses_of.kept_off(decoded.frame, config.margin) for decoded in (output.present, output.next_frame)
    )
    if not config.prediction:       # nobody learns from it, so nothing has to go back through it
        expected = expected.detach()
    parts = {
        "prediction": _picture_loss(expected, coming, config),
        "reconstruction": _picture_loss(painted, present, config),
    }
    if config.centring:
        parts["centring"] = losses_of.centring(output, config.centring_above, config.cut_off_above)
    if config.haze:
        parts["haze"] = losses_of.haze(output.present.visible_masks, present.front)
    nothing = torch.zeros((), device=output.gate.device)
    parts["position_change"] = nothing if warm else position_change(output)
    if config.gestalt_change:
        parts["gestalt_change"] = nothing if warm else losses_of.gestalt_change(output)
    return parts


def _picture_loss(painted: Tensor, target: Target, config: LossConfig) -> Tensor:
    if not config.balanced:
        return losses_of.picture_loss(painted, target.frame)
    if config.outlines:
        return losses_of.object_picture_loss(painted, target.frame, target.near)
    return losses_of.balanced_picture_loss(painted, target.frame, target.front)


def weighted(parts: dict[str, Tensor], config: LossConfig) -> Tensor:
    """The sum of the loss table."""
    return sum(
        (getattr(config, name) * value for name, value in parts.items() if name != "prediction"),
        config.prediction * parts["prediction"],
    )


@torch.no_grad()
def vital_signs(output: StepOutput, coming: Tensor, background: Tensor, front: Tensor) -> dict[str, Tensor]:
    """Is the network alive? Error on the foreground (B, 1, H, W), also of the bare background; slots and gates in use.
    """
    colours_of_front = 3 * front.sum().clamp(min=1)
    bound = output.bound.to(front.dtype)
    gates = (output.gate * bound.unsqueeze(-1)).sum((0, 1)) / bound.sum().clamp(min=1)
    return {
        "foreground_error": ((output.next_frame.frame - coming).square() * front).sum() / colours_of_front,
        "bare_error": ((background - coming).square() * front).sum() / colours_of_front,
        "bound_slots": bound.sum(1).mean(),
        "gestalt_gate": gates[0],
        "position_gate": gates[1],
    }
