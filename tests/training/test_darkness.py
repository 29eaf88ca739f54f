"""Black frames in the diaries: they are no word about anything, and the gate may learn so."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from toy_diary import network, straight_on

from loci_looped.configs.recipes import recipe
from loci_looped.configs.rehearsal import RehearsalConfig
from loci_looped.model import LociLooped
from loci_looped.training.consolidation import Consolidation
from loci_looped.training.diary import FIRST_DARK, IN_THE_DARK, Diary, dark_frames, record
from loci_looped.training.distributed import ProcessGroup
from loci_looped.training.recognition import targets_of
from loci_looped.training.rehearsal import live, rehearse
from loci_looped.utils.errors import LociError

CONFIG = RehearsalConfig(noise=0.0, mirrored=False, position_cost=0.0, gestalt_cost=0.0)


def darkened(diary: Diary, dark: torch.Tensor) -> Diary:
    """What is sensed in the dark (T, B, K) is always the same, whatever is there: no look, in a corner."""
    place = diary.sensed.position.masked_fill(dark.unsqueeze(-1), 0.9)
    look = diary.sensed.gestalt.masked_fill(dark.unsqueeze(-1), 0.0)
    sensed = dataclasses.replace(diary.sensed, position=place, gestalt=look)
    return dataclasses.replace(diary, sensed=sensed, explained=diary.explained.masked_fill(dark, IN_THE_DARK))


def test_what_is_sensed_in_the_dark_is_not_compared_with() -> None:
    diary = straight_on(clips=3)
    dark = torch.zeros_like(diary.bound)
    dark[6] = True
    assert targets_of(diary, CONFIG).known[6].all()
    known = targets_of(darkened(diary, dark), CONFIG).known
    assert not known[6].any() and known[7].all()


def test_an_open_gate_does_not_let_the_dark_in() -> None:
    model, diary = network(), straight_on(clips=3)
    dark = torch.zeros_like(diary.bound)
    dark[6] = True
    lived = live(model, darkened(diary, dark), torch.zeros_like(dark), learned=False)
    assert torch.equal(lived.percept.position[6], lived.expected.position[5])
    assert torch.equal(lived.percept.position[7], diary.sensed.position[7])


def test_the_gate_learns_to_shut_in_the_dark() -> None:
    model, draw = network(), torch.Generator().manual_seed(1)
    parameters = [*model.transition.parameters(), *model.gate.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.0)
    for update in range(120):
        plain = straight_on(clips=16, seed=update)
        dark = (torch.rand(plain.bound.shape[:2], generator=draw) < 0.2).unsqueeze(-1).expand_as(plain.bound).clone()
        dark[:4] = False
        loss, _ = rehearse(model, darkened(plain, dark), torch.zeros_like(dark), CONFIG, learned=True, generator=draw)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
    plain = straight_on(clips=32, seed=1000)
    dark = torch.zeros_like(plain.bound)
    dark[8] = True
    with torch.no_grad():
        alpha = live(model, darkened(plain, dark), torch.zeros_like(dark), learned=True).alpha[..., 1]
    assert alpha[8].mean() < 0.5 * alpha[7].mean()


def _gate_after(dark_cost: float, updates: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Openings of the position gate in a black frame and in the one before, after some rehearsal."""
    model, draw = network(), torch.Generator().manual_seed(1)
    config = dataclasses.replace(CONFIG, dark_cost=dark_cost)
    parameters = [*model.transition.parameters(), *model.gate.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.0)
    for update in range(updates):
        plain = straight_on(clips=8, seed=update)
        dark = (torch.rand(plain.bound.shape[:2], generator=draw) < 0.2).unsqueeze(-1).expand_as(plain.bound).clone()
        dark[:4] = False
        loss, _ = rehearse(model, darkened(plain, dark), torch.zeros_like(dark), config, learned=True, generator=draw)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
    plain = straight_on(clips=16, seed=1000)
    dark = torch.zeros_like(plain.bound)
    dark[8] = True
    with torch.no_grad():
        alpha = live(model, darkened(plain, dark), torch.zeros_like(dark), learned=True).alpha[..., 1]
    return alpha[8].mean(), alpha[7].mean()


