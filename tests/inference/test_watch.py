from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.formats.video import Selection
from loci_looped.data.render.clips import make_clip
from loci_looped.inference.pixels import to_tensor
from loci_looped.inference.stream import background_of, open_source
from loci_looped.inference.watch import FIRST_DARK, blackouts, watch
from loci_looped.model.loci import LociLooped
from loci_looped.utils.errors import LociError, LociWarning


@pytest.fixture(scope="module")
def model() -> LociLooped:
    torch.manual_seed(0)
    return LociLooped("adept-small").eval()


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    return make_clip("vanish-control", 7, samples=1).frames[:12]


def test_every_frame_is_told_once_with_all_that_is_promised(model: LociLooped, frames: np.ndarray) -> None:
    told = list(watch(model, frames))
    assert [seen.number for seen in told] == list(range(12))
    last = told[-1]
    assert last.percept.position.shape == (5, 2) and last.surprise.shape == (5,) and last.gate.shape == (5, 2)
    assert last.occlusion.shape == last.bound.shape == (5,)
    assert last.behind_the_screen.shape == (40, 60, 3) and last.behind_the_screen.dtype == np.uint8
    assert not last.percept.position.requires_grad


def test_the_lights_go_out_by_chance_but_not_at_first() -> None:
    dark = [blackouts(0.2)(number) for number in range(1000)]
    assert not any(dark[:FIRST_DARK]) and 150 < sum(dark) < 250
    assert dark == [blackouts(0.2)(number) for number in range(1000)]
    assert not any(blackouts(0.0)(number) for number in range(50)) and all(blackouts(1.0)(n) for n in range(6, 50))
    with pytest.raises(LociError, match="between 0 and 1"):
        blackouts(1.2)


def test_watching_is_stepping(model: LociLooped, frames: np.ndarray) -> None:
    background = frames[0]
    state = model.initial(to_tensor(background)[None])
    with torch.no_grad():
        state = model.warm_up(to_tensor(frames[:1]), state)
        outputs = []
        for frame in frames:
            state, output = model.step(to_tensor(frame)[None], state)
            outputs.append(output)
    for seen, output in zip(watch(model, frames, background=background), outputs, strict=True):
        assert torch.equal(seen.output.percept.position, output.percept.position)
        assert torch.equal(seen.output.slot_error, output.slot_error)


def test_films_folders_arrays_and_tensors_are_the_same_to_it(
    model: LociLooped, frames: np.ndarray, tmp_path: Path
) -> None:
    write_film(tmp_path / "film.mkv", frames, fps=8, lossless=True)
    for number, frame in enumerate(frames):
        Image.fromarray(frame).save(tmp_path / f"{number}.png")
    tensor = to_tensor(frames)
    expected = [seen.percept.position for seen in watch(model, frames)]
    for source in (tmp_path / "film.mkv", str(tmp_path), tensor):
        found = [seen.percept.position for seen in watch(model, source)]
        assert len(found) == len(expected)
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(found, expected, strict=True)), source


def test_a_large_film_is_made_to_fit_and_kept_for_drawing(model: LociLooped, frames: np.ndarray) -> None:
    large = frames.repeat(3, axis=1).repeat(3, axis=2)
    seen = next(iter(watch(model, large)))
    assert seen.picture.shape == (120, 180, 3) and seen.frame.shape == (40, 60, 3)


def test_generated_scenes_bring_their_truth_and_background(model: LociLooped) -> None:
    told = list(watch(model, "vanish:seed=3,kind=surprise", selection=Selection(stop=2)))
    assert len(told) == 2 and told[0].truth is not None
    assert told[0].truth.kinds.count("screen") == 1 and told[0].truth.object_masks.shape == (1, 3, 40, 60)


def test_a_blackout_is_black_and_not_surprising(model: LociLooped, frames: np.ndarray) -> None:
    told = list(watch(model, frames, blackout=lambda number: number == 5))
    assert told[5].frame.max() == 0 and told[5].picture.max() > 0 and told[4].frame.max() > 0
    assert told[5].surprise.abs().max() == 0


def test_memory_does_not_grow_with_the_stream(model: LociLooped, frames: np.ndarray) -> None:
    def endless() -> Iterator[np.ndarray]:
        while True:
            yield from frames

    def tensors() -> int:
        gc.collect()
        return sum(1 for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor))

    stream = watch(model, endless(), background=frames[0])
    counts = []
    for number, seen in enumerate(stream):
        assert seen.number == number
        if number % 20 == 19:
            counts.append(tensors())
        if number == 79:
            break
    assert max(counts) == min(counts)


