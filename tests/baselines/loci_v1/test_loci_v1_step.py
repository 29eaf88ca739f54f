"""One time step of Loci-v1: any batch, no hidden state, repeatable in use, and sentences for what cannot be."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
import torch
from torch import Tensor

from loci_looped.baselines.loci_v1 import PRESETS, LociV1, LociV1Config, LociV1VideoModel, preset
from loci_looped.baselines.loci_v1.draws import RandomDraws
from loci_looped.baselines.loci_v1.losses import faded_target, step_losses
from loci_looped.baselines.protocol import VideoModel
from loci_looped.utils.errors import LociError

TINY = dataclasses.replace(
    preset("loci-v1-small"), slots=3, gestalt=8, latent=(4, 6), encoder_channels=12, decoder_channels=12,
    decoder_layers=1,
)


def tiny(**changes: Any) -> LociV1:
    torch.manual_seed(0)
    return LociV1(dataclasses.replace(TINY, **changes)).eval()


def frames(batch: int = 2, length: int = 4) -> Tensor:
    return torch.rand(batch, length, 3, 16, 24, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def watched(model: LociV1, film: Tensor) -> list[Any]:
    watching, said = LociV1VideoModel(model, warm_up=2), []
    state = watching.initial(torch.zeros_like(film[:, 0]))
    for frame in film.unbind(1):
        state, slots = watching.step(frame, state)
        said.append(slots)
    return said


@pytest.mark.parametrize("perception", ["published", "quick"])
def test_it_speaks_the_protocol_and_repeats_itself(perception: str) -> None:
    model = tiny(perception=perception, in_turn=perception == "quick")
    assert isinstance(LociV1VideoModel(model), VideoModel)
    once, again = watched(model, frames()), watched(model, frames())
    for ours, theirs in zip(once, again, strict=True):
        assert torch.equal(ours.positions, theirs.positions)
        assert ours.object_masks is None and ours.occlusion is None and not ours.hidden.any()
        assert ours.expectation is not None
        torch.testing.assert_close(ours.expectation.visible_masks_with_background.sum(1), torch.ones(2, 16, 24))


def test_a_batch_gives_what_its_clips_give_alone() -> None:
    model, film = tiny(), frames(3)
    together = watched(model, film)
    for index in range(3):
        for ours, theirs in zip(watched(model, film[index : index + 1]), together, strict=True):
            torch.testing.assert_close(ours.positions[0], theirs.positions[index], atol=1e-5, rtol=1e-4)


def test_in_a_blackout_there_is_neither_frame_nor_error() -> None:
    model = tiny()
    watching = LociV1VideoModel(model, warm_up=1)
    with torch.no_grad():
        state, _ = watching.step(frames()[:, 0], watching.initial(torch.zeros(2, 3, 16, 24)))
        dark, said = watching.step(frames()[:, 1], state, blackout=torch.tensor([True, False]))
        by_hand, _ = model.step(
            torch.stack([torch.zeros(3, 16, 24), frames()[1, 1]]), state,
            error=torch.stack([torch.zeros(1, 16, 24), model.error(frames()[:, 1], state)[1]]),
        )
    assert torch.equal(dark.next_frame.frame, by_hand.next_frame.frame) and said.presence.shape == (2, 3)


def test_without_a_frame_it_says_so() -> None:
    watching = LociV1VideoModel(tiny())
    with pytest.raises(LociError, match="Loci-v1 cannot imagine without a frame"):
        watching.step(None, watching.initial(torch.zeros(1, 3, 16, 24)))
    with pytest.raises(LociError, match=r"frame must be \(batch, 3, 16, 24\) in RGB, but it is \(1, 3, 16, 16\)"):
        watching.step(torch.zeros(1, 3, 16, 16), watching.initial(torch.zeros(1, 3, 16, 24)))
    with pytest.raises(LociError, match=r"holds torch\.uint8; divide by 255"):
        watching.initial(torch.zeros(1, 3, 16, 24, dtype=torch.uint8))


def test_gradients_that_no_loss_gives_are_there() -> None:
    """The growing gain on sizes and the fading background are pushed by constants."""
    model, film = tiny(perception="published", in_turn=False).train(), frames()
    background = torch.full_like(film[:, 0], 0.5)
    _, output = model.step(film[:, 0], model.initial(background), RandomDraws(torch.Generator().manual_seed(0)))
    sum(step_losses(model, output, film[:, 1], warm=False).values()).backward()
    assert float(model.encoder.size_growth.grad) == -1 and float(model.backdrop.growth.grad) == -0.5
    unused = {"predictor.priority_factor", "predictor.index_factor"}
    assert {name for name, p in model.named_parameters() if p.grad is None} <= unused


def test_the_target_fades_with_the_background() -> None:
    background = torch.full((1, 3, 2, 2), 0.5)
    frame = background.clone()
    frame[0, :, 0, 0] = 1.0
    for strength, rest in ((0.0, 0.0), (0.4, 0.2), (1.0, 0.5)):
        faded = faded_target(frame, background, torch.tensor(strength))
        assert float(faded[0, 0, 0, 0]) == 1.0 and float(faded[0, 0, 1, 1]) == pytest.approx(rest)


@pytest.mark.parametrize("name", PRESETS)
def test_configurations_survive_json(name: str) -> None:
    assert LociV1Config.from_json(json.loads(json.dumps(PRESETS[name].to_json()))) == PRESETS[name]


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"slots": 0}, "slots is 0"), ({"level": 2}, "level 2 of 1 is not possible"),
    ({"fine_channels": 8}, "a multiple of the 12 input"), ({"latent": (1, 4)}, "must be two numbers"),
    ({"encoder_channels": 30}, "a multiple of fine_channels"), ({"gestalt": 40}, "must be a multiple of it"),
])
def test_impossible_networks_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LociError, match=sentence):
        dataclasses.replace(preset("loci-v1-small"), **changes)


def test_unknown_names_and_fields_are_answered_with_the_nearest() -> None:
    with pytest.raises(LociError, match="Did you mean loci-v1-small"):
        preset("loci-v1-smal")
    with pytest.raises(LociError, match="has no field 'slot'; did you mean 'slots'"):
        LociV1Config.from_json({"slot": 3})
    with pytest.raises(LociError, match=r"says slots = 3\.5"):
        LociV1Config.from_json({"slots": 3.5})
