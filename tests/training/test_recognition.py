"""Who is told what: well seen, really there, of the first look; and a lost object by whoever meets it again."""

from __future__ import annotations

import dataclasses

import torch
from toy_diary import straight_on

from loci_looped.configs.rehearsal import RehearsalConfig
from loci_looped.training.diary import Diary
from loci_looped.training.recognition import last_seen, looks_of, targets_of

CALM = RehearsalConfig(noise=0.0)


def lost_and_found() -> Diary:
    """One clip: slot 0 sees its object until frame 7 and a screen from then on; slot 1 finds the object at frame 12."""
    diary = straight_on(clips=1)
    look, screen = diary.sensed.gestalt[0, 0, 0].clone(), 1 - diary.sensed.gestalt[0, 0, 0]
    path = diary.sensed.position[:, 0, 0].clone()
    diary.sensed.gestalt[8:, 0, 0] = screen
    diary.sensed.position[8:, 0, 0] = path[8]
    diary.bound[:12, 0, 1] = False
    diary.sensed.gestalt[12:, 0, 1] = look
    diary.sensed.position[12:, 0, 1] = path[12:]
    return diary


def test_a_lost_object_is_told_by_the_slot_that_met_it_again() -> None:
    diary = lost_and_found()
    path = straight_on(clips=1).sensed.position[:, 0, 0]
    targets = targets_of(diary, CALM)
    assert targets.own[:8, 0, 0].all() and not targets.own[8:, 0, 0].any()
    assert not targets.met_again[:12, 0, 0].any() and targets.met_again[12:, 0, 0].all()
    assert torch.equal(targets.codes.position[12:, 0, 0], path[12:])
    assert not targets.met_again[:, 0, 1].any(), "who sees its object itself needs nobody"


def test_without_recognition_nobody_is_told_by_others() -> None:
    targets = targets_of(lost_and_found(), dataclasses.replace(CALM, recognised=0.0))
    assert not targets.met_again.any()


def test_twins_that_were_there_before_are_not_taken_for_the_lost_one() -> None:
    diary = lost_and_found()
    diary.bound[:12, 0, 1] = True
    diary.sensed.gestalt[:12, 0, 1] = diary.sensed.gestalt[12, 0, 1]
    assert not targets_of(diary, CALM).met_again.any()


def test_what_is_only_imagined_is_no_target() -> None:
    diary = straight_on(clips=1)
    diary.explained[5:, 0, 0] = 0.2
    own = targets_of(diary, CALM).own
    assert own[:5, 0, 0].all() and not own[5:, 0, 0].any() and own[:, 0, 1].all()


def test_the_first_look_is_that_of_the_present_object() -> None:
    """A slot that let go and found something else has another first look."""
    diary = straight_on(clips=1)
    other = 1 - diary.sensed.gestalt[0, 0, 0]
    diary.bound[6:8, 0, 0] = False
    diary.sensed.gestalt[8:, 0, 0] = other
    look, since = looks_of(diary, diary.bound)
    assert torch.equal(look[5, 0, 0], 1 - other) and torch.equal(look[12, 0, 0], other)
    assert since[5, 0, 0] == 0 and since[7, 0, 0] == diary.frames and since[12, 0, 0] == 8


def test_what_turns_stays_the_same_thing() -> None:
    diary = straight_on(clips=1)
    bits = diary.sensed.gestalt.shape[-1]
    for frame in range(1, bits + 1):
        diary.sensed.gestalt[frame:, 0, 0, frame - 1] = 1 - diary.sensed.gestalt[0, 0, 0, frame - 1]
    diary.sensed.gestalt[15:, 0, 0] = 1 - diary.sensed.gestalt[14, 0, 0]
    config = dataclasses.replace(CALM, recognised=0.0)
    assert not targets_of(diary, config).own[3:15, 0, 0].any(), "it has turned too far from its first look"
    own = targets_of(diary, dataclasses.replace(config, turns=True)).own[:, 0, 0]
    assert own[:15].all() and not own[15:].any()


def test_when_something_was_last_seen() -> None:
    seen = torch.tensor([False, True, True, False, False, True]).view(6, 1, 1)
    assert last_seen(seen).flatten().tolist() == [6, 1, 2, 2, 2, 5]
