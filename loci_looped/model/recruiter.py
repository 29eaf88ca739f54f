"""Recruiting: which slots hold an object, which are free, and where a free one looks."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.network import LociConfig, Placement

from .blocks import gaussian_map, noisy_bits
from .state import LociState, SlotCodes

PERIOD = 2
"""A slot is recruited every other step."""

EVEN_STEPS = (0.7548776662466927, 0.5698402909980532)
"""Multiples of these, modulo 1, fill the unit square evenly (powers of the plastic number's inverse)."""


@dataclasses.dataclass(frozen=True)
class Recruited:
    previous: SlotCodes     # the prediction for this frame, free slots placed anew
    assigned: Tensor        # (B, K) bool
    bound: Tensor           # (B, K) bool, at the beginning of this step
    visibility_trace: Tensor       # (B, K)
    countdown: Tensor       # (B,)


def blur(error: Tensor, sigma: Tensor | float = 1.0) -> Tensor:
    """(B, 1, H, W) smoothed by a 13 x 13 Gaussian, mirrored at the border."""
    reach = min(6, error.shape[2] - 1, error.shape[3] - 1)
    offsets = torch.arange(-reach, reach + 1, dtype=error.dtype, device=error.device)
    kernel = torch.exp(-0.5 * (offsets / sigma).square())
    kernel = kernel / kernel.sum()
    padded = F.pad(error, (reach,) * 4, mode="reflect")
    return F.conv2d(F.conv2d(padded, kernel.view(1, 1, -1, 1)), kernel.view(1, 1, 1, -1))


def pixel_position(index: Tensor, shape: tuple[int, int], dtype: torch.dtype) -> Tensor:
    """Flat pixel index (...) -> (y, x) in [-1, 1], (..., 2)."""
    height, width = shape
    row, column = (index // width).to(dtype), (index % width).to(dtype)
    return torch.stack([2 * row / (height - 1) - 1, 2 * column / (width - 1) - 1], dim=-1)


class Recruiting(nn.Module):
    def __init__(self, config: LociConfig):
        super().__init__()
        self.config = config
        self.gestalt_mean = nn.Parameter(torch.zeros(1, config.gestalt))
        # The released network carries this vector without using it; it is kept so that its weights fit.
        self.gestalt_spread = nn.Parameter(torch.ones(1, config.gestalt))
        self.start_size = nn.Parameter(torch.zeros(1))

    def forward(
        self, error: Tensor, state: LociState, *, placement: Placement, binding_strength: float, clean: bool,
        generator: torch.Generator | None,
    ) -> Recruited:
        """`error` (B, 1, H, W) is where the last prediction failed; `clean` lets occluded slots go while unsettled."""
        registry = state.registry
        first = (state.age == 0).unsqueeze(1)                       # (B, 1)
        assigned = registry.assigned | (first & (placement != "incremental"))
        if clean:
            released = (state.occlusion > 0.1) & ~first & ~registry.settled.unsqueeze(1)
            assigned = assigned & ~released
        bound, visibility_trace = self._bound(state, assigned, binding_strength)

        predicted, fresh = state.predicted, self._fresh_codes(state.predicted, generator)
        previous = predicted.where(bound, fresh)
        # A slot that is assigned but has not bound anything goes on looking where it looked.
        stays = bound | (assigned & ~first) if placement == "incremental" else bound
        stays = stays & ~first
        previous = dataclasses.replace(
            previous,
            position=torch.where(stays.unsqueeze(-1), predicted.position, fresh.position),
            size=torch.where(stays, predicted.size, fresh.size),
        )
        unexplained = self._unexplained(error, state, bound, generator)
        countdown = registry.countdown
        if placement == "incremental":
            due = countdown <= 0
            previous, assigned = self._recruit_one(previous, assigned, bound, unexplained, due)
            countdown = torch.where(due, torch.full_like(countdown, PERIOD), countdown)
        elif placement == "stochastic":
            previous = self._place(previous, self._best_of_random(error, assigned, generator), ~bound)
            assigned = torch.ones_like(assigned)
        else:
            places, found = self._drawn_by_error(unexplained, bound, generator)
            previous = self._place(previous, places, ~bound)
            assigned = bound | found
        return Recruited(without_unassigned(previous, assigned), assigned, bound, visibility_trace, countdown - 1)

    def _bound(self, state: LociState, assigned: Tensor, strength: float) -> tuple[Tensor, Tensor]:
        """Early in training a binding must be renewed by visibility (strength < 1), later it holds."""
        registry = state.registry
        if strength >= 1:
            return registry.bound & assigned, registry.visibility_trace
        seen = state.next_frame.visible_masks.detach().amax((2, 3))
        seen = torch.where((state.age == 0).unsqueeze(1), torch.zeros_like(seen), seen)
        threshold = self.config.recruiting.bound_threshold
        if strength <= 0:
            visibility_trace = seen
        else:
            faded = F.relu((threshold - seen) * (1 - strength))
            visibility_trace = torch.maximum(registry.visibility_trace, seen) - faded
        return (visibility_trace > threshold) & assigned, visibility_trace

    def _fresh_codes(self, like: SlotCodes, generator: torch.Generator | None) -> SlotCodes:
        """What a slot starts with: an undecided gestalt at the upper left corner."""
        probability = torch.sigmoid(self.gestalt_mean).expand_as(like.gestalt)
        index = torch.arange(like.priority.shape[1], dtype=like.priority.dtype, device=like.priority.device)
        return SlotCodes(
            gestalt=noisy_bits(probability, generator),
            position=-torch.ones_like(like.position),
            size=torch.zeros_like(like.size),
            # The released code starts slot k at 25 k, a left-over that puts late slots in front of everything.
            priority=(25 * index if self.config.official else 0 * index).expand_as(like.priority),
        )

    def _unexplained(self, error: Tensor, state: LociState, bound: Tensor, generator: torch.Generator | None) -> Tensor:
        """(B, H, W): the smoothed error outside of what bound slots show."""
        sigma: Tensor | float = 1.0
        if generator is not None and (self.training or self.config.official):
            sigma = 0.1 + 1.9 * torch.rand((), generator=generator, device=error.device, dtype=error.dtype)
        held = bound & (state.age > 0).unsqueeze(1)
        explained = (state.next_frame.visible_masks.detach() * held[..., None, None]).sum(1)
        return (blur(error.detach(), sigma).squeeze(1) * (1 - explained)).detach()

    def _recruit_one(
        self, previous: SlotCodes, assigned: Tensor, bound: Tensor, unexplained: Tensor, due: Tensor
    ) -> tuple[SlotCodes, Tensor]:
        """Send the next slot to the largest unexplained error, where there is any and a slot is left."""
        slots = assigned.shape[1]
        worst, where = unexplained.flatten(1).max(1)
        if self.config.official:
            # By counting, which presumes that slots are used from the front without gaps.
            num_assigned, num_bound = assigned.sum(1), bound.sum(1)
            target = torch.where(num_assigned > num_bound, num_bound, num_assigned)
        else:
            # A slot that looks but holds nothing is moved first, then a slot that was never used.
            idle, unused = assigned & ~bound, ~assigned
            candidates = idle | (unused & ~idle.any(1, keepdim=True))
            first, last = candidates.int().argmax(1), slots - 1 - candidates.flip(1).int().argmax(1)
            next_one = last if self.config.recruiting.newcomers == "behind" else first
            target = torch.where(candidates.any(1), next_one, slots)
        enough = worst > self._minimum_error()
        chosen = F.one_hot(target, slots + 1)[:, :slots].bool() & (due & enough).unsqueeze(1)
        places = pixel_position(where, self.config.frame, previous.position.dtype)
        return self._place(previous, places.unsqueeze(1).expand_as(previous.position), chosen), assigned | chosen

    def _minimum_error(self) -> float:
        config = self.config.recruiting
        return config.minimum_error if self.training else config.minimum_error_in_use or config.minimum_error

    def _place(self, codes: SlotCodes, places: Tensor, chosen: Tensor) -> SlotCodes:
        return dataclasses.replace(
            codes,
            position=torch.where(chosen.unsqueeze(-1), places, codes.position),
            size=torch.where(chosen, self.start_size.to(codes.size.dtype), codes.size),
        )

    def _best_of_random(self, error: Tensor, assigned: Tensor, generator: torch.Generator | None) -> Tensor:
        """(B, K, 2): of ten uniform places per slot the one whose Gaussian catches most error.

        Without a generator the places are spread evenly instead of drawn, each slot having ten of its own.
        """
        (batch, slots), count = assigned.shape, self.config.recruiting.candidates
        shape = (batch, slots, count, 2)
        if generator is None:
            number = torch.arange(1, slots * count + 1, dtype=error.dtype, device=error.device).view(slots, count, 1)
            drawn = (0.5 + number * error.new_tensor(EVEN_STEPS)).remainder(1).expand(shape)
        else:
            drawn = torch.rand(shape, generator=generator, device=error.device, dtype=error.dtype)
        places = 2 * drawn - 1
        maps = gaussian_map(places, torch.zeros_like(places[..., 0]), self.config.frame)
        caught = torch.einsum("bknhw,bhw->bkn", maps, error.detach().squeeze(1))
        best = caught.argmax(2)[..., None, None].expand(-1, -1, 1, 2)
        return places.gather(2, best).squeeze(2)

    def _drawn_by_error(
        self, unexplained: Tensor, bound: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """Places (B, K, 2) drawn with probability ~ error², and whether there was error left (B, K) for each slot.

        Without a generator each slot takes the place of the largest error that is left.
        """
        shape = self.config.frame
        rows = torch.arange(shape[0], dtype=unexplained.dtype, device=unexplained.device).view(1, -1, 1)
        columns = torch.arange(shape[1], dtype=unexplained.dtype, device=unexplained.device).view(1, 1, -1)
        places, found = [], []
        for k in range(bound.shape[1]):
            flat = unexplained.flatten(1)
            if generator is None:
                index = flat.argmax(1)
            else:
                index = torch.multinomial(flat.square() + 1e-9, 1, generator=generator).squeeze(1)
            places.append(pixel_position(index, shape, unexplained.dtype))
            found.append(flat.amax(1) > self._minimum_error())
            row, column = (index // shape[1]).view(-1, 1, 1), (index % shape[1]).view(-1, 1, 1)
            distance = (rows - row).square() + (columns - column).square()
            suppressed = unexplained * (1 - torch.exp(-distance / (2 * self.config.recruiting.suppression**2)))
            unexplained = torch.where(bound[:, k].view(-1, 1, 1), unexplained, suppressed)
        return torch.stack(places, 1), torch.stack(found, 1)


def without_unassigned(codes: SlotCodes, assigned: Tensor) -> SlotCodes:
    """Slots that are not in use: nothing, nowhere."""
    used = assigned.to(codes.gestalt.dtype)
    wide = used.unsqueeze(-1)
    return SlotCodes(
        gestalt=codes.gestalt * wide,
        position=codes.position * wide - (1 - wide),
        size=codes.size * used - (1 - used),
        priority=codes.priority * used,
    )
