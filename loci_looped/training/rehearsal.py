"""Rehearsal: transition and gate learn in code space from what was sensed, over whole clips.

To rehearse is to live through a diary again without pictures. The gate mixes what was sensed with what is expected, the
transition expects the next codes, sometimes a slot is made to imagine for a while; and what is expected is compared
with what was sensed later, wherever that was well seen. Back-propagation reaches from the last frame to the first,
which costs as much as a single picture. Nothing here knows about velocity, or that hidden things stay where they are.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from loci_looped.configs.rehearsal import RehearsalConfig
from loci_looped.model import LociLooped, Regime
from loci_looped.model.gate import blend
from loci_looped.model.state import Sight, SlotCodes
from loci_looped.training.diary import Diary
from loci_looped.training.recognition import Targets, targets_of

SIZE_UNIT, PRIORITY_UNIT = 0.02, 0.1
"""Errors of size and priority count in these units, those of places in units of Huber's corner."""


@dataclass(frozen=True)
class Lived:
    """A diary lived through: (T, B, K, ...) each."""

    expected: SlotCodes         # at frame t what was expected of frame t + 1
    percept: SlotCodes
    alpha: Tensor               # (T, B, K, 2) the gate: gestalt, position
    wanted: Tensor              # (T, B, K, 2) the same before slots were made to imagine


def live(
    model: LociLooped, diary: Diary, hold: Tensor, *, learned: bool, noise: float = 0.0, follows: bool = True,
    backward: int = 0, generator: torch.Generator | None = None, shut_in_the_dark: bool = False,
    unlooped: bool = False,
) -> Lived:
    """Go through a diary frame by frame; `hold` (T, B, K) slots imagine, others perceive.

    learned: the gate decides; otherwise it is open. noise: on sensed places. follows: what is sensed of a hidden thing
    lies where the slot looks; as the slot now looks elsewhere than when the diary was written, the reading is moved
    along as far as the thing was hidden. A reading that stayed would be a hint nobody gets. backward: gradients go
    back through so many frames; 0 is all of them. shut_in_the_dark: slots imagine in black frames, whatever the gate
    says. unlooped: what the open gate of Loci-Unlooped is shown enters, the dark included.
    """
    regime = Regime(learning=True, generator=generator)
    places = diary.sensed.position
    if noise and generator is not None:
        places = places + noise * torch.randn(places.shape, generator=generator, device=places.device)
    memory = model.transition.initial_memory(places.new_zeros(()), diary.clips)
    readings = [SlotCodes(*leaves) for leaves in zip(
        diary.sensed.gestalt.unbind(0), places.unbind(0), diary.sensed.size.unbind(0),
        diary.sensed.priority.unbind(0), strict=True,
    )]
    if (shut_in_the_dark or not learned) and not unlooped:
        hold = hold | diary.dark        # an open gate would let the dark in
    listens = (~(hold & diary.bound)).to(places.dtype).unsqueeze(-1).expand(-1, -1, -1, 2).unbind(0)
    bound, looked_at, assigned = diary.bound.unbind(0), diary.looked_at.unbind(0), diary.assigned.unbind(0)
    occlusion, occlusion_expected = diary.occlusion.unbind(0), diary.occlusion_expected.unbind(0)
    predicted: SlotCodes | None = None
    before: SlotCodes | None = None
    expected, percepts, alphas, wanted = [], [], [], []
    for t, sensed in enumerate(readings):
        if backward and t % backward == 0 and predicted is not None:
            predicted, memory = predicted.detach(), memory.detach()
        previous = sensed if predicted is None else predicted.where(bound[t], sensed)
        if follows:
            elsewhere = (previous.position - looked_at[t]).detach() * (occlusion[t] * bound[t]).unsqueeze(-1)
            sensed = dataclasses.replace(sensed, position=sensed.position + elsewhere)
        sight = Sight(sensed, previous, occlusion[t], bound[t], None)
        free = alpha = listens[t]
        if learned:
            earlier = previous if before is None else before
            free = torch.where(
                bound[t].unsqueeze(-1), model.gate.learned(sight, occlusion_expected[t], earlier, regime), 1.0
            )
            alpha = free * listens[t]
        percept = blend(alpha, sensed, previous)
        predicted, memory = model.transition(percept, alpha, sight, memory, assigned[t], regime, None)
        before = previous
        expected.append(predicted)
        percepts.append(percept)
        alphas.append(alpha)
        wanted.append(free)
    return Lived(_in_time(expected), _in_time(percepts), torch.stack(alphas), torch.stack(wanted))


def comparable(diary: Diary, targets: Targets) -> Tensor:
    """(T - 1, B, K) bool: where what was expected of frame t + 1 can be compared with what was sensed of it there."""
    return diary.bound[1:] & diary.bound[:-1] & targets.known[1:]


