"""What must hold of one time step, whatever the weights: the properties everything else relies on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from loci_looped.configs.extensions import Extensions
from loci_looped.model import LociConfig, LociLooped, LociState, Regime, StepOutput, preset
from loci_looped.model.active import Active

Make = Callable[..., Any]
Distance = Callable[[Any, Any], float]
KINDS = ["standard", "shared"]


def started(scene: Any, steps: int = 3) -> LociState:
    with torch.no_grad():
        return scene.model.warm_up(scene.video[:, 0], scene.model.initial(scene.background), steps)


@pytest.fixture(params=KINDS)
def scene(request: pytest.FixtureRequest, lively: Make) -> Any:
    return lively(request.param)


def test_the_scene_is_alive(scene: Any) -> None:
    """Or the properties below would hold of nothing: slots bind, gates are neither shut nor fully open, things move."""
    with torch.no_grad():
        _, out = scene.model.observe(scene.video, started(scene))
    assert out.bound.any() and not out.bound.all()
    bound = out.gate[out.bound]
    assert (bound < 0.95).any() and (bound > 0).any()
    assert (out.predicted.position[:, 1:] - out.predicted.position[:, :-1]).abs().max() > 0.05
    assert (out.occlusion > 0).any()


@torch.no_grad()
def test_a_clip_in_one_pass_is_the_clip_in_two_halves(scene: Any, distance: Distance) -> None:
    begin = started(scene)
    whole_state, whole = scene.model.observe(scene.video, begin)
    state, first = scene.model.observe(scene.video[:, :4], begin)
    state, second = scene.model.observe(scene.video[:, 4:], state)
    assert distance(whole_state, state) == 0
    assert distance(whole.predicted.position, torch.cat([first.predicted.position, second.predicted.position], 1)) == 0
    assert distance(whole.next_frame.frame, torch.cat([first.next_frame.frame, second.next_frame.frame], 1)) == 0


@torch.no_grad()
def test_observe_is_step_after_step(scene: Any, distance: Distance) -> None:
    state = begin = started(scene)
    steps: list[StepOutput] = []
    for t in range(scene.video.shape[1]):
        state, out = scene.model.step(scene.video[:, t], state)
        steps.append(out)
    end, stacked = scene.model.observe(scene.video, begin)
    assert distance(end, state) == 0
    assert distance(stacked.slot_error, torch.stack([out.slot_error for out in steps], 1)) == 0


@torch.no_grad()
def test_a_stream_alone_is_the_stream_in_a_batch(scene: Any, distance: Distance) -> None:
    model = scene.model
    begin = started(scene)
    end, both = model.observe(scene.video, begin)
    for i in range(2):
        alone = dataclasses.replace(scene, video=scene.video[i : i + 1], background=scene.background[i : i + 1])
        begin_alone = started(alone)
        assert distance(begin_alone, begin.element(i)) < 1e-12
        end_alone, out = model.observe(alone.video, begin_alone)
        assert distance(end_alone, end.element(i)) < 1e-10
        assert distance(out, both.element(i)) < 1e-10


@torch.no_grad()
def test_two_interleaved_streams_do_not_disturb_each_other(scene: Any, distance: Distance) -> None:
    model, begin = scene.model, started(scene)
    left, right = begin.element(0), begin.element(1)
    films = scene.video[:1], scene.video[1:].flip(-1)
    apart = [model.observe(film, state)[0] for film, state in zip(films, (left, right), strict=True)]
    for t in range(scene.video.shape[1]):
        left, _ = model.step(films[0][:, t], left)
        right, _ = model.step(films[1][:, t], right)
    assert distance(left, apart[0]) == 0 and distance(right, apart[1]) == 0


@torch.no_grad()
def test_a_step_leaves_its_state_as_it_was(scene: Any, distance: Distance) -> None:
    begin = started(scene)
    before = begin.map(torch.clone)
    weights = {name: value.clone() for name, value in scene.model.state_dict().items()}
    scene.model.observe(scene.video, begin)
    assert distance(begin, before) == 0
    assert all(torch.equal(weights[name], value) for name, value in scene.model.state_dict().items())


@torch.no_grad()
def test_an_open_gate_is_loci_unlooped(scene: Any, distance: Distance) -> None:
    """The learned gate, saturated at one, and the gate kind "open" are the same network."""
    begin = started(scene)
    _, unlooped = scene.model.observe(scene.video, begin, Regime(gate="open"))
    assert distance(unlooped.percept, unlooped.sensed) == 0 and bool((unlooped.gate == 1).all())
    last = scene.model.gate.layers[2]
    last.weight.zero_()
    last.bias.fill_(50.0)
    _, saturated = scene.model.observe(scene.video, begin)
    assert distance(saturated, unlooped) == 0


@torch.no_grad()
def test_a_closed_gate_does_not_look_at_the_frame(scene: Any, distance: Distance) -> None:
    begin = scene.model.observe(scene.video[:, :5], started(scene))[0]
    shut = Regime(gate="closed")
    end, out = scene.model.observe(scene.video[:, 5:], begin, shut)
    other_end, other = scene.model.observe(torch.rand_like(scene.video[:, 5:]), begin, shut)
    assert distance(end, other_end) == 0 and distance(out, other) == 0
    imagined_end, imagined = scene.model.imagine(begin, steps=4)
    assert distance(imagined_end, end) == 0 and distance(imagined, out) == 0
    assert bool((out.gate == 0).all())
    # The percept of each imagined moment is the prediction made for it.
    assert distance(out.percept.position[:, 1:], out.predicted.position[:, :-1]) == 0


def test_a_learned_gate_that_is_shut_carries_no_gradient_from_the_frame(lively: Make) -> None:
    scene = lively()
    with torch.no_grad():
        state = scene.model.observe(scene.video[:, :5], started(scene))[0]
        scene.model.gate.layers[2].weight.zero_()
        scene.model.gate.layers[2].bias.fill_(-1.0)
    frame = scene.video[:, 5].clone().requires_grad_()
    _, out = scene.model.step(frame, state)
    assert out.bound.any() and bool((out.gate == 0).all())
    assert torch.equal(out.percept.position, out.previous.position)
    expected = out.predicted.position.sum() + out.predicted.priority.sum() + out.next_frame.frame.sum()
    (gradient,) = torch.autograd.grad(expected, frame, retain_graph=True)
    assert not gradient.any()
    (through_sensed,) = torch.autograd.grad(out.sensed.position.sum(), frame)
    assert through_sensed.any(), "the encoder itself does look"


@torch.no_grad()
def test_hold_shuts_the_gates_of_bound_slots_only(scene: Any) -> None:
    state = scene.model.observe(scene.video[:, :5], started(scene))[0]
    everyone = torch.ones(2, 3, dtype=torch.bool)
    _, free = scene.model.step(scene.video[:, 5], state)
    _, held = scene.model.step(scene.video[:, 5], state, Regime(hold=everyone))
    bound = state.registry.bound & held.assigned
    assert bound.any() and not bound.all()
    assert bool((held.gate[bound] == 0).all()) and torch.equal(held.gate[~bound], free.gate[~bound])


@torch.no_grad()
def test_the_visibility_gate_is_one_minus_occlusion(scene: Any) -> None:
    _, out = scene.model.observe(scene.video, started(scene), Regime(gate="visibility"))
    assert torch.equal(out.gate[..., 0], 1 - out.occlusion) and torch.equal(out.gate[..., 1], 1 - out.occlusion)
    assert (out.gate < 1).any()


@torch.no_grad()
@pytest.mark.parametrize("regime", [Regime(placement="stochastic"), Regime(gate="visibility")])
def test_masks_sum_to_one_and_occlusion_is_a_share(scene: Any, regime: Regime) -> None:
    model = scene.model
    state = model.warm_up(scene.video[:, 0], model.initial(scene.background), 4, regime=regime)
    _, out = model.observe(scene.video, state, regime=regime)
    for picture in (out.present, out.next_frame):
        total = picture.visible_masks_with_background.sum(2)
        assert (total - 1).abs().max() < 1e-12
        assert picture.visible_masks_with_background.min() >= 0
        assert picture.object_masks.min() >= 0 and picture.object_masks.max() <= 1
        assert picture.frame.min() >= 0 and picture.frame.max() <= 1 + 1e-12
        # A slot shows no more than its whole object.
        assert (picture.visible_masks_with_background[:, :, :-1] - picture.object_masks).max() < 1e-12
    for share in (out.occlusion, out.occlusion_next):
        assert share.min() >= 0 and share.max() <= 1
    assert bool((out.assigned | ~out.bound).all()), "a slot that is not in use cannot be bound"


@torch.no_grad()
def test_slots_not_in_use_paint_nothing(scene: Any) -> None:
    _, out = scene.model.observe(scene.video, started(scene, steps=1))
    unused = ~out.assigned
    assert unused.any()
    for picture in (out.present, out.next_frame):
        assert not picture.visible_masks_with_background[:, :, :-1][unused].any()
        assert not picture.object_masks[unused].any()


@torch.no_grad()
def test_blackout_is_a_black_frame_without_error(scene: Any, distance: Distance) -> None:
    state = scene.model.observe(scene.video[:, :5], started(scene))[0]
    dark = torch.tensor([True, False])
    _, half = scene.model.step(scene.video[:, 5], state, Regime(blackout=dark))
    _, lit = scene.model.step(scene.video[:, 5], state)
    assert not half.error[0].any() and not half.slot_error[0].any()
    assert distance(half.element(1), lit.element(1)) == 0
    _, black = scene.model.step(torch.zeros_like(scene.video[:, 5]), state)
    assert distance(half.element(0).error, black.element(0).error) > 0, "a black frame alone would bring an error map"


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("placement", ["incremental", "stochastic", "error_sampled"])
def test_randomness_comes_from_the_generator_alone(
    lively: Make, distance: Distance, training: bool, placement: Any
) -> None:
    eager = {"extensions": Extensions(suppression=2.0)} if placement == "error_sampled" else {}
    scene = lively(mode="train" if training else "eval", **eager)

    def run(seed: int | None) -> Any:
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        regime = Regime(placement=placement, generator=generator)
        with torch.no_grad():
            state = scene.model.warm_up(scene.video[:, 0], scene.model.initial(scene.background), 2, regime)
            return scene.model.observe(scene.video[:, :4], state, regime)

    before = torch.get_rng_state()
    assert distance(run(1), run(1)) == 0
    assert distance(run(None), run(None)) == 0
    assert distance(run(1), run(2)) > 0 and distance(run(1), run(None)) > 0
    assert torch.equal(torch.get_rng_state(), before), "the global generator was touched"


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_an_empty_scene_works_forward_and_backward(tiny: Make, mode: str) -> None:
    """Nothing differs from the background, so no slot is ever assigned, anywhere in the batch."""
    torch.manual_seed(0)
    model = LociLooped(tiny()).train(mode == "train")
    background = torch.rand(2, 3, *model.config.frame)
    # The first decoding of no slots is the background itself, so the error stays zero.
    state = model.warm_up(background, model.initial(background), 2)
    loss = torch.zeros(())
    for _ in range(3):
        state, out = model.step(background, state)
        loss = loss + (out.next_frame.frame - 0.5).square().mean() + out.predicted.gestalt.mean()
    assert not out.assigned.any() and not out.error.any()
    assert torch.equal(out.next_frame.frame, background) and torch.equal(out.present.frame, background)
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(bool(torch.isfinite(g).all()) for g in gradients)
    assert model.imagine(state.detach(), 2)[1].next_frame.frame.shape == (2, 2, 3, *model.config.frame)


@torch.no_grad()
def test_streams_may_be_of_any_number_and_length(tiny: Make) -> None:
    torch.manual_seed(0)
    model = LociLooped(tiny()).eval()
    for batch, length in ((1, 1), (3, 2), (5, 1)):
        frames = torch.rand(batch, length, 3, *model.config.frame)
        _, out = model.observe(frames, model.initial(frames[:, 0]))
        assert out.next_frame.frame.shape == frames.shape


@pytest.mark.parametrize(("name", "count"), [("adept", 3_228_025), ("clevrer", 5_197_081), ("balls", 714_894)])
def test_parameter_counts_equal_the_original(name: str, count: int) -> None:
    assert sum(p.numel() for p in LociLooped(name).parameters()) == count


def test_counts_per_module() -> None:
    parts = {
        "recruiting": (193, 193, 25), "encoder": (1_356_261, 1_356_261, 83_216), "gate": (7_154, 7_154, 1_778),
        "transition": (1_114_927, 3_167_119, 514_401),
        "decoder": (595_890 + 153_600, 512_754 + 153_600, 111_378 + 4_096),     # with the background logit image
    }
    for column, name in enumerate(("adept", "clevrer", "balls")):
        model = LociLooped(name)
        for part, counts in parts.items():
            assert sum(p.numel() for p in getattr(model, part).parameters()) == counts[column], (name, part)


def test_growing_to_level_2_keeps_the_function(distance: Distance) -> None:
    """What level 2 paints is the enlargement of what level 1 paints, and enlarged input is sensed as before."""
    torch.manual_seed(0)
    small = LociLooped(dataclasses.replace(preset("balls"), level=1)).double().eval()
    for module in (small.decoder.mask.up, small.decoder.object.up):
        torch.nn.init.normal_(module.spread.weight, std=0.3)
    grown = small.at_level(2)
    assert grown.config.frame == (64, 64) and small.config.frame == (16, 16)
    assert distance(tuple(small.state_dict().values()), tuple(grown.state_dict().values())) == 0

    def enlarged(x: Tensor) -> Tensor:
        return x.repeat_interleave(4, -1).repeat_interleave(4, -2)

    background, video = torch.rand(2, 3, 16, 16).double(), torch.rand(2, 3, 3, 16, 16).double()
    with torch.no_grad():
        state = small.warm_up(video[:, 0], small.initial(background), 2)
        out = small.observe(video, state)[1]
        codes = out.element(0).predicted.map(lambda leaf: leaf[:, -1])
        everything = torch.ones(1, 3, dtype=torch.bool)
        coarse = small.decoder(codes, background[:1], Active.of(everything), None)
        fine = grown.decoder(codes, enlarged(background[:1]), Active.of(everything), None)
        assert coarse.visible_masks.amax() > 0.1
        assert distance(fine, coarse.map(enlarged)) < 1e-12
        inputs = torch.rand(3, 12, 16, 16).double()
        assert distance(grown.encoder._to_latent(enlarged(inputs)), small.encoder._to_latent(inputs)) < 1e-10


def test_warm_up_expects_the_same_picture_again(lively: Make, distance: Distance) -> None:
    scene = lively()
    with torch.no_grad():
        state, out = scene.model.settle(scene.video[:, 0], scene.model.initial(scene.background))
    assert distance(out.next_frame, out.present) == 0 and distance(out.predicted, out.sensed) == 0
    assert not any(bool(hidden.any()) for hidden in state.memory.hidden)
    assert not state.registry.settled.any()
    with torch.no_grad():
        state, _ = scene.model.step(scene.video[:, 0], state)
    assert state.registry.settled.all()


def test_colour_order_is_only_the_weights_business(lively: Make, distance: Distance) -> None:
    """Frames are RGB at the border; a network trained on BGR flips inside."""
    scene = lively()
    flipped = LociLooped(dataclasses.replace(scene.model.config, colour_order="rgb")).double().eval()
    flipped.load_state_dict(scene.model.state_dict())
    with torch.no_grad():
        _, ours = scene.model.observe(scene.video[:, :3], scene.model.initial(scene.background))
        _, theirs = flipped.observe(scene.video[:, :3].flip(2), flipped.initial(scene.background.flip(1)))
    assert distance(ours.predicted, theirs.predicted) < 1e-12
    assert distance(ours.next_frame.frame, theirs.next_frame.frame.flip(2)) < 1e-12


@pytest.mark.parametrize("name", ["adept-small", "clevrer-small", "balls-small"])
def test_the_small_presets_run_and_learn_a_step(name: str) -> None:
    torch.manual_seed(0)
    model = LociLooped(name).train()
    config: LociConfig = model.config
    background = torch.full((1, 3, *config.frame), 0.5)
    frames = background.clone().unsqueeze(1).repeat(1, 2, 1, 1, 1)
    frames[..., 10:16, 10:16] = 1.0
    state = model.warm_up(frames[:, 0], model.initial(background), 2)
    _, out = model.observe(frames, state, Regime(generator=torch.Generator().manual_seed(0)))
    assert out.assigned.any()
    (out.next_frame.frame - frames).square().mean().backward()
    assert model.encoder.trunk[0].conv1.weight.grad is not None
    assert bool(model.encoder.trunk[0].conv1.weight.grad.any())


def test_the_papers_network_has_no_place_for_extensions(tiny: Callable[..., LociConfig]) -> None:
    """The core runs no code of extensions, and asks for what it does not have in a sentence."""
    model = LociLooped(tiny())
    assert not [type(m) for m in model.modules() if "extensions" in type(m).__module__]
    frame = torch.rand(1, 3, *model.config.frame)
    with pytest.raises(ValueError, match="error_sampled placement goes beyond the paper"):
        model.step(frame, model.initial(torch.zeros_like(frame)), Regime(placement="error_sampled"))
