"""Loci-v1 with the perception of adept-small: slots are sent where the error is, and look at their own place."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

from loci_looped.baselines.loci_v1 import LociV1, LociV1Config, preset
from loci_looped.baselines.loci_v1.blocks import Up
from loci_looped.baselines.loci_v1.draws import QuietDraws, RandomDraws
from loci_looped.baselines.loci_v1.losses import step_losses
from loci_looped.model.recruiter import pixel_position
from loci_looped.utils.errors import LociError

TINY = dataclasses.replace(
    preset("loci-v1-small"), slots=3, gestalt=8, latent=(10, 15), encoder_channels=12, decoder_channels=12,
    decoder_layers=1, in_turn=False,
)


def network(config: LociV1Config = TINY) -> LociV1:
    torch.manual_seed(0)
    return LociV1(config)


def error_at(*pixels: tuple[int, int]) -> Tensor:
    error = torch.zeros(1, 1, 40, 60)
    for row, column in pixels:
        error[0, 0, row - 2 : row + 3, column - 2 : column + 3] = 0.5
    return error


def places(error: Tensor, bound: list[bool], masks: Tensor | None = None, at_once: bool = True) -> Tensor:
    seen = torch.zeros(1, 4, 40, 60) if masks is None else masks
    return network().placement.places(error, torch.tensor([bound]), seen, QuietDraws(0, 0), at_once)[0]


def test_free_slots_are_sent_to_different_errors() -> None:
    found = places(error_at((10, 10), (30, 50)), [False] * 3)
    wanted = [pixel_position(torch.tensor(row * 60 + column), (40, 60), torch.float32) for row, column in
              ((10, 10), (30, 50))]
    near = torch.cdist(found[:2], torch.stack(wanted)).amin(0)
    assert (near < 0.1).all()
    assert found[2].tolist() == [-1, -1], "nothing is left to look at"


def test_in_turn_only_the_first_free_slot_is_sent() -> None:
    error = error_at((10, 10), (30, 50))
    found = places(error, [False] * 3, at_once=False)
    assert found[0].tolist() != [-1, -1] and (found[1:] == -1).all()
    masks = torch.zeros(1, 4, 40, 60)
    masks[0, 0, :20, :20] = 1       # the first one has taken what is at the upper left
    found = places(error, [True, False, False], masks, at_once=False)
    wanted = pixel_position(torch.tensor(30 * 60 + 50), (40, 60), torch.float32)
    assert (found[1] - wanted).norm() < 0.1 and (found[2] == -1).all()


def test_once_it_is_used_a_little_error_calls_for_nobody() -> None:
    model, nobody = network(), torch.zeros(1, 3, dtype=torch.bool)
    for learns in (True, False):
        model.train(learns)
        found = model.placement.places(0.2 * error_at((10, 10)), nobody, torch.zeros(1, 4, 40, 60), QuietDraws(0, 0))
        assert (found[0, 0] > -1).any().item() is learns


@pytest.mark.parametrize("at_once", [None, True])
def test_a_network_sends_in_turn_as_it_is_configured(at_once: bool | None) -> None:
    model = network(dataclasses.replace(TINY, in_turn=True)).eval()
    frame, background = torch.zeros(1, 3, 40, 60), torch.zeros(1, 3, 40, 60)
    frame[..., 5:15, 5:15] = frame[..., 25:35, 45:55] = 1.0
    _, output = model.step(frame, model.initial(background), at_once=at_once)
    waits = (output.placed.position == -1).all(-1)[0].tolist()
    assert waits == ([False, True, True] if at_once is None else [False, False, waits[2]])


def test_what_a_bound_slot_shows_calls_for_nobody() -> None:
    masks = torch.zeros(1, 4, 40, 60)
    masks[0, 0, :20, :20] = 1
    found = places(error_at((10, 10)), [True, False, False], masks)
    assert (found[1:] == -1).all()


def test_a_slot_begins_by_looking_at_its_own_place() -> None:
    """Before anything is learnt the place it senses is near the one it was sent to."""
    model, frame = network().eval(), torch.rand(1, 3, 40, 60, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        _, output = model.step(frame, model.initial(torch.zeros_like(frame)))
    assert ((output.sensed.position - output.placed.position).abs().amax(-1) < 0.3).all()
    assert not hasattr(model.encoder, "size_growth")


def test_every_part_hears_the_loss() -> None:
    model, frame = network().train(), torch.rand(2, 3, 40, 60, generator=torch.Generator().manual_seed(1))
    state, draws = model.initial(torch.zeros_like(frame)), RandomDraws(torch.Generator().manual_seed(0))
    canvas = torch.full_like(frame, 0.25)
    _, output = model.step(frame, state, draws, canvas=canvas)
    front = (frame.mean(1, keepdim=True) > 0.5).float()
    parts = step_losses(model, output, frame, warm=False, front=front, outlines=True)
    sum(parts.values()).backward()
    silent = {name for name, p in model.named_parameters() if p.grad is None}
    assert silent <= {"predictor.priority_factor", "predictor.index_factor", "backdrop.growth", *(
        name for name in silent if name.startswith("placement.")
    )}


def test_the_canvas_stands_behind_the_slots() -> None:
    model, frame = network().eval(), torch.zeros(1, 3, 40, 60)
    canvas = torch.full_like(frame, 0.7)
    with torch.no_grad():
        model.backdrop.logit_image.fill_(50.0)      # nothing stands before it
        _, output = model.step(frame, model.initial(frame), canvas=canvas)
    torch.testing.assert_close(output.next_frame.frame, canvas, atol=1e-4, rtol=0)


def test_spreading_by_cells_gives_the_same_picture() -> None:
    torch.manual_seed(0)
    up, cells = Up(6, 3, 1.0, by_cells=True).double(), torch.randn(2, 6, 5, 7, dtype=torch.float64)
    torch.testing.assert_close(up.spread_out(cells), up.spread(cells), atol=1e-12, rtol=0)


def test_an_unknown_perception_is_named() -> None:
    with pytest.raises(LociError, match="perception is 'keen'; it must be one of published, quick"):
        LociV1Config.from_json({"perception": "keen"})


def test_sending_in_turn_is_for_quick_perception() -> None:
    with pytest.raises(LociError, match="in_turn needs the perception"):
        LociV1Config(in_turn=True)
    with pytest.raises(LociError, match="in_turn = 1, which is of the wrong type"):
        LociV1Config.from_json({"perception": "quick", "in_turn": 1})
