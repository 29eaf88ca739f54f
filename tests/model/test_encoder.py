"""The encoder: what it is shown, where each slot looks, and its heads for size and gestalt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from parts import codes, lively_weights, permuted
from torch import Tensor, nn

from loci_looped.configs.extensions import Extensions
from loci_looped.configs.network import DecoderConfig, EncoderConfig, LociConfig
from loci_looped.model import LociLooped
from loci_looped.model.active import Active
from loci_looped.model.blocks import gaussian_map, grid
from loci_looped.model.encoder import Encoder, GlobalGestalt

Make = Callable[..., LociConfig]
Distance = Callable[[Any, Any], float]


@torch.no_grad()
@pytest.mark.parametrize("ours", [False, True], ids=["paper", "small"])
def test_encoder_slots_can_be_permuted(tiny: Make, distance: Distance, ours: bool) -> None:
    torch.manual_seed(0)
    beyond = Extensions(own_place=True, attended_gestalt=True, bounded_size=0.15) if ours else Extensions()
    encoder = LociLooped(tiny(extensions=beyond)).encoder.double().eval()
    lively_weights(encoder)
    height, width = encoder.config.frame
    frame, error = torch.rand(2, 3, height, width).double(), torch.rand(2, 1, height, width).double()
    masks = torch.softmax(torch.randn(2, 4, height, width).double(), 1)
    objects, whole = torch.randn(2, 3, 3, height, width).double(), torch.rand(2, 3, height, width).double()
    before, order = codes(encoder.config), [1, 2, 0]
    active = Active.of(torch.ones(2, 3, dtype=torch.bool))
    sensed = encoder(frame, error, masks, objects, before, whole, active, None)
    other = encoder(
        frame, error, masks[:, [*order, 3]], permuted(objects, order), permuted(before, order), permuted(whole, order),
        active, None,
    )
    assert distance(permuted(sensed, order), other) < 1e-12
    assert distance(sensed.position[:, 0], sensed.position[:, 1]) > 1e-6


@torch.no_grad()
def test_order_of_the_encoders_input(tiny: Make) -> None:
    encoder = Encoder(tiny(colour_order="bgr")).double()
    height, width = encoder.config.frame
    frame = torch.stack([torch.full((height, width), c) for c in (0.1, 0.2, 0.3)]).unsqueeze(0).double()
    error = torch.full((1, 1, height, width), 0.4).double()
    masks = torch.tensor([0.5, 0.1, 0.2, 0.2]).double().view(1, 4, 1, 1).expand(-1, -1, height, width)
    objects = torch.arange(9.0).double().view(1, 3, 3, 1, 1).expand(-1, -1, -1, height, width)
    whole = torch.tensor([0.6, 0.7, 0.8]).double().view(1, 3, 1, 1).expand(-1, -1, height, width)
    before = codes(encoder.config, batch=1)
    x = encoder._inputs(frame, error, masks, objects, before, whole, Active.of(torch.ones(1, 3, dtype=torch.bool)))
    assert x.shape == (3, 12, height, width)
    gaussian = gaussian_map(before.position, before.size, encoder.config.frame)[0, 1, 2, 3]
    expected = [0.3, 0.2, 0.1, 0.4, 0.1, 0.7, 0.2, 5.0, 4.0, 3.0, float(gaussian), 0.7]
    assert x[1, :, 2, 3].tolist() == pytest.approx(expected)


def test_the_forced_gain_grows_whatever_the_loss(tiny: Make) -> None:
    encoder = Encoder(tiny()).double().train()
    with torch.no_grad():
        encoder.size_growth.fill_(0.7)
    maps = torch.randn(3, 4, 5).double().requires_grad_()
    size = encoder.size(maps)
    expected = torch.sigmoid(maps.detach() - 10).mean((1, 2)) * torch.tanh(torch.tensor(0.7).double())
    torch.testing.assert_close(size.detach(), expected)
    (1000 * size.sum()).backward()
    assert encoder.size_growth.grad is not None and encoder.size_growth.grad.tolist() == [-1.0]


@pytest.mark.parametrize(("gestalt", "channels"), [(12, 6), (6, 6), (6, 12)])
def test_the_gestalt_heads_skip(gestalt: int, channels: int) -> None:
    """More bits than channels: repeated; fewer: averaged over consecutive groups."""
    config = LociConfig(
        gestalt=gestalt, latent=(4, 5), encoder=EncoderConfig(channels=channels, fine_channels=12, layers=1),
        decoder=DecoderConfig(channels=6, fine_channels=6, layers=1),
    )
    head = GlobalGestalt(config).double()
    for parameter in head.parameters():
        nn.init.zeros_(parameter)
    features = torch.rand(2, channels, 4, 5).double()
    mean = features.mean((2, 3))
    expected = mean.repeat_interleave(2, 1) if gestalt > channels else mean.view(2, gestalt, -1).mean(2)
    torch.testing.assert_close(head(features, torch.ones(2, 4, 5).double()), expected)


class NoGestalt(nn.Module):
    def forward(self, features: Tensor, attention: Tensor) -> Tensor:
        return torch.zeros(features.shape[0], 6)


def test_position_is_the_expectation_of_the_attention(tiny: Make) -> None:
    config = tiny()
    rows, columns = grid(4, torch.zeros(1)), grid(5, torch.zeros(1))
    assert rows.tolist() == pytest.approx([-1, -1 / 3, 1 / 3, 1]) and columns.tolist() == [-1, -0.5, 0, 0.5, 1]
    encoder = Encoder(config).eval()
    peak = torch.full((3, 3, 4, 5), -50.0)
    peak[:, 1, 2, 4] = 50.0
    encoder.position_blocks = nn.Identity()     # type: ignore[assignment]
    encoder.trunk = nn.Identity()               # type: ignore[assignment]
    encoder._to_latent = lambda x: peak         # type: ignore[method-assign, assignment]
    encoder.gestalt_blocks = nn.Identity()      # type: ignore[assignment]
    encoder.gestalt_head = NoGestalt()          # type: ignore[assignment]
    height, width = config.frame
    only_first = Active.of(torch.tensor([[True, False, False]]))
    sensed = encoder(
        torch.zeros(1, 3, height, width), torch.zeros(1, 1, height, width), torch.zeros(1, 4, height, width),
        torch.zeros(1, 3, 3, height, width), codes(config, batch=1).to(dtype=torch.float32),
        torch.zeros(1, 3, height, width), only_first, None,
    )
    assert sensed.position[0, 0].tolist() == pytest.approx([1 / 3, 1.0])
    assert sensed.priority[0, 0].item() == pytest.approx(-1.0)
    assert not sensed.position[0, 1:].any()


@torch.no_grad()
def test_a_slot_looks_where_others_are_not_expected(tiny: Make) -> None:
    encoder = LociLooped(tiny(extensions=Extensions(explaining_away=True))).encoder.eval()
    encoder.position_blocks = nn.Identity()     # type: ignore[assignment]
    encoder.trunk = nn.Identity()               # type: ignore[assignment]
    encoder._to_latent = lambda x: torch.zeros(3, 3, 4, 5)      # type: ignore[method-assign, assignment]
    encoder.gestalt_blocks = nn.Identity()      # type: ignore[assignment]
    encoder.gestalt_head = NoGestalt()          # type: ignore[assignment]
    height, width = encoder.config.frame
    masks = torch.zeros(1, 4, height, width)
    masks[:, 1, :, : 2 * 4] = 1                 # the second slot fills the first two of five columns of cells
    sensed = encoder(
        torch.zeros(1, 3, height, width), torch.zeros(1, 1, height, width), masks,
        torch.zeros(1, 3, 3, height, width), codes(encoder.config, batch=1).to(dtype=torch.float32),
        torch.zeros(1, 3, height, width), Active.of(torch.ones(1, 3, dtype=torch.bool)), None,
    )
    weights = torch.tensor([0.05, 0.05, 1.05, 1.05, 1.05])
    expected = float((weights * grid(5, weights)).sum() / weights.sum())
    assert sensed.position[0, :, 1].tolist() == pytest.approx([expected, 0.0, expected], abs=1e-5)
    assert sensed.position[0, :, 0].tolist() == pytest.approx([0.0] * 3, abs=1e-5)
