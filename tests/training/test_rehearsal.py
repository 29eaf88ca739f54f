"""What rehearsal means: motion is learnt from diaries alone, and only from what was well seen."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from toy_diary import NETWORK, network, straight_on

from loci_looped.configs.recipes import recipe
from loci_looped.configs.rehearsal import RehearsalConfig
from loci_looped.training.diary import (
    Diary,
    joined,
    mirrored,
    random_holds,
    repainted,
    shut_together,
    turned,
    windows,
)
from loci_looped.training.recognition import targets_of
from loci_looped.training.rehearsal import comparable, gaps, live, off_by, opening_cost, rehearse
from loci_looped.training.rollout import roll_out_errors
from loci_looped.utils.errors import LociError

SILENT = 1e-6
"""GateL0RD's pressure on open gates is a gradient of its own, of about 1e-8 here, wherever a step was taken."""
CALM = RehearsalConfig(noise=0.0, mirrored=False)


def nobody(diary: Diary) -> torch.Tensor:
    return torch.zeros_like(diary.bound)


def test_straight_motion_is_learnt_and_beats_a_frozen_object() -> None:
    model, draw = network(), torch.Generator().manual_seed(1)
    parameters = [*model.transition.parameters(), *model.gate.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.0)
    for update in range(120):
        diary = straight_on(clips=16, seed=update)
        hold = random_holds((diary.frames, diary.clips, 2), 0.08, 2, 10, draw)
        loss, _ = rehearse(model, diary, hold, CALM, learned=False, generator=draw)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
    errors = roll_out_errors(model, straight_on(clips=64, seed=1000))
    assert errors["straight_5"] < 1e-4
    assert errors["rolled_5"] < 0.6 * errors["frozen_5"]


def test_an_untrained_transition_knows_nothing_about_motion() -> None:
    errors = roll_out_errors(network(), straight_on())
    assert errors["rolled_5"] > 0.8 * errors["frozen_5"]


def test_the_last_frame_teaches_the_first() -> None:
    model, diary = network(), straight_on(clips=4)
    places = diary.sensed.position.clone().requires_grad_()
    diary = dataclasses.replace(diary, sensed=dataclasses.replace(diary.sensed, position=places))
    hold = nobody(diary)
    hold[5:] = True
    live(model, diary, hold, learned=False).expected.position[-1].sum().backward()
    assert places.grad is not None
    assert (places.grad[0].abs().sum() > 0) and (places.grad[4].abs().sum() > 0)
    assert (places.grad[5:] == 0).all()     # nobody listened


def test_who_is_held_perceives_what_it_expects() -> None:
    model, diary = network(), straight_on(clips=3)
    hold = nobody(diary)
    hold[6:9, :, 0] = True
    lived = live(model, diary, hold, learned=True)
    assert (lived.alpha[6:9, :, 0] == 0).all()
    assert (lived.alpha[6:9, :, 1] > 0).any()
    assert torch.equal(lived.percept.position[6, :, 0], lived.expected.position[5, :, 0])


def test_who_holds_nothing_cannot_be_held() -> None:
    model, diary = network(), straight_on(clips=3)
    diary.bound[:8, :, 0] = False
    lived = live(model, diary, torch.ones_like(diary.bound), learned=True)
    assert (lived.alpha[:8, :, 0] == 1).all()
    assert (lived.alpha[8:] == 0).all()


def test_targets_that_are_hidden_or_look_different_do_not_count() -> None:
    diary = straight_on(clips=2)
    diary.occlusion[7, 0, 0] = 0.5
    diary.sensed.gestalt[9, 1, 1] = 1 - diary.sensed.gestalt[9, 1, 1]
    diary.bound[3, 0, 1] = False
    diary.assigned[12, 1, 0] = False
    counts = comparable(diary, targets_of(diary, CALM))
    assert not counts[6, 0, 0] and counts[7, 0, 0]
    assert not counts[8, 1, 1]
    assert not counts[2, 0, 1] and not counts[3, 0, 1] and counts[4, 0, 1]
    assert not counts[11, 1, 0]


