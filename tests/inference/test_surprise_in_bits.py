"""Surprise from hand-made frames: a red square on grey, expected or not, seen or not, the same or another."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

import loci_looped
from loci_looped.configs.surprise import ROUGH
from loci_looped.data.clip import Clip
from loci_looped.data.store.clip_cache import cached_clip
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.inference.pixels import backgrounds_of, frames_at
from loci_looped.inference.surprise import Evidence, Vigilance, gathered, judged
from loci_looped.inference.surprised_model import SurprisedModel, measure_scale
from loci_looped.inference.video_model import LociVideoModel
from loci_looped.inference.watch import watch
from loci_looped.model import LociLooped
from loci_looped.model.state import Decoded, LociState, StepOutput
from loci_looped.utils.errors import LociError

SIZE = (40, 60)
MIDDLE, BORDER = (18, 28), (18, 0)


@pytest.fixture(scope="module")
def model() -> LociLooped:
    return loci_looped.load("adept-learnt")


class Stage:
    """Two slots; the first may hold a red square of 6 x 6 pixels."""

    def __init__(self, model: LociLooped):
        self.model, self.background = model, torch.full((1, 3, *SIZE), 0.5)
        self.vigilance = Vigilance.initial(model.initial(self.background))

    def mask(self, place: tuple[int, int] | None) -> Tensor:
        mask = torch.zeros(1, self.model.config.slots, *SIZE)
        if place is not None:
            mask[0, 0, place[0] : place[0] + 6, place[1] : place[1] + 6] = 1
        return mask

    def picture(self, place: tuple[int, int] | None) -> Tensor:
        mask = self.mask(place)[:, :1]
        return self.background * (1 - mask) + torch.tensor([0.9, 0.1, 0.1]).view(1, 3, 1, 1) * mask

    def decoded(self, place: tuple[int, int] | None) -> Decoded:
        mask = self.mask(place)
        logits = torch.zeros(1, self.model.config.slots, 3, *SIZE)
        return Decoded(self.picture(place), torch.cat([mask, 1 - mask.sum(1, keepdim=True)], 1), mask, logits)

    def frame(
        self, expected: tuple[int, int] | None, seen: tuple[int, int] | None, *, occlusion: float = 0.0,
        look: float = 0.0, held: bool = True, dark: bool = False,
    ) -> Evidence:
        state: LociState = self.model.initial(self.background)
        bound = torch.zeros_like(state.registry.bound)
        bound[0, 0] = held
        state = dataclasses.replace(
            state, next_frame=self.decoded(expected), registry=dataclasses.replace(state.registry, bound=bound))
        codes = dataclasses.replace(
            state.predicted, gestalt=torch.full_like(state.predicted.gestalt, look),
            position=torch.zeros_like(state.predicted.position))
        hidden = torch.full_like(state.occlusion, occlusion)
        shown = self.decoded(seen)
        output = StepOutput(
            sensed=codes, percept=codes, predicted=codes, previous=codes, gate=torch.ones(1, bound.shape[1], 2),
            present=shown, next_frame=shown, occlusion=hidden, occlusion_next=hidden, assigned=bound, bound=bound,
            visibility=hidden, error=torch.zeros(1, 1, *SIZE), slot_error=hidden, objects_before=shown.object_logits,
            objects_after=None,
        )
        blackout = torch.tensor([True]) if dark else None
        self.vigilance, evidence = gathered(self.vigilance, state, output, self.picture(seen), blackout)
        return evidence


@pytest.fixture
def stage(model: LociLooped) -> Stage:
    return Stage(model)


def test_what_comes_as_expected_is_no_evidence(stage: Stage) -> None:
    for _ in range(5):
        told = stage.frame(MIDDLE, MIDDLE)
    assert told.missing.max() == 0 and told.unexpected.max() == 0 and told.weight.max() == 0
    assert judged(told, ROUGH).largest == 0


def test_what_does_not_come_is_missed_more_and_more(stage: Stage) -> None:
    first, second = (float(stage.frame(MIDDLE, None).missing[0, 0]) for _ in range(2))
    assert second == pytest.approx(2 * first) and first == pytest.approx(36 * 3 * 0.16, rel=1e-4)
    assert float(stage.frame(MIDDLE, MIDDLE).missing[0, 0]) < second
    stage.frame(MIDDLE, MIDDLE)
    assert float(stage.frame(MIDDLE, MIDDLE).missing[0, 0]) == 0


def test_who_is_expected_to_be_hidden_is_not_missed(stage: Stage) -> None:
    assert float(stage.frame(None, None, occlusion=1.0).missing.max()) == 0


def test_what_nobody_expected_is_told_of_its_finder(stage: Stage) -> None:
    told = stage.frame(None, MIDDLE)
    assert float(told.unexpected) == pytest.approx(36 * 3 * 0.16, rel=1e-4)
    assert told.finder[0].tolist() == [True, False, False, False, False]
    bits = judged(told, ROUGH)
    assert bits.slots[0, 0] == bits.unexpected[0] == bits.largest[0] > 3


def test_newcomers_may_enter_at_the_border(stage: Stage) -> None:
    assert float(stage.frame(None, BORDER).unexpected) < 0.2 * float(Stage(stage.model).frame(None, MIDDLE).unexpected)


def test_a_thing_may_not_come_back_as_another(stage: Stage) -> None:
    for _ in range(4):
        assert float(stage.frame(MIDDLE, MIDDLE, look=0.0).weight.max()) == 0
    for _ in range(3):
        stage.frame(None, None, occlusion=1.0, look=0.7)          # what is sensed of the hidden is nobody's look
    same = stage.frame(MIDDLE, MIDDLE, look=0.0)
    assert float(same.weight[0, 0]) > 0 and float(same.difference.abs().max()) == 0
    for _ in range(3):
        stage.frame(None, None, occlusion=1.0)
    told = [stage.frame(MIDDLE, MIDDLE, look=1.0) for _ in range(3)]
    assert float(told[0].difference[0, 0].min()) == 1
    assert [float(one.weight[0, 0]) for one in told] == pytest.approx([1 / (1 + 1 / 5), 1 / (1 / 2 + 1 / 5), 1.875])
    assert judged(told[-1], ROUGH).slots[0, 0] > judged(same, ROUGH).slots[0, 0]


def test_in_the_dark_nothing_is_told_and_nothing_forgotten(stage: Stage) -> None:
    stage.frame(MIDDLE, None)
    before = stage.vigilance
    told = stage.frame(MIDDLE, MIDDLE, dark=True)
    assert judged(told, ROUGH).largest == 0
    assert torch.equal(stage.vigilance.missing, before.missing)


def test_a_slot_that_lets_go_forgets(stage: Stage) -> None:
    stage.frame(MIDDLE, None)
    stage.frame(MIDDLE, None, held=False)
    assert stage.vigilance.missing.max() == 0 and stage.vigilance.looks_since.max() == 0


def test_watching_tells_the_same_as_the_experiments(model: LociLooped) -> None:
    clip = cached_clip(ClipSpec("vanish-surprise", 1000, SIZE))
    judge = SurprisedModel(LociVideoModel(model), model.surprise_scale or ROUGH)
    state = judge.initial(backgrounds_of([clip]))
    for t, seen in zip(range(12), watch(model, clip), strict=False):
        with torch.no_grad():
            state, slots = judge.step(frames_at([clip], t), state)
        assert slots.surprise is not None and torch.allclose(slots.surprise[0], seen.surprise, atol=1e-4)
        assert slots.unexpected is not None and float(slots.unexpected[0]) == pytest.approx(seen.unexpected, abs=1e-4)


def _short(seed: int, length: int = 6) -> Clip:
    clip = cached_clip(ClipSpec("vanish-control", seed, SIZE))
    return dataclasses.replace(clip, frames=clip.frames[:length], truth=None, events=())


def test_a_scale_is_measured_film_by_film(model: LociLooped) -> None:
    clips = [_short(2000 + number, 6 + number % 2) for number in range(16)]
    scale = measure_scale(model, clips, batch=8)
    assert len(scale.missing) == len(scale.unexpected) == 16 and len(scale.spread) == model.config.gestalt
    assert scale.unexpected[-1] > 0
    alone = measure_scale(model, clips, batch=16)
    assert torch.allclose(torch.tensor(alone.unexpected), torch.tensor(scale.unexpected), atol=1e-3)


def test_a_few_films_do_not_tell_what_is_ordinary(model: LociLooped) -> None:
    with pytest.raises(LociError, match="give 16 or more"):
        measure_scale(model, [_short(2000)])