def gaps(chosen: Tensor, bound: Tensor) -> Tensor:
    """(T, B, K) bool each -> (T, B, K): at each chosen frame how many have passed since the one chosen before, or since
    the slot took its object; 0 at the others."""
    times = torch.arange(1, len(chosen) + 1, device=chosen.device).view(-1, 1, 1)
    so_far = torch.where(chosen | ~bound, times, 0).cummax(0).values
    before = torch.cat([torch.zeros_like(so_far[:1]), so_far[:-1]])
    return torch.where(chosen, times - before, 0)


def off_by(expected: Tensor, target: Tensor, config: RehearsalConfig) -> Tensor:
    """(..., 2) half images each -> (...): place errors in corners; doubtful ones count as their logarithm."""
    corner = config.corner
    far = F.smooth_l1_loss(expected, target, beta=corner, reduction="none").sum(-1) / corner
    return config.doubtful * torch.log1p(far / config.doubtful) if config.doubtful else far


def rehearse(
    model: LociLooped, diary: Diary, hold: Tensor, config: RehearsalConfig, *, learned: bool,
    generator: torch.Generator | None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """(loss, its parts and what the gates did) of living through a diary."""
    lived = live(
        model, diary, hold, learned=learned, noise=config.noise, follows=config.follows, backward=config.backward,
        generator=generator, shut_in_the_dark=config.dark_cost > 0, unlooped=config.unlooped,
    )
    targets = targets_of(diary, config)
    expected, target = lived.expected.map(lambda leaf: leaf[:-1]), targets.codes.map(lambda leaf: leaf[1:])
    chosen = comparable(diary, targets)
    weight = gaps(chosen, diary.bound[1:]).clamp(max=config.longest_gap).to(target.size.dtype)
    weight = weight / weight.sum().clamp(min=1)
    far = off_by(expected.position, target.position, config)
    bits = F.binary_cross_entropy(
        expected.gestalt.clamp(1e-4, 1 - 1e-4), target.gestalt.clamp(0, 1), reduction="none"
    ).mean(-1)
    parts = {
        "position": (weight * far).sum(),
        "size": (weight * (expected.size - target.size).abs()).sum() / SIZE_UNIT,
        "gestalt": (weight * bits).sum(),
        "priority": (weight * (expected.priority - target.priority).abs()).sum() / PRIORITY_UNIT,
    }
    loss = sum((getattr(config, f"{name}_weight") * value for name, value in parts.items()), far.new_zeros(()))
    bound = diary.bound[1:].sum().clamp(min=1)
    parts |= {"compared": chosen.sum() / bound, "met_again": (chosen & targets.met_again[1:]).sum() / bound}
    if learned:
        own = diary.bound & ~hold
        if config.dark_cost:
            own = own & ~diary.dark
            dark = (diary.bound & diary.dark).unsqueeze(-1).to(far.dtype)
            opened = (lived.wanted * dark).sum() / (2 * dark.sum()).clamp(min=1)
            loss = loss + config.dark_cost * opened
            parts["gates_in_the_dark"] = opened
        loss = loss + opening_cost(lived.alpha, own, config)
        parts |= openings(lived.alpha, own, diary.occlusion)
    return loss, parts


def opening_cost(alpha: Tensor, own: Tensor, config: RehearsalConfig) -> Tensor:
    """What open gates (T, B, K, 2) cost. The gate is a rectified tanh, so this is the paper's L0 gradient: a constant
    pressure on each open gate, none on those that are shut."""
    price = alpha.new_tensor([config.gestalt_cost, config.position_cost])
    mine = own.unsqueeze(-1).to(alpha.dtype)
    return (alpha * mine * price).sum() / mine.sum().clamp(min=1)


@torch.no_grad()
def openings(alpha: Tensor, own: Tensor, occlusion: Tensor) -> dict[str, Tensor]:
    """Mean openings of gates that were free to choose, for what is in plain sight and for what is hidden."""
    result: dict[str, Tensor] = {}
    for name, where in (("seen", occlusion < 0.1), ("hidden", occlusion > 0.9)):
        rows = (own & where).unsqueeze(-1)
        mean = (alpha * rows).sum((0, 1, 2)) / rows.sum().clamp(min=1)
        result |= {f"gestalt_gate_{name}": mean[0], f"position_gate_{name}": mean[1]}
    return result


def _in_time(codes: list[SlotCodes]) -> SlotCodes:
    names = [field.name for field in dataclasses.fields(SlotCodes)]
    return SlotCodes(**{name: torch.stack([getattr(step, name) for step in codes]) for name in names})
