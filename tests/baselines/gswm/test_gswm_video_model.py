"""G-SWM behind the protocol: columns that stay with their object, positions, belief of being hidden."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from gswm_parts import clip, tiny

from loci_looped.baselines.gswm import GswmVideoModel, Objects
from loci_looped.baselines.gswm.identity import Columns
from loci_looped.baselines.gswm.state import Rendering
from loci_looped.baselines.gswm.video_model import WatchingState, hidden_share
from loci_looped.baselines.protocol import Slots, VideoModel
from loci_looped.utils.errors import LociError


def objects(ids: list[int], presence: list[float]) -> Objects:
    count = len(ids)
    return Objects(
        presence=torch.tensor(presence).view(1, count, 1), depth=torch.zeros(1, count, 1),
        where=torch.zeros(1, count, 4), what=torch.zeros(1, count, 1), dynamics=torch.zeros(1, count, 1),
        ids=torch.tensor([ids]),
    )


def test_an_object_keeps_its_column() -> None:
    first = objects([3, 7, 5], [1.0, 0.95, 0.1])
    columns, order = Columns.empty(first).assign(first, 0.9)
    assert columns.ids.tolist() == [[3, 7, 5]] and order.tolist() == [[0, 1, 2]]
    assert columns.used.tolist() == [[True, True, False]]
    # They change places, and a newcomer takes the column of the one who is gone.
    columns, order = columns.assign(objects([7, 9, 3], [1.0, 0.99, 0.98]), 0.9)
    assert columns.ids.tolist() == [[3, 7, 9]] and order.tolist() == [[2, 0, 1]]
    assert columns.used.all()


def test_the_more_present_newcomer_gets_the_unused_column() -> None:
    columns = Columns(ids=torch.tensor([[1, 2, 3]]), used=torch.tensor([[True, False, True]]))
    columns, order = columns.assign(objects([8, 3, 9], [1.0, 0.99, 0.2]), 0.9)
    assert columns.ids.tolist() == [[9, 8, 3]] and order.tolist() == [[2, 0, 1]]


def test_empty_places_are_nobody() -> None:
    first = objects([4, -1, -1], [1.0, 0.0, 0.0])
    columns, _ = Columns.empty(first).assign(first, 0.9)
    columns, order = columns.assign(objects([-1, 4, -1], [0.0, 0.0, 0.0]), 0.9)
    assert columns.ids.tolist() == [[4, -1, -1]] and sorted(order[0].tolist()) == [0, 1, 2]


def watched(frames: int = 4) -> tuple[list[WatchingState], list[Slots]]:
    model = GswmVideoModel(tiny(), present=0.0)
    film = clip(2, frames)
    state, states, seen = model.initial(torch.zeros_like(film[:, 0])), [], []
    with torch.no_grad():
        for frame in film.unbind(1):
            state, slots = model.step(frame, state)
            states.append(state)
            seen.append(slots)
    return states, seen


def test_it_speaks_the_protocol() -> None:
    model = GswmVideoModel(tiny())
    assert isinstance(model, VideoModel)
    slots = watched()[1][-1]
    assert slots.positions.shape == (2, 4, 2) and slots.presence.shape == (2, 4) and slots.occlusion is not None
    assert slots.expectation is not None and slots.expectation.frame.shape == (2, 3, 32, 32)
    total = slots.expectation.visible_masks_with_background.sum(1)
    assert torch.allclose(total, torch.ones_like(total))
    assert ((slots.occlusion >= 0) & (slots.occlusion <= 1)).all()


def test_masks_and_places_belong_to_the_columns_object() -> None:
    states, seen = watched()
    for state, slots in zip(states, seen, strict=True):
        inner = state.network.tracks.objects
        picture = tiny().renderer(inner, state.network.background.image)
        for row in range(2):
            for column, wanted in enumerate(state.columns.ids[row].tolist()):
                index = inner.ids[row].tolist().index(wanted)
                assert slots.object_masks is not None
                assert torch.allclose(slots.object_masks[row, column], picture.object_masks[row, index])
    before, after = states[0].columns.ids, states[1].columns.ids
    for row in range(2):
        for wanted in set(before[row].tolist()) & set(after[row].tolist()):
            assert before[row].tolist().index(wanted) == after[row].tolist().index(wanted)


def test_positions_are_read_off_masks_or_boxes() -> None:
    masks = torch.zeros(1, 2, 32, 32)
    masks[0, 0, 4:9, 10:21] = 1.0
    where = torch.tensor([[[0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.5, -0.25]]])
    by_mask = GswmVideoModel(tiny())._positions(masks, where)
    assert torch.allclose(by_mask[0, 0], torch.tensor([6.0, 15.0]) * 2 / 31 - 1)
    # No solid pixel: the latent box. Its x = 0.5 is pixel 23.5 (edges at -1 and 1), its y = -0.25 pixel 11.5.
    assert torch.allclose(by_mask[0, 1], torch.tensor([11.5, 23.5]) * 2 / 31 - 1)
    by_box = GswmVideoModel(tiny(), position="box")._positions(masks, where)
    assert torch.allclose(by_box[0, 0], torch.zeros(2), atol=1e-6)


def test_hidden_share() -> None:
    whole = torch.zeros(1, 3, 4, 4)
    whole[0, :2, :, :2] = 1.0
    seen = whole.clone()
    seen[0, 1, :, 0] = 0.2
    picture = Rendering(torch.zeros(1, 3, 4, 4), torch.zeros(1, 1, 4, 4), seen, whole)
    assert hidden_share(picture).tolist() == [[0.0, 0.5, 1.0]]


def test_batch_norm_must_not_train_while_watching() -> None:
    model, film = GswmVideoModel(tiny(trunk_norm="batch")), clip(2, 1)
    state = model.initial(torch.zeros_like(film[:, 0]))
    model.step(film[:, 0], state)
    model.network.train()
    with pytest.raises(LociError, match=r"in training mode.*call .eval\(\) first"):
        model.step(film[:, 0], state)


def test_dark_frames_and_no_frames() -> None:
    model, film = GswmVideoModel(tiny()), clip(2, 1)
    state = model.initial(torch.zeros_like(film[:, 0]))
    state, _ = model.step(film[:, 0], state)
    dark, _ = model.step(film[:, 0], state, blackout=torch.tensor([True, False]))
    black, _ = model.step(torch.zeros_like(film[:, 0]), state)
    light, _ = model.step(film[:, 0], state)
    where = [s.network.tracks.objects.where for s in (dark, black, light)]
    assert torch.allclose(where[0][0], where[1][0]) and torch.allclose(where[0][1], where[2][1])
    imagined, slots = model.step(None, state)
    assert torch.equal(imagined.columns.ids, state.columns.ids) and slots.expectation is not None
    quick = dataclasses.replace(model, expects=False)
    assert quick.step(None, state)[1].expectation is None
    with pytest.raises(LociError, match="blackout must be 2 truth values"):
        model.step(film[:, 0], state, blackout=torch.zeros(2))
