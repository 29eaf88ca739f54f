"""The boxes by themselves, against PyTorch's own where it has them."""

from __future__ import annotations

import math

import torch
from savi_material import TINY
from torch import nn
from torch.distributions import Normal, kl_divergence

from loci_looped.baselines.savi.blocks import coordinate_grid
from loci_looped.baselines.savi.decoder import BroadcastDecoder
from loci_looped.baselines.savi.encoder import FrameEncoder
from loci_looped.baselines.savi.losses import kernel_divergence, reconstruction_loss
from loci_looped.baselines.savi.predictor import MlpPredictor, TransformerLayer
from loci_looped.baselines.savi.slot_attention import SlotAttention
from loci_looped.baselines.savi.state import Kernel
from loci_looped.configs.savi import CorrectorConfig, PredictorConfig


def test_cells_know_how_far_they_are_from_each_side() -> None:
    grid = coordinate_grid(3, 5, torch.zeros(()))
    assert grid[0, 0].tolist() == [0, 0, 1, 1]
    assert grid[1, 4].tolist() == [0.5, 1, 0.5, 0]


def test_tokens_run_row_by_row() -> None:
    """A change in one corner reaches the tokens around it and no others."""
    torch.manual_seed(0)
    encoder = FrameEncoder(TINY.encoder)
    frame = torch.zeros(1, 3, 16, 24)
    changed = frame.clone()
    changed[..., 0, 23] = 1
    far = (encoder(changed) - encoder(frame)).abs().sum(-1)[0].view(16, 24)
    assert far[0, 23] > 0 and far[:, :12].max() == 0 and far[8:].max() == 0


def test_slots_compete_for_tokens() -> None:
    """Each slot's claims sum to one over the tokens; before that, the slots share each token out."""
    torch.manual_seed(0)
    attention = SlotAttention(8, 16, 6, CorrectorConfig(epsilon=1e-6))
    keys, queries = torch.randn(2, 10, 8), torch.randn(2, 3, 8)
    claims = attention._claims(keys, queries)
    torch.testing.assert_close(claims.sum(dim=2), torch.ones(2, 3))
    shares = (torch.einsum("bnd,bkd->bkn", keys, queries) / math.sqrt(8)).exp()
    shares = shares / shares.sum(dim=1, keepdim=True) + 1e-6
    torch.testing.assert_close(claims, shares / shares.sum(dim=2, keepdim=True))


def test_slot_attention_survives_half_precision() -> None:
    attention = SlotAttention(8, 16, 6, CorrectorConfig()).to(torch.bfloat16)
    corrected = attention(torch.randn(1, 4000, 6).bfloat16(), torch.randn(1, 3, 8).bfloat16())
    assert corrected.dtype == torch.bfloat16 and bool(corrected.isfinite().all())


def test_the_mlp_predictor_passes_on_the_normalised_slot() -> None:
    predictor = MlpPredictor(8, 16)
    for parameter in predictor.perceptron.parameters():
        nn.init.zeros_(parameter)
    slots = 3 + 2 * torch.randn(2, 3, 8)
    ahead, memory = predictor(slots, ())
    torch.testing.assert_close(ahead, nn.functional.layer_norm(slots, (8,)))
    assert memory == ()


def test_a_transformer_layer_is_pytorchs() -> None:
    torch.manual_seed(0)
    ours = TransformerLayer(16, PredictorConfig(kind="transformer", heads=4, feed_forward=24))
    theirs = nn.TransformerEncoderLayer(16, 4, 24, norm_first=True, batch_first=True).eval()
    with torch.no_grad():
        for mine, yours in (
            (ours.attention_norm, theirs.norm1), (ours.feed_forward_norm, theirs.norm2), (ours.linear1, theirs.linear1),
            (ours.linear2, theirs.linear2), (ours.project_out, theirs.self_attn.out_proj),
        ):
            for a, b in zip(mine.parameters(), yours.parameters(), strict=True):
                b.copy_(a)
        theirs.self_attn.in_proj_weight.copy_(ours.project_in.weight)
        theirs.self_attn.in_proj_bias.copy_(ours.project_in.bias)
    slots = torch.randn(2, 5, 16)
    torch.testing.assert_close(ours(slots, None), theirs(slots))


def test_dropout_keeps_the_mean() -> None:
    layer = TransformerLayer(16, PredictorConfig(kind="transformer", dropout=0.25)).train()
    dropped = layer._dropped(torch.ones(20_000), torch.Generator().manual_seed(0))
    assert set(dropped.tolist()) == {0.0, torch.tensor(4 / 3).item()}
    assert abs(dropped.mean().item() - 1) < 0.02


def test_the_decoder_tells_slots_apart_by_their_logits() -> None:
    """A slot whose logit is far above the others' is alone in the picture."""
    torch.manual_seed(0)
    decoder = BroadcastDecoder(TINY)
    decoded = decoder(torch.randn(1, 3, TINY.slot_width))
    torch.testing.assert_close(decoded.visible_masks, decoded.mask_logits.softmax(dim=1))
    alone = decoder(torch.randn(1, 1, TINY.slot_width))
    torch.testing.assert_close(alone.reconstruction, alone.colours[:, 0])


def test_the_divergence_is_that_of_two_gaussians() -> None:
    torch.manual_seed(0)
    mean, log_variance = torch.randn(2, 4, 3, 8), torch.randn(2, 4, 3, 8)
    expected = kl_divergence(Normal(mean, torch.exp(log_variance / 2)), Normal(mean, 0.1)).sum(-1).mean()
    torch.testing.assert_close(kernel_divergence(log_variance, 0.01), expected)
    assert kernel_divergence(torch.full((2, 3), math.log(0.01)), 0.01).abs() < 1e-6


def test_the_reconstruction_loss_is_a_plain_mean() -> None:
    assert reconstruction_loss(torch.ones(2, 3), torch.full((2, 3), 3.0)).item() == 4


def test_kernels_are_drawn_as_wide_as_they_say() -> None:
    kernel = Kernel(torch.full((1, 1, 50_000), 2.0), torch.full((1, 1, 50_000), math.log(0.25)))
    drawn = kernel.sample(torch.Generator().manual_seed(0))
    assert abs(drawn.mean().item() - 2) < 0.01 and abs(drawn.std().item() - 0.5) < 0.01
