"""The loss of a clip, and that it can be learnt."""

from __future__ import annotations

import time

import pytest
import torch
from savi_material import BOTH, TINY, TINY_TRANSFORMER, drawn_clip, noise_clip

from loci_looped.baselines.savi import Savi, clip_loss
from loci_looped.utils.errors import LociError


def test_the_loss_is_the_sum_of_its_weighted_parts() -> None:
    torch.manual_seed(0)
    model, frames = Savi(TINY), noise_clip(TINY)
    loss, parts = clip_loss(model, frames, None)
    assert set(parts) == {"reconstruction", "kernel_divergence"}
    assert not any(part.requires_grad for part in parts.values())
    torch.testing.assert_close(loss.detach(), parts["reconstruction"] + 1e-4 * parts["kernel_divergence"])
    _, output = model.observe(frames)
    expected = torch.nn.functional.mse_loss(output.decoded.reconstruction, frames * 2 - 1)
    torch.testing.assert_close(parts["reconstruction"], expected.detach())


def test_plain_savi_has_no_divergence() -> None:
    loss, parts = clip_loss(Savi(TINY_TRANSFORMER), noise_clip(TINY), None)
    assert list(parts) == ["reconstruction"] and torch.equal(loss.detach(), parts["reconstruction"])


def test_a_darkened_frame_can_be_painted_as_it_was() -> None:
    model, frames = Savi(TINY), noise_clip(TINY)
    dark = frames.clone()
    dark[:, 1] = 0
    shown, _ = clip_loss(model, dark, None)
    was, _ = clip_loss(model, dark, None, targets=frames)
    assert not torch.equal(shown, was)
    with pytest.raises(LociError, match=r"The targets are \(2, 3, 3, 16, 24\), but the clip is \(2, 4, 3, 16, 24\)"):
        clip_loss(model, dark, None, targets=frames[:, 1:])


def test_every_parameter_learns() -> None:
    for config in BOTH.values():
        torch.manual_seed(0)
        model = Savi(config)
        loss, _ = clip_loss(model, noise_clip(config), torch.Generator().manual_seed(0))
        torch.autograd.backward(loss)
        assert not [name for name, p in model.named_parameters() if p.grad is None or not bool(p.grad.any())]


def test_training_can_be_repeated() -> None:
    def gradient() -> torch.Tensor:
        torch.manual_seed(0)
        model = Savi(TINY_TRANSFORMER).train()
        torch.autograd.backward(clip_loss(model, noise_clip(TINY), torch.Generator().manual_seed(3))[0])
        assert model.start.grad is not None
        return model.start.grad

    assert torch.equal(gradient(), gradient())


@pytest.mark.parametrize("kind", sorted(BOTH))
def test_one_clip_is_learnt_by_heart(kind: str) -> None:
    torch.manual_seed(0)
    model, frames, generator = Savi(BOTH[kind]).train(), drawn_clip(3), torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
    started, errors = time.process_time(), []
    for _ in range(200):
        loss, parts = clip_loss(model, frames, generator)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        errors.append(parts["reconstruction"].item())
    assert sum(errors[-10:]) / 10 < errors[0] / 10, errors[::30]
    assert time.process_time() - started < 60
