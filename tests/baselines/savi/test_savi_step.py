"""One time step and what follows from its purity: any batch, any length, splitting, resetting, repeating."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from savi_material import BOTH, TINY, TINY_TRANSFORMER, noise_clip

from loci_looped.baselines.savi import Savi, SaviConfig, SaviOutput
from loci_looped.configs.savi import preset
from loci_looped.model.state import TensorTree
from loci_looped.utils.errors import LociError


@pytest.fixture(params=sorted(BOTH))
def config(request: pytest.FixtureRequest) -> SaviConfig:
    return BOTH[request.param]


def made(config: SaviConfig, seed: int = 0) -> Savi:
    torch.manual_seed(seed)
    return Savi(config)


def close(ours: Any, theirs: Any) -> None:
    """Two trees of tensors, leaf by leaf."""
    if isinstance(ours, TensorTree):
        for field in dataclasses.fields(ours):
            close(getattr(ours, field.name), getattr(theirs, field.name))
    elif isinstance(ours, tuple):
        for a, b in zip(ours, theirs, strict=True):
            close(a, b)
    else:
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("batch", "length"), [(1, 1), (3, 2), (2, 5)])
def test_shapes(config: SaviConfig, batch: int, length: int) -> None:
    state, output = made(config).observe(noise_clip(config, batch, length))
    slots, (height, width) = config.slots, config.frame
    assert output.slots.shape == output.latents.shape == (batch, length, slots, config.slot_width)
    assert output.kernel.log_variance.shape == output.slots.shape
    assert output.decoded.colours.shape == (batch, length, slots, 3, height, width)
    assert output.decoded.mask_logits.shape == (batch, length, slots, height, width)
    assert output.decoded.reconstruction.shape == (batch, length, 3, height, width)
    assert state.latents.shape == (batch, slots, config.slot_width)
    assert [m.shape for m in state.memory] == [(batch, slots, config.hidden_width)] * len(state.memory)


@pytest.mark.parametrize("name", ["savi", "savi-transformer", "savi-small"])
def test_presets_make_a_step(name: str) -> None:
    model = Savi(name)
    with torch.no_grad():
        _, output = model.step(torch.rand(1, 3, *model.config.frame), model.initial(1))
    assert output.decoded.frame.shape == (1, 3, *model.config.frame)


def test_masks_share_the_frame_out(config: SaviConfig) -> None:
    _, output = made(config).observe(noise_clip(config))
    decoded = output.decoded
    torch.testing.assert_close(decoded.visible_masks.sum(dim=2), torch.ones(2, 4, *config.frame))
    torch.testing.assert_close((decoded.visible_masks.unsqueeze(3) * decoded.colours).sum(2), decoded.reconstruction)
    assert decoded.frame.min() >= 0 and decoded.frame.max() <= 1


def test_two_halves_are_one_whole(config: SaviConfig) -> None:
    model, frames = made(config), noise_clip(config)
    end, whole = model.observe(frames)
    middle, first = model.observe(frames[:, :3])
    after, second = model.observe(frames[:, 3:], middle)
    close(after, end)
    close(second.slots, whole.slots[:, 3:])
    close(first.decoded.reconstruction, whole.decoded.reconstruction[:, :3])


def test_clips_of_a_batch_do_not_know_of_each_other(config: SaviConfig) -> None:
    model, frames = made(config), noise_clip(config)
    _, both = model.observe(frames)
    _, alone = model.observe(frames[1:])
    close(alone, both.element(1))


def test_a_single_stream_can_be_reset(config: SaviConfig) -> None:
    model, frames = made(config), noise_clip(config)
    going, _ = model.observe(frames[:, :2])
    mixed = going.where(torch.tensor([True, False]), model.initial(2))
    _, output = model.step(frames[:, 2], mixed)
    _, goes_on = model.step(frames[:, 2], going)
    _, begins = model.step(frames[:, 2], model.initial(2))
    close(output.element(0), goes_on.element(0))
    close(output.element(1), begins.element(1))


def test_slots_in_another_order_are_the_same_slots(config: SaviConfig) -> None:
    model, frames, order = made(config), noise_clip(config), [2, 0, 1]
    _, output = model.observe(frames)
    with torch.no_grad():
        model.start.copy_(model.start[order])
    _, shuffled = model.observe(frames)
    close(shuffled.slots, output.slots[:, :, order])
    close(shuffled.decoded.reconstruction, output.decoded.reconstruction)


def test_nothing_is_random_without_a_generator(config: SaviConfig) -> None:
    model, frames = made(config), noise_clip(config)
    _, first = model.train().observe(frames)
    _, second = model.eval().observe(frames)
    assert torch.equal(first.slots, second.slots)
    assert torch.equal(model.step(frames[:, 0], model.initial(2))[1].slots, first.slots[:, 0])


def test_the_same_generator_draws_the_same(config: SaviConfig) -> None:
    model, frames = made(config).train(), noise_clip(config)

    def run(seed: int) -> SaviOutput:
        output: SaviOutput = model.observe(frames, generator=torch.Generator().manual_seed(seed))[1]
        return output

    assert torch.equal(run(1).slots, run(1).slots)
    assert not torch.equal(run(1).slots, run(2).slots)


def test_what_is_drawn_when() -> None:
    """Kernels in either mode, as the authors do; dropout only while training."""
    frames = noise_clip(TINY)
    for config, drawn_in_use in ((TINY, True), (TINY_TRANSFORMER, False)):
        model = made(config).eval()
        _, drawn = model.observe(frames, generator=torch.Generator().manual_seed(0))
        _, mean = model.observe(frames)
        assert torch.equal(drawn.slots, mean.slots) is not drawn_in_use


def test_the_next_frame_is_painted_from_the_prediction(config: SaviConfig) -> None:
    model, frames = made(config), noise_clip(config)
    state, _ = model.observe(frames)
    ahead = model.predict_next(state)
    close(ahead, model.decoder(state.latents))
    kernel = model.predict_next(state, through_kernel=True)
    close(kernel, model.decoder(model.kernel_head(state.latents).mean))


def test_bad_input_is_answered_with_a_sentence() -> None:
    model = made(TINY)
    state, frame = model.initial(2), torch.rand(2, 3, 16, 24)
    refused = [
        (torch.rand(2, 1, 16, 24), r"The frame must be \(batch, 3, 16, 24\) in RGB, but it is \(2, 1, 16, 24\)\."),
        (torch.rand(2, 3, 24, 16), r"The frame is 24 x 16 pixels, but this SAVi works at 16 x 24: resize it first"),
        ((frame * 255).to(torch.uint8), r"The frame holds torch.uint8; divide by 255"),
        (frame.round() * 2 - 1, r"The frame has values from -1 to 1; colours must lie in \[0, 1\]\."),
        (frame * torch.nan, "The frame has NaN or infinite values"),
        (frame[:1], "The frame holds 1 streams, the state 2: begin with initial"),
        (frame.double(), r"The frame is torch.float64 on cpu, the network torch.float32 on cpu: bring both"),
    ]
    for wrong, sentence in refused:
        with pytest.raises(LociError, match=sentence):
            model.step(wrong, state)
    with pytest.raises(LociError, match=r"The state belongs to another network \(3 slots of width 32, with a memory\)"):
        model.step(frame, made(TINY_TRANSFORMER).initial(2))
    with pytest.raises(LociError, match=r"A clip must be \(batch, time, 3, 16, 24\) with at least one frame"):
        model.observe(torch.rand(2, 0, 3, 16, 24))
    with pytest.raises(LociError, match=r"A clip must be"):
        model.observe(frame)


def test_slots_differ_from_the_start_where_weights_are_drawn_wide() -> None:
    """PyTorch's own weights let them paint the same picture to a few hundredths of a logit."""
    spread = {}
    for gain in (0.0, 1.41):
        model = made(dataclasses.replace(preset("savi-small"), initial_gain=gain))
        with torch.no_grad():
            _, output = model.step(torch.rand(1, 3, *model.config.frame), model.initial(1))
        spread[gain] = float(output.decoded.mask_logits.std(dim=1).mean())
    assert spread[0.0] < 0.02 and spread[1.41] > 0.3
    with pytest.raises(LociError, match="initial_gain is -1"):
        SaviConfig(initial_gain=-1)
