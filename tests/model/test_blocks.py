"""The bricks of encoder and decoder, by hand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from loci_looped.model.blocks import PatchDown, PatchUp, ResidualBlock, binarise, channel_skip, gaussian_map, grid


def test_channel_skip_by_hand() -> None:
    x = torch.arange(4.0).view(1, 4, 1, 1)
    assert channel_skip(x, 4) is x
    assert channel_skip(x, 8).flatten().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert channel_skip(x, 2).flatten().tolist() == [0.5, 2.5]
    assert channel_skip(x, 6).flatten().tolist() == [0.5, 0.5, 0.5, 2.5, 2.5, 2.5]


@given(
    st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.floats(-0.2, 1.2), st.integers(2, 12), st.integers(2, 12)
)
def test_gaussian_map_is_the_formula(y: float, x: float, size: float, rows: int, columns: int) -> None:
    ours = gaussian_map(torch.tensor([y, x]).double(), torch.tensor(size).double(), (rows, columns))
    cy, cx, s = (torch.tensor(v).double() for v in (min(max(y, -1), 1), min(max(x, -1), 1), min(max(size, 0), 1)))
    tau_r, tau_c = (1 + max(rows, columns) * s) / rows, (1 + max(rows, columns) * s) / columns
    for i in range(rows):
        for j in range(columns):
            dy, dx = 2 * i / (rows - 1) - 1 - cy, 2 * j / (columns - 1) - 1 - cx
            expected = torch.exp(-(dy**2) / (2 * tau_r**2) - dx**2 / (2 * tau_c**2))
            assert abs(float(ours[i, j] - expected)) < 1e-6


@given(st.integers(2, 20), st.sampled_from([1, 4, 16]))
def test_aligned_cells_lie_on_the_middle_of_their_pixels(cells: int, covered: int) -> None:
    pixels = cells * covered
    where = (grid(cells, torch.zeros(0).double(), pixels) + 1) / 2 * (pixels - 1)
    middles = [covered * j + (covered - 1) / 2 for j in range(cells)]
    torch.testing.assert_close(where, torch.tensor(middles).double())


def test_an_aligned_gaussian_has_the_same_middle_at_both_resolutions() -> None:
    """Painted on the latent grid and blown up, an object lies where its place says; on the stretched grid it does not.
    """
    place, size = torch.tensor([0.3, 0.7]).double(), torch.tensor(0.05).double()

    def middle(frame: tuple[int, int] | None) -> torch.Tensor:
        blown_up = gaussian_map(place, size, (10, 15), frame).repeat_interleave(4, 0).repeat_interleave(4, 1)
        rows, columns = (grid(n, blown_up) for n in (40, 60))
        return torch.stack([(blown_up.sum(1) * rows).sum(), (blown_up.sum(0) * columns).sum()]) / blown_up.sum()

    off = (middle((40, 60)) - place).abs() * torch.tensor([19.5, 29.5]).double()         # in pixels
    assert float(off.max()) < 0.15
    stretched = (middle(None) - place).abs() * torch.tensor([19.5, 29.5]).double()
    assert float(stretched.max()) > 0.4


def test_a_place_outside_of_the_image_gets_no_gradient() -> None:
    position = torch.tensor([[1.2, 0.3]], requires_grad=True)
    gaussian_map(position, torch.zeros(1), (4, 4)).sum().backward()
    assert position.grad is not None and position.grad[0, 0] == 0 and position.grad[0, 1] != 0


def test_blocks_start_as_their_skips() -> None:
    torch.manual_seed(0)
    x = torch.rand(2, 12, 8, 8).double()
    down = PatchDown(12, 24, gain=0.0).double()
    expected = x.view(2, 12, 2, 4, 2, 4).mean((3, 5)).repeat_interleave(2, 1)
    torch.testing.assert_close(down(x), expected)
    up = PatchUp(12, 3).double()
    nn.init.zeros_(up.gain)
    coarse = x.view(2, 3, 4, 8, 8).mean(2)
    torch.testing.assert_close(up(x), coarse.repeat_interleave(4, 2).repeat_interleave(4, 3))
    block = ResidualBlock(12, 12, gain=1e-12).double()
    torch.testing.assert_close(block(x), x, atol=1e-10, rtol=0)


def test_residual_block_by_hand() -> None:
    block = ResidualBlock(1, 1, kernel=1)
    with torch.no_grad():
        for conv, weight, bias in ((block.conv1, 2.0, 0.5), (block.conv2, -1.0, 0.25)):
            conv.weight.fill_(weight)
            conv.bias.fill_(bias)
        x = torch.tensor([-1.0, 3.0]).view(2, 1, 1, 1)
        # branch = -relu(2 relu(x) + 0.5) + 0.25
        assert block(x).flatten().tolist() == [-1.0 - 0.5 + 0.25, 3.0 - 6.5 + 0.25]
        bare = ResidualBlock(1, 1, kernel=1, leading_relu=False)
        bare.load_state_dict(block.state_dict())
        assert bare(x).flatten().tolist() == [-1.0 - 0.0 + 0.25, 3.0 - 6.5 + 0.25]


def test_binarise() -> None:
    logits = torch.tensor([-3.0, 0.1, 2.0])
    assert binarise(logits, training=False, generator=None).tolist() == [0, 1, 1]
    assert torch.equal(binarise(logits, training=True, generator=None), torch.sigmoid(logits))
    many = torch.zeros(20_000)
    noisy = binarise(many, training=True, generator=torch.Generator().manual_seed(0))
    assert noisy.mean().item() == pytest.approx(0.5, abs=0.01) and noisy.std().item() == pytest.approx(0.25, abs=0.01)


@torch.no_grad()
def test_inputs_can_be_told_apart_from_the_start() -> None:
    """12 channels on 32: the skip averages red, green and blue; afterwards each output is one input's block mean."""
    down = PatchDown(12, 32, gain=0.5)
    down.conv.weight.zero_()
    down.conv.bias.zero_()                                                              # type: ignore[union-attr]
    red = torch.zeros(1, 12, 4, 4)
    red[:, 0] = 1.0
    assert down(red).flatten().unique().tolist() == pytest.approx([0, 1 / 3]), "grey"
    down.tell_inputs_apart()
    torch.testing.assert_close(down(red).flatten(), torch.tensor([float(j % 12 == 0) for j in range(32)]))


@torch.no_grad()
def test_outputs_can_be_told_apart_from_the_start() -> None:
    """Channel j speaks for colour j mod 3, against the others; what speaks for all gives what the skip gives: grey."""
    up = PatchUp(32, 3)
    for weight in (up.conv.weight, up.conv.bias, up.spread.weight, up.spread.bias):
        weight.zero_()                                                                  # type: ignore[union-attr]
    for_green = torch.zeros(1, 32, 1, 1)
    for_green[:, 1::3] = 1.0
    assert up(for_green).mean((0, 2, 3)).unique().numel() == 1, "grey"
    up.tell_outputs_apart()
    red, green, blue = up(for_green).mean((0, 2, 3)).tolist()
    assert green > red + 1 and red == pytest.approx(blue)
    red, green, blue = up(torch.ones(1, 32, 1, 1)).mean((0, 2, 3)).tolist()
    assert max(red, green, blue) - min(red, green, blue) < 0.4