def test_a_stream_that_passes_once_is_not_robbed_of_its_first_frames(frames: np.ndarray) -> None:
    moving = np.full((60, 8, 12, 3), 100, np.uint8)
    for t in range(60):
        moving[t, 3:5, t % 12] = 250
    picture, rest = background_of(open_source(iter(moving)), (8, 12))
    assert np.abs(picture.astype(int) - 100).max() <= 1
    assert sum(1 for _ in rest.frames()) == 60


def test_a_given_background_wins(model: LociLooped, frames: np.ndarray, tmp_path: Path) -> None:
    empty = np.full((80, 120, 3), 77, np.uint8)
    Image.fromarray(empty).save(tmp_path / "empty.png")
    seen = next(iter(watch(model, frames, background=tmp_path / "empty.png")))
    assert (seen.background == 77).all() and seen.background.shape == (40, 60, 3)


def test_the_gate_is_used_as_asked(model: LociLooped, frames: np.ndarray) -> None:
    *_, last = watch(model, frames, gate="open")
    assert bool((last.gate == 1).all())


@pytest.mark.parametrize(("source", "words"), [
    ("no-such-film.mp4", "no film or folder"),
    ("vanish:seed=minus", "whole number"),
    ("vanish:speed=3", "not understood"),
    ("vanish:seed=1,kind=explode", "kind of scene"),
    ("camera:97", "no camera"),
    (np.zeros((3, 8, 8), np.uint8), "must be"),
    (np.zeros((0, 8, 8, 3), np.uint8), "at least 1"),
    (np.full((2, 8, 8, 3), 3.5), "from 0 to 1"),
    (np.full((2, 8, 8, 3), np.nan), "from 0 to 1"),
    (iter([]), "no frames"),
    (17, "cannot be watched"),
])
def test_bad_input_is_answered_with_a_sentence(model: LociLooped, source: object, words: str) -> None:
    with pytest.raises(LociError, match=words) as caught:
        list(watch(model, source))      # type: ignore[arg-type]
    assert str(caught.value).endswith(".")


def test_a_text_file_is_not_a_film(model: LociLooped, tmp_path: Path) -> None:
    (tmp_path / "notes.mp4").write_text("not a film at all")
    with pytest.raises(LociError, match="not a film"):
        list(watch(model, tmp_path / "notes.mp4"))


def test_every_named_scene_is_the_one_the_generators_make() -> None:
    for name, scene in (("surprise", "vanish-surprise"), ("control-1", "vanish-control-1"), ("training", "vanish"),
                        ("colour", "violations-colour"), ("colour-control", "violations-colour-control")):
        # Every third frame is shown; the 35th and the 79th come after anything impossible has happened.
        frames = list(open_source(f"vanish:seed=4,kind={name}", Selection(35, stride=44)).frames())
        clip = make_clip(scene, 4, frames=range(105, 125 if name == "training" else 238, 132))
        assert len(frames) == len(clip) == (1 if name == "training" else 2)
        assert all(np.array_equal(frame.picture, picture) for frame, picture in zip(frames, clip.frames, strict=True))


# ---- what a careful user is told -----------------------------------------------------------------------------------

def test_a_fast_film_is_watched_at_the_rate_networks_are_used_to(
    model: LociLooped, frames: np.ndarray, tmp_path: Path
) -> None:
    write_film(tmp_path / "film.mkv", frames, fps=25, lossless=True)
    seen = list(watch(model, tmp_path / "film.mkv"))
    assert [int(moment.frame.sum()) for moment in seen] == [int(frame.sum()) for frame in frames[::3]]
    assert seen[1].time == pytest.approx(3 / 25)
    assert len(list(watch(model, tmp_path / "film.mkv", selection=Selection()))) == len(frames)


def test_a_film_of_another_shape_is_watched_and_that_is_said(model: LociLooped, frames: np.ndarray) -> None:
    with pytest.warns(LociWarning, match="40 x 40 pixels and is squeezed into 40 x 60.*1.50 times"):
        next(watch(model, frames[:, :, :40]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(watch(model, frames))


@pytest.mark.parametrize(("source", "background", "words"), [
    ("", None, "Watch what"),
    ("  ", None, "Watch what"),
    (np.zeros((1, 40, 60, 3), np.uint8), None, "only one frame"),
    (np.zeros((3, 40, 60, 3), np.uint8), np.zeros((3, 5, 3), np.uint8), "3 x 5 pixels, but the network"),
    (np.zeros((3, 40, 60, 3), np.uint8), np.zeros((90, 60, 3), np.uint8), "different shapes"),
])
def test_what_cannot_be_meant_is_refused(
    model: LociLooped, source: str | np.ndarray, background: np.ndarray | None, words: str
) -> None:
    with pytest.raises(LociError, match=words):
        next(watch(model, source, background=background))


def test_one_frame_is_enough_with_a_picture_of_the_empty_scene(model: LociLooped, frames: np.ndarray) -> None:
    assert len(list(watch(model, frames[:1], background=frames[0]))) == 1