def test_doubtful_targets_count_less_the_further_off_they_are() -> None:
    expected = torch.zeros(4, 2, requires_grad=True)
    target = torch.tensor([[0.01, 0.0], [0.1, 0.0], [0.4, 0.0], [1.6, 0.0]])
    (plain,) = torch.autograd.grad(off_by(expected, target, RehearsalConfig()).sum(), expected)
    (doubting,) = torch.autograd.grad(off_by(expected, target, RehearsalConfig(doubtful=4)).sum(), expected)
    share = doubting[:, 0] / plain[:, 0]
    assert share[0] > 0.98 and (share.diff() < 0).all()
    assert share[-1] < 0.15     # another thing, on the other side of the picture


def test_a_hidden_reading_without_a_target_teaches_nothing() -> None:
    """A wild reading of something hidden must not be a target; with the gate held shut it must not matter at all."""
    model, diary = network(), straight_on(clips=2)
    diary.occlusion[8:] = 1.0
    hold = nobody(diary)
    hold[8:] = True
    loss, _ = rehearse(model, diary, hold, CALM, learned=True, generator=None)
    diary.sensed.position[8:] += 0.7
    other, _ = rehearse(model, diary, hold, CALM, learned=True, generator=None)
    assert torch.equal(loss, other)


def test_readings_of_hidden_things_follow_the_gaze() -> None:
    model, diary = network(), straight_on(clips=2)
    diary.occlusion[10:] = 1.0
    moved = dataclasses.replace(diary, looked_at=diary.looked_at + 0.2)
    hold = nobody(diary)
    stays = live(model, moved, hold, learned=False, follows=False).percept.position
    follows = live(model, moved, hold, learned=False, follows=True).percept.position
    assert torch.equal(stays[:10], follows[:10])
    assert (follows[10:] - stays[10:]).abs().mean() > 0.1


def test_open_gates_cost_and_shut_ones_do_not() -> None:
    alpha = torch.tensor([0.0, 0.5]).expand(3, 2, 2, 2).clone().requires_grad_()
    own = torch.ones(3, 2, 2, dtype=torch.bool)
    own[0] = False
    cost = opening_cost(alpha, own, dataclasses.replace(CALM, position_cost=0.2, gestalt_cost=0.1))
    assert float(cost) == pytest.approx(0.1)
    cost.backward()
    assert alpha.grad is not None and (alpha.grad[0] == 0).all() and (alpha.grad[1:, ..., 1] > 0).all()


def test_mirrored_clips_are_the_same_film_seen_in_a_mirror() -> None:
    diary = straight_on(clips=32)
    turned = mirrored(diary, torch.Generator().manual_seed(0))
    flipped = (turned.sensed.position[0, :, 0, 1] != diary.sensed.position[0, :, 0, 1])
    assert 0 < int(flipped.sum()) < 32
    assert torch.equal(turned.sensed.position[..., 0], diary.sensed.position[..., 0])
    assert torch.equal(turned.sensed.position[..., 1].abs(), diary.sensed.position[..., 1].abs())
    assert torch.equal(turned.looked_at, turned.sensed.position)


def test_turned_and_mirrored_clips_show_all_symmetries_of_the_square() -> None:
    diary = straight_on(clips=64)
    draw = torch.Generator().manual_seed(0)
    seen = turned(mirrored(diary, draw), draw)
    assert torch.equal(seen.looked_at, seen.sensed.position)
    first, now = diary.sensed.position[:, :, 0], seen.sensed.position[:, :, 0]         # (T, B, 2)
    kinds = set()
    for clip in range(64):
        for flip in (False, True):
            for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                guess = first[:, clip].flip(-1) if flip else first[:, clip]
                if torch.equal(guess * torch.tensor(signs), now[:, clip]):
                    kinds.add((flip, signs))
    assert len(kinds) == 8


def test_windows_are_pieces_of_the_film_that_begin_anywhere() -> None:
    diary = straight_on(clips=12, frames=20)
    piece = windows(diary, 7, torch.Generator().manual_seed(0))
    assert piece.frames == 7 and piece.clips == 12
    begins = [
        begin for clip in range(12) for begin in range(14)
        if torch.equal(piece.sensed.position[:, clip], diary.sensed.position[begin : begin + 7, clip])
    ]
    assert len(begins) == 12 and len(set(begins)) > 3
    assert windows(diary, 20, torch.Generator()) is diary


