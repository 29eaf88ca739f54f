"""Damaged films, pictures, clips, links, messages, networks and checkpoints: a sentence, or the right result.

Never a traceback, never a wrong result in silence, never something half-written. Every case has a number, so that a
failure can be repeated: `films(number, folder)`.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import torch
from damage import damaged_bytes, damaged_value
from PIL import Image

from loci_looped.app.playback import ClipPlayback
from loci_looped.app.scenes import lab_scene, opening_scene
from loci_looped.app.session import Session
from loci_looped.app.settings import Settings
from loci_looped.app.wire import read_request
from loci_looped.cli.main import main
from loci_looped.configs.network import DecoderConfig, EncoderConfig, TransitionConfig
from loci_looped.configs.recipes import recipe
from loci_looped.data.formats import video
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.formats.images import read_rgb
from loci_looped.data.render.clips import make_clip
from loci_looped.data.render.scene_render import render_frame
from loci_looped.data.scenes.scene_json import describe
from loci_looped.data.store.clip_file import load_clip, save_clip
from loci_looped.inference.networks import load, save_network
from loci_looped.model import LociConfig, LociLooped
from loci_looped.model.released.checkpoint import read_official
from loci_looped.utils.checkpoint import Checkpoint, newest_checkpoint, read_checkpoint, write_checkpoint
from loci_looped.utils.errors import LociError, LociWarning

SIZE = (32, 48)
FRAMES = 12
TINY = LociConfig(
    slots=5, gestalt=4, latent=(4, 6), encoder=EncoderConfig(channels=6, fine_channels=12, layers=1),
    decoder=DecoderConfig(channels=6, fine_channels=6, layers=1), transition=TransitionConfig(layers=1),
)


@cache
def pixels() -> np.ndarray:
    """(T, H, W, 3) a square that crosses a slope."""
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    slope = np.stack([rows * 3 + 60, columns * 2 + 80, rows + columns + 50], axis=-1)
    film = np.repeat(slope[None], FRAMES, axis=0).astype(np.uint8)
    for t in range(FRAMES):
        film[t, 8:20, 3 * t : 3 * t + 10] = (220, 30, 40)
    return film


@cache
def tiny() -> LociLooped:
    torch.manual_seed(0)
    return LociLooped(TINY).eval()


def is_sentence(error: Exception) -> bool:
    """Not a bare complaint of some library: words, with an end."""
    text = str(error)
    return isinstance(error, ValueError) and len(text.split()) >= 4 and "Traceback" not in text


# ---- the kinds of things that can be damaged ---------------------------------------------------------------------

def films(number: int, folder: Path) -> None:
    """Frames are all there, or fewer and that is said, or none and that is an error."""
    suffix = (".mp4", ".mkv", ".gif", ".avi")[number % 4]
    path = folder / f"film{suffix}"
    _write_film(path)
    whole = len(list(video.frames(path)))
    path.write_bytes(damaged_bytes(path.read_bytes(), np.random.default_rng(number)))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            frames = list(video.frames(path))
        except LociError as error:
            assert is_sentence(error)
            return
    told = any(issubclass(warning.category, LociWarning) for warning in said)
    assert all(frame.dtype == np.uint8 and frame.shape == frames[0].shape for frame in frames)
    # GIFs tell neither their length nor their end; what FFmpeg skips in a film without a gap in time is its affair.
    assert len(frames) >= whole or told or suffix in (".gif", ".mkv", ".avi"), f"{len(frames)} of {whole}, and silence"


def _write_film(path: Path) -> None:
    if path.suffix != ".avi":
        write_film(path, pixels(), fps=10, lossless=path.suffix == ".mkv")
        return
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=10)
        stream.width, stream.height, stream.pix_fmt = SIZE[1], SIZE[0], "yuvj420p"
        for frame in pixels():
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode(None))


def pictures(number: int, folder: Path) -> None:
    """PNG has checksums, so its pixels are right or refused; the others are pictures or refused."""
    suffix = (".png", ".jpg", ".bmp", ".tif", ".webp")[number % 5]
    path = folder / f"picture{suffix}"
    Image.fromarray(pixels()[3]).save(path)
    right = read_rgb(path)[0]
    path.write_bytes(damaged_bytes(path.read_bytes(), np.random.default_rng(number)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found, _ = read_rgb(path)
        except LociError as error:
            assert is_sentence(error) and "picture" in str(error)
            return
    assert found.dtype == np.uint8 and found.ndim == 3 and found.shape[2] == 3
    if suffix == ".png":
        assert np.array_equal(found, right)


def clips(number: int, folder: Path) -> None:
    """Everything in a clip has a checksum: what is read is what was written."""
    clip = _clip()
    path = save_clip(clip, folder / "one.clip")
    path.write_bytes(damaged_bytes(path.read_bytes(), np.random.default_rng(number)))
    try:
        found = load_clip(path)
    except LociError as error:
        assert is_sentence(error)
        return
    assert np.array_equal(found.frames, clip.frames) and np.array_equal(found.background, clip.background)
    assert found.truth is not None and clip.truth is not None
    assert np.array_equal(found.truth.object_masks, clip.truth.object_masks) and found.events == clip.events


@cache
def _clip() -> Any:
    return make_clip("vanish-control", 7, samples=1).strided(3, stop=12)


def links(number: int, folder: Path) -> None:
    """A scene from a link can be drawn, or is refused."""
    description = damaged_value(json.loads(json.dumps(describe(opening_scene()))), np.random.default_rng(number))
    try:
        scene = lab_scene(description, Settings())
        drawn = render_frame(scene, 6, (16, 24))
    except LociError as error:
        assert is_sentence(error)
        return
    assert drawn.image.shape == (16, 24, 3) and drawn.image.dtype == np.uint8


def messages(number: int, folder: Path) -> None:
    """The lab answers a message, or refuses it, and the session goes on."""
    random = np.random.default_rng(number)
    session = _session()
    scene = json.loads(json.dumps(describe(opening_scene())))
    slot = {"bound": True, "position": [0.1, 0.2], "size": 0.1, "priority": 1.0, "gestalt": [0.0] * TINY.gestalt}
    orders: list[dict[str, Any]] = [
        {"type": "open", "scene": scene}, {"type": "change", "scene": scene}, {"type": "next", "blackout": False},
        {"type": "preview", "scene": scene, "frame": 3, "rough": True}, {"type": "decode", "slots": [slot] * 5},
        {"type": "adopt", "frame": 0, "slots": [slot] * 5}, {"type": "open", "clip": "nothing"},
    ]
    order = orders[int(random.integers(len(orders)))]
    text = json.dumps(damaged_value(order, random))
    if random.random() < 0.2:
        text = damaged_bytes(text.encode(), random).decode("utf-8", "replace")
    session.answer({"type": "open", "scene": scene})
    session.answer({"type": "next"})
    try:
        answer = session.answer(read_request(text))
        assert isinstance(answer, bytes) and len(answer) > 4
    except LociError as error:
        assert is_sentence(error)
    assert session.answer({"type": "next"})


@cache
def _session() -> Session:
    def find(name: str) -> ClipPlayback:
        raise LociError("This film is no longer here; upload it again.")

    return Session(tiny(), dataclasses.replace(Settings(), view=(24, 36)), find)


def networks(number: int, folder: Path) -> None:
    """A network is the one that was stored, or refused; a description that was edited is what it says."""
    place = save_network(folder / "network", tiny(), {"note": "for a test"})
    name = ("config.json", "weights.safetensors", "weights.safetensors", "manifest.json")[number % 4]
    (place / name).write_bytes(damaged_bytes((place / name).read_bytes(), np.random.default_rng(number)))
    try:
        found = load(place)
    except ValueError as error:
        assert is_sentence(error)
        return
    for (key, ours), theirs in zip(tiny().state_dict().items(), found.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), key


def checkpoints(number: int, folder: Path) -> None:
    """A damaged checkpoint is passed over in favour of the one before it, with a word about it."""
    config = dataclasses.replace(recipe("adept-small"), model=TINY)
    values = {"config": config.to_json(), "level": 1, "seconds": 3.5, "calls": 7}
    tensors = {"weights": dict(tiny().state_dict()), "average": dict(tiny().state_dict())}
    for update in (10, 20):
        newest = write_checkpoint(folder / "checkpoints", Checkpoint(update, tensors, values))
    random = np.random.default_rng(number)
    file = sorted(newest.iterdir())[int(random.integers(len(list(newest.iterdir()))))]
    file.write_bytes(damaged_bytes(file.read_bytes(), random))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = newest_checkpoint(folder / "checkpoints")
    assert found.values == json.loads(json.dumps(values))
    assert (found.update == 20) is not any("Falling back" in str(warning.message) for warning in said)
    for key, tensor in found.tensors["average"].items():
        assert torch.equal(tensor, tiny().state_dict()[key])
    if found.update == 10:
        with pytest.raises(LociError) as told:
            read_checkpoint(newest)
        assert is_sentence(told.value)


def official(number: int, folder: Path) -> None:
    """A file of the authors' layout is refused when it is damaged; nothing in it is run."""
    path = folder / "net.pt"
    torch.save({"model": {f"layer.{i}": torch.arange(20.0) for i in range(3)}}, path)
    path.write_bytes(damaged_bytes(path.read_bytes(), np.random.default_rng(number)))
    # None of these is a whole network, so there is always a sentence; which one tells how far the reader got.
    with pytest.raises(ValueError) as told:
        read_official(path, "adept")
    assert is_sentence(told.value) and "weights_only" not in str(told.value)