def test_a_price_of_open_gates_in_the_dark_shuts_them_there() -> None:
    dark, light = _gate_after(1.0, 60)
    assert dark < 0.1 < light


def test_with_that_price_nothing_of_the_dark_is_expected() -> None:
    model, plain = network(), straight_on(clips=3)
    dark = torch.zeros_like(plain.bound)
    dark[6] = True
    hold = torch.zeros_like(dark)
    lived = live(model, darkened(plain, dark), hold, learned=True, shut_in_the_dark=True)
    assert torch.equal(lived.percept.position[6], lived.expected.position[5])
    assert lived.wanted[6].gt(0).any()              # it would have listened, and that is what costs
    config = dataclasses.replace(CONFIG, dark_cost=1.0)
    _, parts = rehearse(model, darkened(plain, dark), hold, config, learned=True, generator=None)
    wanted = lived.wanted[6][plain.bound[6]].mean()
    assert torch.isclose(parts["gates_in_the_dark"], wanted)


def test_dark_frames_are_a_share_of_all_but_the_first() -> None:
    dark = dark_frames((100, 64), 0.2, torch.Generator().manual_seed(0))
    assert not dark[:FIRST_DARK].any()
    assert dark[FIRST_DARK:].float().mean() == pytest.approx(0.2, abs=0.02)


def test_slots_keep_their_objects_while_a_dark_diary_is_written() -> None:
    torch.manual_seed(0)
    model = LociLooped("balls-small").eval()
    frames = torch.rand(1, 9, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    dark = torch.zeros(9, 1, dtype=torch.bool)
    dark[5] = True
    plain = record(model, frames, torch.zeros(1, 3, 64, 64), "open", None, 2)
    diary = record(model, frames, torch.zeros(1, 3, 64, 64), "open", None, 2, dark)
    assert torch.equal(diary.dark.all(2), dark)
    assert torch.equal(diary.sensed.position[:5], plain.sensed.position[:5])        # until then nothing differs
    assert not torch.equal(diary.sensed.gestalt[5], plain.sensed.gestalt[5]) or not torch.equal(
        diary.sensed.position[5], plain.sensed.position[5])                         # it did see something else


def test_an_unlooped_network_lets_the_dark_in_and_its_gate_is_not_taught() -> None:
    model, plain = network(), straight_on(clips=3)
    dark = torch.zeros_like(plain.bound)
    dark[6] = True
    lived = live(model, darkened(plain, dark), torch.zeros_like(dark), learned=False, unlooped=True)
    assert torch.equal(lived.percept.position[6], darkened(plain, dark).sensed.position[6])
    config = dataclasses.replace(CONFIG, unlooped=True, dark_cost=1.0)
    loss, _ = rehearse(model, darkened(plain, dark), torch.zeros_like(dark), config, learned=False, generator=None)
    loss.backward()
    assert all(weight.grad is None or not weight.grad.any() for weight in model.gate.parameters())
    assert any(weight.grad is not None and weight.grad.any() for weight in model.transition.parameters())


def test_pictures_must_not_teach_the_gate_of_an_unlooped_network() -> None:
    plain = recipe("clevrer-small")
    unlooped = dataclasses.replace(plain.rehearsal, unlooped=True)
    early = dataclasses.replace(plain.curriculum, gate_from=10)
    with pytest.raises(LociError, match=r"set curriculum\.gate_from"):
        dataclasses.replace(plain, rehearsal=unlooped, curriculum=early)


@pytest.mark.parametrize("unlooped", [False, True])
def test_in_later_rounds_the_gate_learns_unless_it_is_unlooped(unlooped: bool) -> None:
    config = dataclasses.replace(CONFIG, rounds_at=(1, 1), unlooped=unlooped)
    rounds = Consolidation(network(), config, ProcessGroup(), seed=0)
    rounds.round = 1
    assert rounds.gate_learns is not unlooped