def test_eyes_shut_together_stay_shut_to_the_end() -> None:
    holds = torch.zeros(20, 200, 3, dtype=torch.bool)
    shut = shut_together(holds, 0.5, 6, torch.Generator().manual_seed(0))
    assert torch.equal(shut.any(2), shut.all(2)) and not shut[:4].any()
    assert (shut[1:] | ~shut[:-1]).all()
    lengths = shut[:, :, 0].sum(0)
    assert 60 < int((lengths > 0).sum()) < 140
    assert int(lengths[lengths > 0].min()) == 6 and int(lengths.max()) == 16


def test_holds_have_the_lengths_asked_for() -> None:
    held = random_holds((60, 40, 3), 0.1, 3, 6, torch.Generator().manual_seed(0))
    assert not held[:4].any()
    lengths = []
    for column in held.flatten(1).T.tolist():
        run = 0
        for now in column[:-7]:
            run = run + 1 if now else 0
            lengths.append(run)
    assert max(lengths) >= 6 and held.float().mean() > 0.2


def test_diaries_survive_the_way_through_a_checkpoint() -> None:
    diary = straight_on(clips=3)
    back = Diary.from_tensors(diary.to_tensors())
    assert all(torch.equal(a, b) for a, b in zip(diary.to_tensors().values(), back.to_tensors().values(), strict=True))
    assert joined([diary, back]).clips == 6
    assert NETWORK.slots == diary.bound.shape[2]


def test_a_target_counts_for_the_frames_since_the_one_before() -> None:
    chosen = torch.tensor([1, 1, 0, 0, 1, 1, 0, 1], dtype=torch.bool).view(-1, 1, 1)
    bound = torch.ones_like(chosen)
    assert gaps(chosen, bound).flatten().tolist() == [1, 1, 0, 0, 3, 1, 0, 2]


def test_a_slots_first_target_counts_from_when_it_took_its_object() -> None:
    chosen = torch.tensor([0, 0, 0, 0, 1, 1], dtype=torch.bool).view(-1, 1, 1)
    bound = torch.tensor([0, 0, 0, 1, 1, 1], dtype=torch.bool).view(-1, 1, 1)
    assert gaps(chosen, bound).flatten().tolist() == [0, 0, 0, 0, 2, 1]


def test_repainted_things_move_as_before_and_look_alike_as_before() -> None:
    diary = straight_on(clips=6)
    painted = repainted(diary, 0.5, torch.Generator().manual_seed(3))
    assert torch.equal(painted.sensed.position, diary.sensed.position)
    before, after = diary.sensed.gestalt, painted.sensed.gestalt
    assert not torch.equal(before, after)
    assert torch.equal((before[0, :, 0] - before[0, :, 1]).abs(), (after[0, :, 0] - after[0, :, 1]).abs())
    assert torch.equal((before - before[:1]).abs(), (after - after[:1]).abs())      # and over time


def test_with_a_share_of_zero_nothing_is_repainted() -> None:
    diary = straight_on(clips=2)
    assert torch.equal(repainted(diary, 0.0, torch.Generator()).sensed.gestalt, diary.sensed.gestalt)


def test_a_window_keeps_the_last_frame_from_teaching_the_first() -> None:
    model, diary = network(), straight_on(clips=4)
    places = diary.sensed.position.clone().requires_grad_()
    diary = dataclasses.replace(diary, sensed=dataclasses.replace(diary.sensed, position=places))
    live(model, diary, nobody(diary), learned=False, backward=5).expected.position[-1].sum().backward()
    assert places.grad is not None
    assert (places.grad[:15].abs() < SILENT).all() and (places.grad[15:].abs() > 0.01).any()


def test_a_rule_that_needs_masks_cannot_be_rehearsed() -> None:
    learnt = recipe("adept-learnt")
    rules = dataclasses.replace(learnt.model.extensions.rules, displacement=True)
    extensions = dataclasses.replace(learnt.model.extensions, rules=rules, innovation=0.0)
    model = dataclasses.replace(learnt.model, extensions=extensions)
    with pytest.raises(LociError, match="rehearsal has no pictures"):
        dataclasses.replace(learnt, model=model)