def lines(number: int, folder: Path) -> None:
    """The command line itself on something damaged: exit code 0 or 2, and nothing is left of what did not work."""
    random = np.random.default_rng(number)
    name = ("film.mp4", "one.clip", "frames/1.png")[number % 3]
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if name == "film.mp4":
        write_film(path, pixels(), fps=8)
    elif name == "one.clip":
        save_clip(_clip(), path)
    else:
        for index in range(3):
            Image.fromarray(pixels()[index]).save(path.with_name(f"{index}.png"))
    path.write_bytes(damaged_bytes(path.read_bytes(), random))
    asked = path.parent if name == "frames/1.png" else path
    before = set(folder.rglob("*"))
    code = main(["inspect", str(asked), "--out", str(folder / "sheet.png")])
    assert code in (0, 2)
    assert set(folder.rglob("*")) - before == ({folder / "sheet.png"} if code == 0 else set())


CASES: dict[str, tuple[Callable[[int, Path], None], int]] = {
    "films": (films, 30), "pictures": (pictures, 35), "clips": (clips, 25), "links": (links, 40),
    "messages": (messages, 15), "networks": (networks, 20), "checkpoints": (checkpoints, 10),
    "official": (official, 15), "lines": (lines, 10),
}
"""Each kind with its share of the two hundred."""


def run_cases(kind: str, count: int, first: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for number in range(first, first + count):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        try:
            CASES[kind][0](number, folder)
        except Exception as error:
            raise AssertionError(f"{kind}, number {number}: {type(error).__name__}: {error}") from error
        assert not list(folder.rglob(".*")), "something half-written is left"
        shutil.rmtree(folder)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("kind", CASES)
def test_damaged_things_are_told_or_right(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_cases(kind, CASES[kind][1], 0, tmp_path, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_two_thousand_damaged_things(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_cases(kind, 10 * CASES[kind][1], 1000, tmp_path, capfd)
