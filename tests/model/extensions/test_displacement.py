"""Speed is the trusted mean of what was seen; what is cut off says little, what is hidden nothing."""

from __future__ import annotations

import dataclasses

import torch

import loci_looped
from loci_looped.configs.presets import preset
from loci_looped.data.render.clips import make_clip
from loci_looped.model import LociLooped
from loci_looped.model.extensions.displacement import (
    IN_TRAINING,
    IN_USE,
    LEAST_SHARE,
    MOST_HIDDEN,
    Sight,
    corrected,
    trust,
)
from loci_looped.model.extensions.rules import RuleMemory
from loci_looped.model.regime import Regime

FRAME = (40, 60)


def trust_in(places: torch.Tensor, occlusion: torch.Tensor, masks: torch.Tensor | None = None,
             sight: Sight = IN_USE) -> torch.Tensor:
    """Trust in objects of no size; without masks nothing else is in sight."""
    empty = torch.zeros(*places.shape[:2], *FRAME)
    return trust(places, torch.zeros(places.shape[:2]), occlusion, empty if masks is None else masks, sight)


def at(*places: tuple[float, float]) -> torch.Tensor:
    return torch.tensor([places])


def test_what_is_wholly_seen_away_from_the_border_is_trusted() -> None:
    assert torch.equal(trust_in(at((0.0, 0.0), (0.4, -0.5)), torch.zeros(1, 2)), torch.ones(1, 2))


def test_trust_falls_with_occlusion_and_ends_before_half_of_it_is_hidden() -> None:
    hidden = torch.tensor([[0.0, MOST_HIDDEN / 2, MOST_HIDDEN, 0.5, 1.0]])
    torch.testing.assert_close(trust_in(torch.zeros(1, 5, 2), hidden), torch.tensor([[1.0, 0.5, 0.0, 0.0, 0.0]]))


def test_the_border_cuts_things_off_on_every_side() -> None:
    sides = at((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 2.0))
    torch.testing.assert_close(trust_in(sides, torch.zeros(1, 5)), torch.full((1, 5), IN_USE.at_border))
    # 6 pixels from the right border: half way through the margin, which goes from 3 to 9 pixels.
    six_pixels = at((0.0, 1 - 6 * 2 / 60))
    torch.testing.assert_close(trust_in(six_pixels, torch.zeros(1, 1)), torch.tensor([[0.5]]))
    # In training it is narrower, from 2 to 6 pixels, and what it cuts off counts for more.
    assert trust_in(six_pixels, torch.zeros(1, 1), sight=IN_TRAINING) > 0.99
    torch.testing.assert_close(
        trust_in(sides, torch.zeros(1, 5), sight=IN_TRAINING), torch.full((1, 5), IN_TRAINING.at_border)
    )


def test_places_beside_other_objects_are_not_trusted() -> None:
    masks = torch.zeros(1, 2, *FRAME)
    masks[0, 1, :, 32:] = 1.0                                    # slot 1 fills the right half
    middle_of_left, beside, far_right = (0.0, -0.5), (0.0, 0.03), (0.0, 0.5)
    none = torch.zeros(1, 2)
    assert torch.equal(trust_in(at(middle_of_left, far_right), none, masks), torch.ones(1, 2))
    assert trust_in(at(beside, far_right), none, masks)[0, 0] == 0


def test_speed_is_the_mean_of_the_steps_seen() -> None:
    """Innovations against one's own prediction, with shares 1, 1/2, 1/3, ... give the plain mean of the differences."""
    steps = torch.tensor([0.03, 0.05, 0.04, 0.02])
    place, speed, so_far = torch.tensor(0.0), torch.zeros(1, 1, 2), torch.zeros(1, 1)
    for step in steps:
        unexpected = (place + step) - (place + speed[0, 0, 1])
        speed = corrected(speed, torch.stack([torch.tensor(0.0), unexpected]).view(1, 1, 2), torch.ones(1, 1), so_far)
        place, so_far = place + step, so_far + 1
    torch.testing.assert_close(speed[0, 0], torch.stack([torch.tensor(0.0), steps.mean()]))


def test_a_slot_followed_for_long_still_learns() -> None:
    speed, off = torch.full((1, 2, 2), 0.1), torch.full((1, 2, 2), 0.05)
    after = corrected(speed, off, torch.tensor([[1.0, 0.0]]), torch.tensor([[1000.0, 0.0]]))
    torch.testing.assert_close(after[:, 0], speed[:, 0] + LEAST_SHARE * off[:, 0])
    assert torch.equal(after[:, 1], speed[:, 1])


@torch.no_grad()
def test_imagination_keeps_speed_and_the_trust_in_it() -> None:
    model = LociLooped(preset("adept-small")).eval()
    video = torch.rand(1, 6, 3, *model.config.frame, generator=torch.Generator().manual_seed(0))
    state = model.warm_up(video[:, 0], model.initial(torch.zeros_like(video[:, 0])))
    state, _ = model.observe(video, state)
    after, _ = model.imagine(state, 3)
    held = state.registry.bound & state.registry.assigned
    assert isinstance(state.memory, RuleMemory) and isinstance(after.memory, RuleMemory)
    assert torch.equal(after.memory.displacement, state.memory.displacement)
    assert torch.equal(after.memory.evidence, state.memory.evidence * held)


@torch.no_grad()
def test_speed_from_everything_trusts_whatever_enters_the_percept() -> None:
    """The same weights, the same video: who takes every place has followed its slots for one step after one step."""
    choosy = loci_looped.load("adept-small")
    small = choosy.config
    rules = dataclasses.replace(small.extensions.rules, speed_from="everything")
    eager = dataclasses.replace(small, extensions=dataclasses.replace(small.extensions, rules=rules))
    trusting = LociLooped(eager).eval()
    trusting.load_state_dict(choosy.state_dict())
    clip = make_clip("vanish-control", 1000)
    frames = torch.from_numpy(clip.frames[:13]).permute(0, 3, 1, 2).unsqueeze(0) / 255
    background = torch.from_numpy(clip.background).permute(2, 0, 1).unsqueeze(0) / 255
    evidence = []
    for model in (choosy, trusting):
        state = model.warm_up(frames[:, 0], model.initial(background))
        state, _ = model.observe(frames[:, 1:], state, Regime(gate="open"))
        held = state.registry.bound
        assert held.sum() >= 3          # the screen and the movers that have come in by now
        assert isinstance(state.memory, RuleMemory)
        evidence.append(state.memory.evidence[held])
    assert torch.equal(evidence[1], evidence[1].round())
    assert evidence[1].max() >= 12 and (evidence[0] < evidence[1]).all()
