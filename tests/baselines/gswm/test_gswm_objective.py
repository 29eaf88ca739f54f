"""The loss of a clip, its curriculum, and that it can be learnt."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from gswm_parts import TINY, clip, moving_square, tiny

from loci_looped.baselines.gswm import Gswm, clip_loss
from loci_looped.baselines.gswm.objective import per_clip
from loci_looped.utils.errors import LociError


def test_the_loss_is_the_sum_of_its_terms() -> None:
    model = tiny(background="learned")
    loss, parts = clip_loss(model, clip(2, 3), 0)
    assert set(parts) == {
        "reconstruction", "kept_presence", "kept_dynamics", "found_presence", "found_depth", "found_where",
        "found_what", "found_dynamics", "background",
    }
    assert torch.allclose(loss, torch.stack(list(parts.values())).sum())
    assert not any(part.requires_grad for part in parts.values()) and loss.requires_grad
    terms = per_clip(model, clip(2, 3), 0)
    assert all(value.shape == (2,) for value in terms.values())
    assert all((value >= 0).all() for name, value in terms.items() if name != "reconstruction")


def test_every_weight_learns() -> None:
    """No weight without a gradient: several machines can train together without looking for unused ones."""
    for background in ("none", "learned", "given"):
        model = tiny(background=background)
        loss, _ = clip_loss(model, clip(2, 2), 0, background=torch.zeros(2, 3, 32, 32, dtype=torch.float64))
        loss.backward()
        assert all(parameter.grad is not None for parameter in model.parameters())


def test_any_length_and_batch() -> None:
    model = tiny()
    for batch, frames in ((1, 1), (3, 2)):
        assert torch.isfinite(clip_loss(model, clip(batch, frames), 0, torch.Generator().manual_seed(0))[0])


def test_draws_come_from_the_generator_only() -> None:
    model, frames = tiny(), clip(2, 6)
    losses = [clip_loss(model, frames, 0, torch.Generator().manual_seed(seed))[0].item() for seed in (1, 1, 2)]
    assert losses[0] == losses[1] != losses[2]
    still = [clip_loss(model, frames, 0)[0].item() for _ in range(2)]
    assert still[0] == still[1] != losses[0]


def test_discovery_is_left_out_by_chance_but_never_at_first() -> None:
    frames, generator = clip(1, 3), torch.Generator().manual_seed(0)
    always = per_clip(tiny(discovery_dropout=0.0), frames, 0)
    never = per_clip(tiny(discovery_dropout=1.0), frames, 0, generator)
    only_first = per_clip(tiny(), frames[:, :1], 0)
    assert never["found_presence"].item() == pytest.approx(only_first["found_presence"].item())
    assert always["found_presence"] > 2 * never["found_presence"]


def test_the_moving_prior_reaches_the_loss() -> None:
    frames, model = clip(1, 8), tiny(scale_prior_end=-1.75)
    one, other = (per_clip(model, frames, update)["found_where"].item() for update in (0, 10_000))
    assert one != other


def test_the_auxiliary_term_can_be_left_out() -> None:
    assert "kept_presence" not in clip_loss(tiny(presence_kl=False), clip(), 0)[1]


def test_a_given_background_must_be_given() -> None:
    with pytest.raises(LociError, match="came without one: pass background="):
        clip_loss(tiny(background="given"), clip(), 0)
    with pytest.raises(LociError, match="needs square frames, but its clip is 20 x 30"):
        clip_loss(tiny(), torch.zeros(1, 2, 3, 20, 30), 0)


def test_one_clip_can_be_learnt() -> None:
    """A square that moves: after some seconds one object is there, in its place, and paints it."""
    torch.manual_seed(1)
    config = dataclasses.replace(
        TINY, what=16, dynamics=16, hidden=32, glimpse_channels=32, pixel_std=0.1
    )
    model, frames = Gswm(config), moving_square(2)
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(120):
        loss, _ = clip_loss(model, frames, 0, generator)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    assert sum(losses[-10:]) / 10 < -4000 < 1000 < losses[0]
    state = model.initial(torch.zeros_like(frames[:, 0]))
    with torch.no_grad():
        for frame in frames.unbind(1):
            state, output = model.step(frame, state)
            assert (output.rendering.frame - frame).square().mean() < 0.3 * frame.square().mean()
            assert output.objects.presence[0, 0] > 0.9
            # The square's middle is at pixel (9.5 or 11.5, 11.5) of 32.
            assert (output.objects.where[0, 0, 2:] - torch.tensor([-0.32, -0.25])).abs().max() < 0.25
