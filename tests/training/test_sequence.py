"""One training sequence: what each step sees, what it should paint, and where windows end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch
from squares import square_clip
from torch import Tensor

from loci_looped.configs.training import LossConfig, TrainConfig
from loci_looped.model import LociLooped, LociState, Regime, StepOutput
from loci_looped.model import losses as losses_of
from loci_looped.training.curriculum import Phase, phase_at
from loci_looped.training.sequence import Target, Window, crop, step_losses, unroll, weighted


class Given(NamedTuple):
    frame: Tensor
    warm: bool
    regime: Regime


Step = tuple[Given, StepOutput]


@pytest.fixture
def films() -> tuple[Tensor, Tensor]:
    clips = [square_clip(seed) for seed in range(3)]
    frames = torch.stack([torch.from_numpy(clip.frames) for clip in clips]).permute(0, 1, 4, 2, 3) / 255
    return frames, torch.stack([torch.from_numpy(clip.background) for clip in clips]).permute(0, 3, 1, 2) / 255


def _steps(
    config: TrainConfig, phase: Phase, films: tuple[Tensor, Tensor], seed: int = 0
) -> tuple[list[Step], list[Window]]:
    """Every step of a sequence with the arguments it got, and the windows."""
    torch.manual_seed(0)
    model = LociLooped(config.model).train()
    seen: list[Step] = []

    def spied(real: Any, warm: bool) -> Any:
        def step(frame: Tensor, state: LociState, regime: Regime) -> tuple[LociState, StepOutput]:
            state, output = real(frame, state, regime)
            seen.append((Given(frame, warm, regime), output))
            return state, output
        return step

    model.step, model.settle = spied(model.step, False), spied(model.settle, True)  # type: ignore[method-assign]
    generator = torch.Generator().manual_seed(seed)
    return seen, list(_detached(unroll(model, *films, phase, config, generator)))


def _detached(windows: Iterator[Window]) -> Iterator[Window]:
    for window in windows:
        yield dataclasses.replace(window, loss=window.loss.detach())


def _phase(config: TrainConfig, update: int = 10**6, **changes: Any) -> Phase:
    return dataclasses.replace(phase_at(config.curriculum, update, 10**6), **changes)


def test_warm_up_looks_at_the_first_frame_then_time_begins(tiny: TrainConfig, films: tuple[Tensor, Tensor]) -> None:
    seen, windows = _steps(tiny, _phase(tiny, window=3, hold=0.0), films)
    frames = films[0]
    assert [given.warm for given, _ in seen] == [True] * 3 + [False] * 12
    for t, (given, _) in zip(range(-3, 12), seen, strict=True):
        assert torch.equal(given.frame, frames[:, max(t, 0)])
        assert given.regime.blackout is None and given.regime.hold is None
    assert [window.steps for window in windows] == [3] * 5


def test_while_nothing_moves_a_sequence_is_one_frame_of_each_clip(
    tiny: TrainConfig, changed: Callable[..., TrainConfig], films: tuple[Tensor, Tensor]
) -> None:
    config = changed(tiny, **{"curriculum.still_steps": 4})
    frames = films[0]
    looked_at = set()
    for seed in range(8):
        seen, windows = _steps(config, _phase(config, window=1, hold=0.0, still=True), films, seed=seed)
        assert [given.warm for given, _ in seen] == [True] * 4 and [w.steps for w in windows] == [1] * 4
        first = seen[0][0].frame
        assert all(torch.equal(given.frame, first) for given, _ in seen)
        chosen = [[torch.equal(first[b], frames[b, t]) for t in range(frames.shape[1])] for b in range(len(frames))]
        assert all(any(row) for row in chosen)
        looked_at |= {(b, row.index(True)) for b, row in enumerate(chosen)}
    assert len({t for _, t in looked_at}) > 3, "any frame, not always the same"
    moving = _steps(config, _phase(config, window=1, hold=0.0), films)[0]
    assert len(moving) == 3 + frames.shape[1] - 1, "once things move, the whole clip counts"


def test_the_rest_of_a_clip_is_a_window_or_dropped(
    tiny: TrainConfig, changed: Callable[..., TrainConfig], films: tuple[Tensor, Tensor]
) -> None:
    phase = _phase(tiny, window=5, hold=0.0)
    assert [w.steps for w in _steps(tiny, phase, films)[1]] == [3, 5, 5, 2]
    dropping = changed(tiny, **{"curriculum.drop_rest": True})
    assert [w.steps for w in _steps(dropping, phase, films)[1]] == [3, 5, 5]
    each = changed(tiny, warm_up_updates=True)
    assert [w.steps for w in _steps(each, phase, films)[1]] == [1, 1, 1, 5, 5, 2]


@pytest.mark.parametrize("outlines", [False, True])
def test_a_windows_parts_are_means_and_its_loss_the_weighted_sum(
    tiny: TrainConfig, changed: Callable[..., TrainConfig], films: tuple[Tensor, Tensor], outlines: bool
) -> None:
    config = changed(tiny, noise=False, **{"loss.outlines": outlines})

    def picture_loss(painted: Tensor, target: Tensor, front: Tensor) -> Tensor:
        if outlines:
            return losses_of.object_picture_loss(painted, target, losses_of.objects_and_outlines(front))
        return losses_of.balanced_picture_loss(painted, target, front)

    phase = _phase(config, window=4, hold=0.0)
    seen, windows = _steps(config, phase, films)
    frames, background = films
    for window, first in zip(windows[1:], (3, 7, 11), strict=True):
        steps = range(first, first + window.steps)
        by_hand = []
        for i in steps:
            output, t = seen[i][1], i - 3
            front = losses_of.foreground(frames[:, t + 1], background)
            prediction = picture_loss(output.next_frame.frame, frames[:, t + 1], front)
            here = losses_of.foreground(frames[:, t], background)
            reconstruction = picture_loss(output.present.frame, frames[:, t], here)
            moved = losses_of.position_change(output)
            by_hand.append(torch.stack([prediction, reconstruction, losses_of.centring(output), moved]).detach())
        means = torch.stack(by_hand).mean(0)
        names = ("prediction", "reconstruction", "centring", "position_change")
        torch.testing.assert_close(torch.tensor([window.parts[name] for name in names]), means)
        weights = torch.tensor([1.0, *(getattr(config.loss, name) for name in names[1:])])
        torch.testing.assert_close(window.loss, (weights * means).sum())
    summed = changed(config, **{"loss.mean_over_window": False})
    again = _steps(summed, phase, films)[1]
    for mean, total in zip(windows, again, strict=True):
        torch.testing.assert_close(total.loss, mean.loss * mean.steps)


def test_vital_signs_compare_with_the_bare_background(tiny: TrainConfig, films: tuple[Tensor, Tensor]) -> None:
    seen, windows = _steps(tiny, _phase(tiny, window=1, hold=0.0), films)
    frames, background = films
    last, output = windows[-1].parts, seen[-1][1]
    front = losses_of.foreground(frames[:, -1], background).expand(-1, 3, -1, -1) > 0
    assert last["bare_error"] == pytest.approx(float((background - frames[:, -1])[front].square().mean()), rel=1e-4)
    assert last["foreground_error"] == pytest.approx(
        float((output.next_frame.frame - frames[:, -1])[front].square().mean()), rel=1e-4
    )
    assert last["bound_slots"] == pytest.approx(float(output.bound.sum(1).float().mean()))


def test_blackouts_spare_the_first_ten_frames_and_the_coming_frame(
    tiny: TrainConfig, films: tuple[Tensor, Tensor]
) -> None:
    phase = _phase(tiny, window=1, blackout=0.5, hold=0.0)
    seen, windows = _steps(tiny, phase, films, seed=1)
    dark = [given.regime.blackout for given, _ in seen]
    assert all(mask is None for mask in dark[:13]) and all(mask is not None for mask in dark[13:])
    assert 0 < sum(int(mask.sum()) for mask in dark[13:]) < 6
    given, output = seen[13]
    frames, background = films
    shown = torch.where(given.regime.blackout.view(-1, 1, 1, 1), torch.zeros_like(frames[:, 10]), frames[:, 10])
    present, coming = (Target(f, losses_of.foreground(f, background)) for f in (shown, frames[:, 11]))
    parts = step_losses(output, present, coming, tiny.loss, losses_of.position_change, warm=False)
    assert windows[-2].parts["reconstruction"] == pytest.approx(float(parts["reconstruction"]))
    assert windows[-2].parts["prediction"] == pytest.approx(float(parts["prediction"]))


def test_the_error_map_is_withheld_as_often_as_asked(
    tiny: TrainConfig, changed: Callable[..., TrainConfig], films: tuple[Tensor, Tensor]
) -> None:
    """Always, never, and now and then for the whole batch; the warm-up keeps it."""
    phase = _phase(tiny, window=1, hold=0.0)

    def told(probability: float) -> list[bool]:
        seen, _ = _steps(changed(tiny, **{"curriculum.error_dropout": probability}), phase, films)
        return [bool((output.error > 0).any()) for _, output in seen]

    assert told(0.0) == [True] * 15
    assert told(1.0) == [True] * 3 + [False] * 12
    sometimes = told(0.5)[3:]
    assert 0 < sum(sometimes) < 12


def test_slots_are_held_for_whole_windows_once_time_has_begun(
    tiny: TrainConfig, changed: Callable[..., TrainConfig], films: tuple[Tensor, Tensor]
) -> None:
    config = changed(tiny, **{"curriculum.hold_from": 3, "curriculum.hold_to": 3})
    seen, _ = _steps(config, _phase(config, window=1, hold=0.4), films)
    held = [given.regime.hold for given, _ in seen]
    assert all(mask is None for mask in held[:7])
    table = torch.stack(held[7:])                                   # (8, B, K)
    assert 0 < table.float().mean() < 1
    for slot in table.flatten(1).T.tolist():
        runs = "".join("x" if h else "." for h in slot).split(".")
        # Each window lasts three frames; the next may follow at once, the last may be cut off by the end of the clip.
        assert all(len(run) % 3 == 0 for run in runs[:-1])
    for given, output in seen[7:]:
        shut = given.regime.hold & output.bound
        assert not output.gate[shut].any()


@pytest.mark.parametrize("canvas", ["released", "black", "colours"])
def test_the_background_fades_in(canvas: Any, films: tuple[Tensor, Tensor], tiny: TrainConfig) -> None:
    frames, background = films
    half = _phase(tiny, canvas=canvas, fade=0.25, window=1, hold=0.0)
    seen, _ = _steps(tiny, half, films)
    painted_on = [given.regime.canvas for given, _ in seen]
    if canvas == "released":
        assert all(torch.equal(c, background) for c in painted_on)
    else:
        plain = [(c - 0.25 * background) / 0.75 for c in painted_on]
        flat = torch.stack([p.flatten(2) for p in plain])
        assert float((flat - flat[..., :1]).abs().max()) < 1e-6      # one colour per scene and step
        assert (float(flat.std()) > 0.1) == (canvas == "colours")
        assert float(flat.min()) > -1e-6 and float(flat.max()) < 1 + 1e-6
    target = Target.of(frames[:, 0], background, half, torch.zeros(3, 3, 1, 1))
    front = losses_of.foreground(frames[:, 0], background) > 0
    expected = torch.where(front, frames[:, 0], 0.25 * frames[:, 0])
    torch.testing.assert_close(target.frame, expected)


def test_weights_of_the_loss_table() -> None:
    parts = {
        name: torch.tensor(value) for name, value in
        {"prediction": 1.0, "reconstruction": 10.0, "position_change": 100.0, "gestalt_change": 1000.0}.items()
    }
    config = LossConfig(reconstruction=0.5, position_change=0.25, gestalt_change=0.125)
    assert float(weighted(parts, config)) == 1 + 5 + 25 + 125


def testcrop_are_successive_frames_that_begin_anywhere() -> None:
    frames = torch.arange(30.0).view(1, 30, 1, 1, 1).expand(64, -1, -1, -1, -1)
    cut = crop(frames, 6, torch.Generator().manual_seed(0))[:, :, 0, 0, 0]
    assert cut.shape == (64, 6)
    assert (cut.diff(dim=1) == 1).all()
    assert len(set(cut[:, 0].tolist())) > 10
    assert torch.equal(crop(frames[:, :5], 6, torch.Generator()), frames[:, :5])
