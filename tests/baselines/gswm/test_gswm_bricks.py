"""The bricks, each against another way of computing the same."""

from __future__ import annotations

import dataclasses

import torch
from gswm_parts import TINY, clip, tiny
from torch.distributions import Bernoulli, Normal, kl_divergence
from torch.nn import functional as F

from loci_looped.baselines.gswm.discovery import overlaps
from loci_looped.baselines.gswm.distributions import Gaussian, draw_presence, presence_kl
from loci_looped.baselines.gswm.glimpses import extract, place
from loci_looped.baselines.gswm.losses import log_likelihood
from loci_looped.baselines.gswm.situation import PairMLP
from loci_looped.baselines.gswm.state import SHIFT, GswmState

DOUBLE = torch.float64


def boxes(batch: int, count: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    sides = 0.2 + 0.5 * torch.rand(batch, count, 2, generator=generator, dtype=DOUBLE)
    return torch.cat([sides, torch.rand(batch, count, 2, generator=generator, dtype=DOUBLE) - 0.5], dim=-1)


def test_glimpses_are_what_the_spatial_transformer_shows() -> None:
    picture, where = clip(2, 1)[:, 0], boxes(2, 3)
    theta = torch.zeros(6, 2, 3, dtype=DOUBLE)
    flat = where.flatten(0, 1)
    theta[:, 0, 0], theta[:, 1, 1], theta[:, :, 2] = flat[:, 0], flat[:, 1], flat[:, 2:]
    grid = F.affine_grid(theta, [6, 3, 16, 16], align_corners=False)
    expected = F.grid_sample(picture.repeat_interleave(3, 0), grid, align_corners=False)
    assert torch.allclose(extract(picture, where).flatten(0, 1), expected, atol=1e-12)


def test_a_placed_glimpse_is_seen_again_in_its_box() -> None:
    smooth = torch.linspace(0, 1, 16, dtype=DOUBLE).expand(1, 1, 1, 16, 16)
    where = torch.tensor([[[0.5, 0.5, 0.25, -0.25]]], dtype=DOUBLE)
    picture = place(smooth, where, 64)
    assert torch.allclose(extract(picture[:, 0], where)[..., 2:-2, 2:-2], smooth[..., 2:-2, 2:-2], atol=0.01)
    # Right of the middle and above it: x goes right, y goes down.
    assert picture[0, 0, 0, 24, 55] > 0.7 and picture[0, 0, 0, 48:].sum() == 0 and picture[..., :20].sum() == 0


def test_pairs_are_told_from_the_others_relative_place() -> None:
    torch.manual_seed(0)
    net = PairMLP(9, 16, 3).double()
    features = torch.randn(2, 4, 9, dtype=DOUBLE)
    mine = features[:, :, None].expand(2, 4, 4, 9)
    others = features[:, None].expand(2, 4, 4, 9).clone()
    others[..., SHIFT] = mine[..., SHIFT] - others[..., SHIFT]
    pairs = torch.cat([mine, others], dim=-1)
    expected = net.after_first(net.first(pairs))
    assert torch.allclose(net(features), expected, atol=1e-12)


def test_divergences_are_torchs() -> None:
    torch.manual_seed(0)
    one, two = (Gaussian(torch.randn(5, dtype=DOUBLE), torch.rand(5, dtype=DOUBLE) + 0.1) for _ in range(2))
    assert torch.allclose(one.kl(two), kl_divergence(Normal(one.mean, one.std), Normal(two.mean, two.std)))
    assert torch.allclose(one.kl_to(-1.5, 0.1), kl_divergence(Normal(one.mean, one.std), Normal(-1.5, 0.1)))
    probability = torch.tensor([0.2, 0.9], dtype=DOUBLE)
    expected = kl_divergence(Bernoulli(probability), Bernoulli(torch.tensor(0.01, dtype=DOUBLE)))
    assert torch.allclose(presence_kl(probability, 0.01), expected)
    assert torch.isfinite(presence_kl(torch.tensor([0.0, 1.0]), 1e-10)).all()


def test_likelihood_is_torchs() -> None:
    frame, painted = clip(2, 2).unbind(1)
    expected = Normal(painted, 0.2).log_prob(frame).flatten(1).sum(1)
    assert torch.allclose(log_likelihood(frame, painted, 0.2), expected)


def test_draws_follow_the_belief() -> None:
    generator = torch.Generator().manual_seed(0)
    belief = Gaussian(torch.full((20_000,), 2.0), torch.full((20_000,), 0.5))
    drawn = belief.draw(generator)
    assert abs(drawn.mean() - 2) < 0.02 and abs(drawn.std() - 0.5) < 0.02
    assert torch.equal(belief.draw(None), belief.mean)
    logits = torch.full((20_000,), 1.0)
    # Of a relaxed Bernoulli at any temperature, more than half happens with the Bernoulli's probability.
    for temperature in (1.0, 0.3):
        happened = (draw_presence(logits, temperature, generator) > 0.5).float().mean()
        assert abs(happened - torch.sigmoid(torch.tensor(1.0))) < 0.01
    assert torch.allclose(draw_presence(logits, 1.0, None), torch.sigmoid(logits))


def test_overlap_of_boxes() -> None:
    whole = torch.tensor([[[1.0, 1.0, 0.0, 0.0]]])
    quarter = torch.tensor([[[0.5, 0.5, 0.5, 0.5], [1.0, 1.0, 1.0, 0.0], [0.5, 0.5, 3.0, 0.0]]])
    assert torch.allclose(overlaps(whole, quarter), torch.tensor([[[0.25, 1 / 3, 0.0]]]), atol=1e-4)


def test_masks_add_up_and_the_nearer_object_covers() -> None:
    model = tiny()
    state: GswmState = model.step(clip()[:, 0], model.initial(torch.zeros_like(clip()[:, 0])))[0]
    objects = state.tracks.objects
    same_place = objects.where[:, :1].expand_as(objects.where)
    depth = torch.full_like(objects.depth, 9.0)
    depth[:, 2] = -9.0
    there = dataclasses.replace(objects, where=same_place, depth=depth, presence=torch.ones_like(objects.presence))
    picture = model.renderer(there, state.background.image)
    assert torch.allclose(picture.visible_masks.sum(1, keepdim=True), picture.coverage)
    assert (picture.visible_masks <= picture.object_masks + 1e-12).all() and (picture.coverage <= 1).all()
    assert (picture.visible_masks[:, 2].sum((1, 2)) > 0.9 * picture.object_masks[:, 2].sum((1, 2))).all()


def test_new_objects_stay_near_their_cell() -> None:
    found = tiny().discovery.boxes(torch.zeros(1, 16, 4, dtype=DOUBLE))
    assert torch.allclose(found[0, :, :2], torch.tensor(0.5, dtype=DOUBLE))
    assert torch.allclose(found[0, 0, 2:], torch.tensor([-0.75, -0.75], dtype=DOUBLE))
    assert torch.allclose(found[0, 1, 2:], torch.tensor([-0.25, -0.75], dtype=DOUBLE))     # row by row
    far = tiny().discovery.boxes(torch.full((1, 16, 4), 50.0, dtype=DOUBLE))
    assert torch.allclose(far[..., 2:] - found[..., 2:], torch.tensor(2 / TINY.cells, dtype=DOUBLE))
