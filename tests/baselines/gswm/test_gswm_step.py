"""One time step: shapes, purity, identities, imagination, and sentences for bad input."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gswm_parts import TINY, clip, tiny
from torch import Tensor

from loci_looped.baselines.gswm import Gswm, GswmOutput, GswmState, roll_out
from loci_looped.utils.errors import LociError

KINDS = ("none", "learned", "given")


def run(model: Gswm, frames: Tensor, **options: Any) -> tuple[GswmState, list[GswmOutput]]:
    state, outputs = model.initial(torch.full_like(frames[:, 0], 0.25)), []
    for frame in frames.unbind(1):
        state, output = model.step(frame, state, **options)
        outputs.append(output)
    return state, outputs


def leaves(state: GswmState) -> list[Tensor]:
    found: list[Tensor] = []

    def note(leaf: Tensor) -> Tensor:
        found.append(leaf)
        return leaf

    state.map(note)
    return found


def same(first: GswmState, second: GswmState, tolerance: float = 0.0) -> bool:
    pairs = list(zip(leaves(first), leaves(second), strict=True))
    assert len(pairs) > 10
    return all(torch.allclose(one, other, rtol=0, atol=tolerance) for one, other in pairs)


@pytest.mark.parametrize("background", KINDS)
@pytest.mark.parametrize(("batch", "frames"), [(1, 1), (3, 4)])
def test_shapes(background: str, batch: int, frames: int) -> None:
    state, outputs = run(tiny(background=background), clip(batch, frames))
    assert len(outputs) == frames
    objects, picture = outputs[-1].objects, outputs[-1].rendering
    assert objects.where.shape == (batch, 4, 4) and objects.what.shape == (batch, 4, 8)
    assert picture.frame.shape == (batch, 3, 32, 32) and picture.object_masks.shape == (batch, 4, 32, 32)
    assert objects.vector.shape == (batch, 4, TINY.vector)
    assert state.tracks.memory.prior.hidden.shape == (batch, 4, 16)
    assert (outputs[-1].context is not None) == (background == "learned")
    assert (objects.presence.diff(dim=1) <= 0).all()


@pytest.mark.parametrize("background", KINDS)
def test_nothing_is_random_without_a_generator(background: str) -> None:
    model = tiny(background=background)
    first, second = (run(model, clip())[0] for _ in range(2))
    assert same(first, second)
    drawn = [run(model, clip(), generator=torch.Generator().manual_seed(seed))[0] for seed in (1, 1, 2)]
    assert same(drawn[0], drawn[1]) and not same(drawn[0], drawn[2]) and not same(drawn[0], first)


def test_a_film_can_be_cut_anywhere() -> None:
    model, frames = tiny(background="learned"), clip(2, 4)
    whole, _ = run(model, frames)
    state, _ = run(model, frames[:, :2])
    run(model, clip(3, 2, seed=5))      # somebody else's film in between
    for frame in frames[:, 2:].unbind(1):
        state, _ = model.step(frame, state)
    assert same(whole, state)


def test_clips_of_a_batch_do_not_touch_each_other() -> None:
    model, frames = tiny(background="learned"), clip(3, 3)
    together, _ = run(model, frames)
    alone, _ = run(model, frames[1:2])
    assert same(together.element(1), alone, 1e-12)


def test_single_streams_can_be_reset() -> None:
    model, frames = tiny(), clip(2, 3)
    state, _ = run(model, frames[:, :2])
    fresh = model.initial(torch.zeros_like(frames[:, 0]))
    mixed, _ = model.step(frames[:, 2], fresh.where(torch.tensor([True, False]), state))
    begun, _ = model.step(frames[:, 2], fresh)
    gone_on, _ = model.step(frames[:, 2], state)
    assert same(mixed.element(0), begun.element(0), 1e-12) and same(mixed.element(1), gone_on.element(1), 1e-12)


def test_ids_stay_with_objects_and_are_never_given_twice() -> None:
    model, frames = tiny(), clip(2, 5)
    _, outputs = run(model, frames)
    before: list[set[int]] = [set(), set()]
    for output in outputs:
        assert output.discovery is not None
        for row, ids in enumerate(output.objects.ids.tolist()):
            kept, found = set(ids), set(output.discovery.objects.ids[row].tolist())
            assert len(kept) == len(ids) and kept <= before[row] | found
            # New ids begin after the largest one that was kept.
            assert min(found) == max(before[row], default=-1) + 1 and len(found) == 16
            before[row] = kept


def test_without_discovery_the_known_objects_are_followed() -> None:
    model, frames = tiny(), clip(2, 3)
    state, _ = run(model, frames[:, :1])
    before = state.tracks.objects
    after, output = model.step(frames[:, 1], state, discover=False)
    assert output.discovery is None and output.propagation is not None
    assert torch.equal(after.tracks.objects.ids.sort(1).values, before.ids.sort(1).values)
    assert after.tracks.objects.presence.sum() < before.presence.sum()


def test_more_places_than_cells_leave_some_empty() -> None:
    model = tiny(cells=1, max_objects=3)
    _, outputs = run(model, clip(2, 2))
    assert outputs[0].objects.ids.tolist() == [[0, -1, -1]] * 2
    assert outputs[0].objects.exist.sum() == 2 and outputs[0].objects.presence[:, 1:].abs().sum() == 0
    assert sorted(outputs[1].objects.ids[0].tolist()) == [-1, 0, 1]
    assert torch.isfinite(outputs[1].rendering.frame).all()


def test_a_box_found_again_is_rejected() -> None:
    model, frames = tiny(), clip(1, 1)
    known = run(model, frames)[1][0].objects
    assert torch.equal(model.discovery.rejected(known.where, known), known.presence.squeeze(-1) > 0.5)


@pytest.mark.parametrize("background", KINDS)
def test_imagination_needs_no_frame(background: str) -> None:
    model, frames = tiny(background=background), clip(2, 2)
    given = torch.full_like(frames[:, 0], 0.25)
    outputs = roll_out(model, frames, 3, background=given)
    assert len(outputs) == 5
    assert outputs[0].discovery is not None and outputs[1].discovery is None and outputs[2].propagation is None
    for output in outputs[2:]:
        assert torch.equal(output.objects.presence, outputs[1].objects.presence)
        assert torch.equal(output.objects.ids, outputs[1].objects.ids)
    assert not torch.equal(outputs[4].objects.where, outputs[2].objects.where)
    drawn = [
        roll_out(model, frames, 2, torch.Generator().manual_seed(seed), background=given)[-1].objects.where
        for seed in (1, 1, 2)
    ]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])


def test_the_first_frame_is_a_normal_step() -> None:
    """Empty places take part in the arithmetic of the first step; they must leave no trace, not even a gradient."""
    model, frames = tiny(), clip(2, 1)
    state = model.initial(torch.zeros_like(frames[:, 0]))
    loss = model.step(frames[:, 0], state)[1].rendering.frame.sum()
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in model.propagation.named_parameters()}
    assert all(value is None or (value == 0).all() for value in gradients.values())
    assert all(value is None or torch.isfinite(value).all() for value in gradients.values())


def test_bad_input_is_told_in_sentences() -> None:
    model = tiny()
    frame = clip(2, 1)[:, 0]
    state = model.initial(frame)
    bad: list[tuple[Any, str]] = [
        (torch.rand(2, 3, 20, 30, dtype=torch.float64), r"needs square frames, but its frame is 20 x 30 pixels"),
        (torch.rand(2, 3, 64, 64, dtype=torch.float64), r"frame is 64 x 64 pixels, but this one works at 32 x 32"),
        (frame[0], r"must be \(batch, 3, 32, 32\) in RGB, but it is \(3, 32, 32\)"),
        ((frame * 255).byte(), r"holds torch.uint8; divide by 255"),
        (frame * 255, r"colours must lie in \[0, 1\]"),
        (frame * float("nan"), r"NaN or infinite values"),
        (frame[:1], r"The frame holds 1 clips, the state 2"),
        (frame.float(), r"The frame is torch.float32 on cpu, the state torch.float64"),
    ]
    for value, sentence in bad:
        with pytest.raises(LociError, match=sentence):
            model.step(value, state)
    with pytest.raises(LociError, match="needs square frames, but its background is 32 x 48"):
        model.initial(torch.zeros(1, 3, 32, 48))
    with pytest.raises(LociError, match=r"background is torch.float32 on cpu, this G-SWM torch.float64"):
        model.initial(torch.zeros(1, 3, 32, 32))
    with pytest.raises(LociError, match="belongs to another G-SWM"):
        tiny(max_objects=5).step(frame, state)
    with pytest.raises(LociError, match="belongs to another G-SWM"):
        tiny(background="learned").step(None, state)
    with pytest.raises(LociError, match="cannot imagine -1 steps"):
        roll_out(model, clip(), -1)
    with pytest.raises(LociError, match="clip is 32 x 48 pixels"):
        roll_out(model, torch.zeros(1, 2, 3, 32, 48), 1)
    with pytest.raises(LociError, match=r"must be \(batch, time, 3, 32, 32\)"):
        roll_out(model, frame, 1)
