"""Recruiting: which slots hold an object, which are free, and where a free one looks."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loci_looped.configs.network import LociConfig

from .blocks import gaussian_map, noisy_bits
from .bookkeeping import without_unassigned
from .regime import Regime
from .state import Decoded, LociState, Registry, SlotCodes

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

    def only_assigned(self, codes: SlotCodes) -> SlotCodes:
        """Slots that were not sent anywhere sense nothing."""
        return without_unassigned(codes, self.assigned)

    def recorded(self, registry: Registry, *, settled: bool) -> Registry:
        """The registry with what recruiting keeps for the next step; once settled, bindings are final."""
        return dataclasses.replace(
            registry, visibility_trace=self.visibility_trace, countdown=self.countdown,
            settled=torch.ones_like(registry.settled) if settled else registry.settled,
        )


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


class Recruiter(nn.Module):
    """Who looks where: the registry's free slots are sent to what is not explained yet."""

    def __init__(self, config: LociConfig):
        super().__init__()
        self.config = config
        self.gestalt_mean = nn.Parameter(torch.zeros(1, config.gestalt))
        # The released network carries this vector without using it; it is kept so that its weights fit.
        self.gestalt_spread = nn.Parameter(torch.ones(1, config.gestalt))
        self.start_size = nn.Parameter(torch.zeros(1))

    def forward(self, error: Tensor, state: LociState, regime: Regime) -> Recruited:
        """`error` (B, 1, H, W) is where the last prediction failed."""
        registry, placement, generator = state.registry, regime.placement, regime.generator
        first = (state.age == 0).unsqueeze(1)                       # (B, 1)
        assigned = registry.assigned | (first & (placement != "incremental"))
        if regime.clean:
            released = (state.occlusion > 0.1) & ~first & ~registry.settled.unsqueeze(1)
            assigned = assigned & ~released
        bound, visibility_trace = self._bound(state, assigned, regime.binding_strength)

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
        unexplained = self._unexplained(error, state, bound, regime)
        countdown = registry.countdown
        if placement == "incremental":
            due = countdown <= 0
            previous, assigned = self._recruit_one(previous, assigned, bound, unexplained, due, regime)
            countdown = torch.where(due, torch.full_like(countdown, PERIOD), countdown)
        elif placement == "stochastic":
            previous = self._place(previous, self._best_of_random(error, assigned, generator), ~bound)
            assigned = torch.ones_like(assigned)
        else:
            places, found = self.drawn_by_error(unexplained, bound, regime)
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
            priority=self.start_priority(index).expand_as(like.priority),
        )

    def start_priority(self, index: Tensor) -> Tensor:
        """(K,) of slots 0, 1, 2 ..."""
        return 0 * index

    def blurs_at_random(self) -> bool:
        """Is the error map smoothed by chance, so that learning slots do not always look at the same spot?"""
        return self.training

    def _unexplained(self, error: Tensor, state: LociState, bound: Tensor, regime: Regime) -> Tensor:
        """(B, H, W): the smoothed error outside of what bound slots show."""
        sigma: Tensor | float = 1.0
        generator = regime.generator
        if generator is not None and self.blurs_at_random():
            sigma = 0.1 + 1.9 * torch.rand((), generator=generator, device=error.device, dtype=error.dtype)
        held = bound & (state.age > 0).unsqueeze(1)
        explained = self.explained(state.next_frame, held, regime)
        return (blur(error.detach(), sigma).squeeze(1) * (1 - explained)).detach()

    def explained(self, expected: Decoded, held: Tensor, regime: Regime) -> Tensor:
        """(B, H, W): how far each pixel is the matter of a slot that holds an object (B, K) already."""
        del regime
        return (expected.visible_masks.detach() * held[..., None, None]).sum(1)

    def _recruit_one(
        self, previous: SlotCodes, assigned: Tensor, bound: Tensor, unexplained: Tensor, due: Tensor, regime: Regime
    ) -> tuple[SlotCodes, Tensor]:
        """Send the next slot to the largest unexplained error, where there is any and a slot is left."""
        slots = assigned.shape[1]
        worst, where = unexplained.flatten(1).max(1)
        chosen = F.one_hot(self.next_slot(assigned, bound), slots + 1)[:, :slots].bool()
        chosen = chosen & (due & self.enough(worst, regime)).unsqueeze(1)
        places = pixel_position(where, self.config.frame, previous.position.dtype)
        return self._place(previous, places.unsqueeze(1).expand_as(previous.position), chosen), assigned | chosen

    def candidates(self, assigned: Tensor, bound: Tensor) -> Tensor:
        """(B, K) bool: a slot that looks but holds nothing is moved first, then a slot that was never used."""
        idle, unused = assigned & ~bound, ~assigned
        return idle | (unused & ~idle.any(1, keepdim=True))

    def next_slot(self, assigned: Tensor, bound: Tensor) -> Tensor:
        """(B,) the slot to send next, K where none is left."""
        candidates = self.candidates(assigned, bound)
        return torch.where(candidates.any(1), candidates.int().argmax(1), assigned.shape[1])

    def enough(self, unexplained: Tensor, regime: Regime) -> Tensor:
        """(...) bool: is there enough unexplained error to send a slot?"""
        del regime
        return unexplained > 0

    def drawn_by_error(self, unexplained: Tensor, bound: Tensor, regime: Regime) -> tuple[Tensor, Tensor]:
        raise ValueError(
            f"{regime.placement} placement goes beyond the paper, and this network has no extension: use incremental "
            "or stochastic placement."
        )

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
