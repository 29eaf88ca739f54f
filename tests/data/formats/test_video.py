"""Anybody's film: files, folders, alpha, odd sizes, ranges, damage, and the background behind what moves."""

import struct
import tracemalloc
import zlib
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from loci_looped.data.coordinates import resize_masks
from loci_looped.data.formats import background, video
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.formats.video import Selection
from loci_looped.utils.errors import LociError, LociWarning


def moving_square(frames: int = 30, height: int = 33, width: int = 47, seed: int = 0) -> np.ndarray:
    """(T, H, W, 3) a red square crosses a textured, slightly noisy scene."""
    random = np.random.default_rng(seed)
    scene = random.integers(60, 200, (height, width, 3))
    film = np.clip(scene + random.normal(0, 2, (frames, height, width, 3)), 0, 255).astype(np.uint8)
    for t in range(frames):
        left = round(t / (frames - 1) * (width - 10))
        film[t, 10:20, left : left + 10] = (200, 20, 20)
    return film


@pytest.fixture
def film() -> np.ndarray:
    return moving_square()


def test_lossless_film_of_odd_size_comes_back_exactly(tmp_path: Path, film: np.ndarray) -> None:
    write_film(tmp_path / "f.mkv", film, fps=10, lossless=True)
    assert (video.read(tmp_path / "f.mkv").clip.frames == film).all()
    facts = video.info(tmp_path / "f.mkv")
    assert facts.size == (33, 47) and facts.fps == 10 and not facts.has_alpha


def test_common_film_is_padded_to_even_and_near(tmp_path: Path) -> None:
    rows, columns = np.mgrid[:33, :47]
    smooth = np.stack([np.stack([rows * 5 + t, columns * 4, 0 * rows + 90], -1) for t in range(12)]).astype(np.uint8)
    write_film(tmp_path / "f.mp4", smooth, fps=25)
    frames = video.read(tmp_path / "f.mp4").clip.frames
    assert frames.shape == (12, 34, 48, 3)
    assert np.abs(frames[:, :33, :47].astype(int) - smooth).mean() < 2.5
    assert np.abs(frames[:, 33, :47].astype(int) - smooth[:, 32]).mean() < 4.0


def test_gif_has_as_many_frames_as_were_written(tmp_path: Path, film: np.ndarray) -> None:
    write_film(tmp_path / "f.gif", film[:7], fps=10)
    with Image.open(tmp_path / "f.gif") as picture:
        assert picture.n_frames == 7 and picture.info["duration"] == 100
    assert video.read(tmp_path / "f.gif").clip.frames.shape == (7, 33, 47, 3)


def test_selection_takes_the_asked_frames(tmp_path: Path, film: np.ndarray) -> None:
    write_film(tmp_path / "f.mkv", film, lossless=True)
    folder = _folder(tmp_path / "frames")
    for number, frame in enumerate(film):
        Image.fromarray(frame).save(folder / f"frame{number}.png")          # frame10 sorts after frame2
    for path in (tmp_path / "f.mkv", tmp_path / "frames"):
        taken = np.stack(list(video.frames(path, Selection(3, 20, 4))))
        assert (taken == film[3:20:4]).all()
        assert video.read(path, Selection(size=(16, 24))).clip.size == (16, 24)


def test_a_film_that_lies_on_its_side_is_turned(tmp_path: Path) -> None:
    """As phones store upright films: a quarter turn clockwise is noted in the track header."""
    film = np.full((4, 32, 48, 3), 40, np.uint8)
    film[:, :16, :16] = (220, 30, 30)                       # upper left
    write_film(tmp_path / "f.mp4", film)
    content = bytearray((tmp_path / "f.mp4").read_bytes())
    matrix = content.index(b"tkhd") + 4 + 40
    content[matrix : matrix + 36] = struct.pack(">9i", 0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30)
    (tmp_path / "f.mp4").write_bytes(content)
    frames = video.read(tmp_path / "f.mp4").clip.frames
    assert frames.shape == (4, 48, 32, 3) and video.info(tmp_path / "f.mp4").size == (48, 32)
    assert frames[0, 5, -5, 0] > 150 > frames[0, 5, 5, 0]    # upper right


def test_streaming_needs_no_more_memory_for_a_longer_film(tmp_path: Path) -> None:
    peaks = []
    for count in (60, 240):        # both leave 15 samples for the background
        write_film(tmp_path / "f.mp4", (np.full((96, 128, 3), t % 256, np.uint8) for t in range(count)))
        tracemalloc.start()
        for _ in video.frames(tmp_path / "f.mp4"):
            pass
        video.background(tmp_path / "f.mp4", samples=8)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_alpha_shows_black_and_is_told(tmp_path: Path, film: np.ndarray) -> None:
    folder = _folder(tmp_path / "rgba")
    for number, frame in enumerate(film[:5]):
        alpha = np.full((33, 47, 1), 255, np.uint8)
        alpha[:5] = 0 if number == 2 else 255
        Image.fromarray(np.concatenate([frame, alpha], axis=2)).save(folder / f"{number}.png")
    reading = video.read(folder)
    assert (reading.clip.frames[2, :5] == 0).all() and (reading.clip.frames[1] == film[1]).all()
    assert any("transparent" in note for note in reading.notes)


def test_palette_and_grey_pictures_are_frames_too(tmp_path: Path, film: np.ndarray) -> None:
    folder = _folder(tmp_path / "mixed")
    Image.fromarray(film[0]).convert("L").save(folder / "0.png")
    Image.fromarray(film[1]).quantize(16).save(folder / "1.png")
    assert video.read(folder).clip.frames.shape == (2, 33, 47, 3)


def test_pictures_of_16_bits_are_scaled_not_cut(tmp_path: Path, film: np.ndarray) -> None:
    folder = _folder(tmp_path / "deep")
    grey = np.asarray(Image.fromarray(film[0]).convert("L"))
    Image.fromarray(grey).save(folder / "0.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(folder / "1.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(folder / "2.tif")
    Image.fromarray(grey.astype(np.int32) * 257).save(folder / "3.tif")
    Image.fromarray((grey / 255).astype(np.float32)).save(folder / "4.tif")
    frames = video.read(folder).clip.frames
    assert (frames == frames[0]).all() and (frames[0, ..., 0] == grey).all()
    Image.fromarray(grey.astype(np.int32) * 70000).save(folder / "5.tif")
    with pytest.raises(LociError, match=r"5\.tif has grey values .* which of them is white"):
        video.read(folder)


def test_colours_of_16_bits_are_scaled_not_cut(tmp_path: Path, film: np.ndarray) -> None:
    """Pillow takes the upper byte of each colour; written by hand, because Pillow cannot write such files."""
    folder = _folder(tmp_path / "deep")
    Image.fromarray(film[0]).save(folder / "0.png")
    deep = film[0].astype(np.uint16) * 257
    alpha = np.full((*deep.shape[:2], 1), 65535, np.uint16)
    _write_deep_png(folder / "1.png", deep)
    _write_deep_png(folder / "2.png", np.concatenate([deep, alpha], axis=2))
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(folder / "3.tif", deep, photometric="rgb")
    frames = video.read(folder).clip.frames
    assert (frames == film[0]).all()


def _write_deep_png(path: Path, pixels: np.ndarray) -> None:
    """(H, W, 3 or 4) in uint16, by the definition of the format: big-endian rows, each behind a filter byte of 0."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 16, {3: 2, 4: 6}[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    ))


def test_without_a_stride_a_film_gives_about_eight_frames_per_second(tmp_path: Path, film: np.ndarray) -> None:
    for fps, stride in ((25, 3), (8, 1), (60, 7)):
        write_film(tmp_path / "f.mkv", film, fps=fps, lossless=True)
        assert (np.stack(list(video.frames(tmp_path / "f.mkv", Selection(2, stride=None)))) == film[2::stride]).all()
    folder = _folder(tmp_path / "frames")
    for number, frame in enumerate(film[:4]):
        Image.fromarray(frame).save(folder / f"{number}.png")
    assert len(list(video.frames(folder, Selection(stride=None)))) == 4


def test_background_is_found_behind_a_mover(film: np.ndarray) -> None:
    scene = moving_square(frames=2, seed=0)[0]          # the same texture; the square stands elsewhere
    guess = background.estimate(film)
    error = np.abs(guess.image.astype(int) - scene).max(axis=-1)
    error[10:20, :10] = 0                               # where this frame shows the square itself
    assert error.max() <= 8 and guess.known.mean() > 0.98


def test_mode_beats_the_median_where_a_pixel_is_mostly_covered() -> None:
    random = np.random.default_rng(1)
    film = random.integers(0, 256, (40, 6, 6, 3)).astype(np.uint8)      # 60 % passers-by of all colours
    film[::5], film[1::5] = (30, 40, 220), (31, 39, 221)                  # 40 % the wall
    guess = background.estimate(film)
    assert np.abs(guess.image.astype(int) - (30, 40, 220)).max() <= 4 and guess.known.all()
    assert np.abs(np.median(film, axis=0) - (30, 40, 220)).max() > 10  # the median alone would be wrong


def test_pixels_nobody_saw_are_reported(tmp_path: Path) -> None:
    film = np.full((40, 20, 30, 3), 90, np.uint8)
    film[:, 4:8, 5:9] = np.random.default_rng(0).integers(0, 256, (40, 4, 4, 3))
    write_film(tmp_path / "f.mkv", film, lossless=True)
    reading = video.read(tmp_path / "f.mkv")
    unknown = ~reading.background_known
    assert unknown[4:8, 5:9].sum() >= 12 and unknown.sum() == unknown[4:8, 5:9].sum()
    assert any("never uncovered" in note for note in reading.notes)


def test_a_clean_picture_of_the_scene_is_taken_as_it_is(tmp_path: Path, film: np.ndarray) -> None:
    write_film(tmp_path / "f.mkv", film, lossless=True)
    clean = np.full((33, 47, 3), 7, np.uint8)
    assert (video.read(tmp_path / "f.mkv", clean=clean).clip.background == 7).all()


def test_masks_are_picked_not_blended() -> None:
    mask = np.zeros((8, 12), bool)
    mask[2:6, 3:9] = True
    assert (resize_masks(mask, (4, 6)) == mask[1::2, 1::2]).all()
    assert (resize_masks(resize_masks(mask, (16, 24)), (8, 12)) == mask).all()


# ---- bad input: a sentence that names the file -------------------------------------------------------------------

def test_missing_things_are_named(tmp_path: Path) -> None:
    with pytest.raises(LociError, match=r"nowhere\.mp4"):
        video.read(tmp_path / "nowhere.mp4")
    with pytest.raises(LociError, match="holds no pictures"):
        video.read(_folder(tmp_path / "empty"))


def test_corrupt_films_are_named(tmp_path: Path, film: np.ndarray) -> None:
    (tmp_path / "noise.mp4").write_bytes(np.random.default_rng(0).bytes(5000))
    with pytest.raises(LociError, match=r"noise\.mp4.*damaged"):
        video.read(tmp_path / "noise.mp4")
    write_film(tmp_path / "f.mp4", film)
    whole = (tmp_path / "f.mp4").read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LociError, match=r"cut\.mp4"):
        video.read(tmp_path / "cut.mp4")
    (tmp_path / "no_frames.mp4").write_bytes(b"")
    with pytest.raises(LociError, match=r"no_frames\.mp4"):
        video.read(tmp_path / "no_frames.mp4")


def test_a_film_that_breaks_off_is_used_as_far_as_it_goes(tmp_path: Path, film: np.ndarray) -> None:
    with av.open(str(tmp_path / "f.mp4"), "w", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt, stream.options = 46, 32, "yuv420p", {"g": "1", "bf": "0"}
        for frame in film:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame[:32, :46].copy(), format="rgb24")))
        container.mux(stream.encode(None))
    whole = (tmp_path / "f.mp4").read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) * 2 // 3])
    reading = video.read(tmp_path / "cut.mp4")
    assert 5 < len(reading.clip) < 30
    (note,) = (note for note in reading.notes if "breaks off" in note)
    assert f"cut.mp4 breaks off after {len(reading.clip)} frames" in note
    assert np.abs(reading.clip.frames[-1].astype(int) - film[len(reading.clip) - 1, :32, :46]).mean() < 30
    # A stream says the same while it is read; whoever asks for the whole part only is told nothing.
    with pytest.warns(LociWarning, match="breaks off"):
        assert len(list(video.frames(tmp_path / "cut.mp4"))) == len(reading.clip)
    whole_part = video.read(tmp_path / "cut.mp4", Selection(stop=len(reading.clip)))
    assert not any("breaks off" in note for note in whole_part.notes)


def test_a_film_that_announces_a_frame_too_many_is_used_and_that_is_said(tmp_path: Path, film: np.ndarray) -> None:
    path = tmp_path / "f.avi"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=25)
        stream.width, stream.height, stream.pix_fmt = 46, 32, "yuvj420p"
        for frame in film:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame[:32, :46].copy(), format="rgb24")))
        container.mux(stream.encode(None))
    content = bytearray(path.read_bytes())
    length = content.index(b"strh") + 8 + 32            # dwLength of the stream's header
    assert struct.unpack_from("<I", content, length) == (30,)
    struct.pack_into("<I", content, length, 31)
    path.write_bytes(content)
    reading = video.read(path)
    assert len(reading.clip) == 30
    assert any("after 30 frames (the file announces 31" in note for note in reading.notes)


def test_one_frame_is_no_clip(tmp_path: Path, film: np.ndarray) -> None:
    write_film(tmp_path / "one.mp4", film[:1])
    with pytest.raises(LociError, match=r"one\.mp4 gives only one frame"):
        video.read(tmp_path / "one.mp4")
    write_film(tmp_path / "f.mp4", film)
    with pytest.raises(LociError, match="no frame"):
        video.read(tmp_path / "f.mp4", Selection(start=1000))


def test_a_damaged_or_different_picture_is_named(tmp_path: Path, film: np.ndarray) -> None:
    folder = _folder(tmp_path / "frames")
    for number, frame in enumerate(film[:3]):
        Image.fromarray(frame).save(folder / f"{number}.png")
    good = (folder / "1.png").read_bytes()
    (folder / "1.png").write_bytes(good[:200])
    with pytest.raises(LociError, match=r"1\.png"):
        video.read(folder)
    Image.fromarray(film[1][:20]).save(folder / "1.png")
    with pytest.raises(LociError, match=r"1\.png is 20x47"):
        video.read(folder)


@pytest.mark.parametrize("bad", [{"start": -1}, {"stride": 0}, {"start": 5, "stop": 5}, {"size": (0, 3)}])
def test_impossible_selections_are_refused(bad: dict) -> None:
    with pytest.raises(LociError):
        Selection(**bad)


@pytest.mark.parametrize(("name", "frames", "words"), [
    ("f.xyz", np.zeros((2, 8, 8, 3), np.uint8), "must end in"),
    ("f.mp4", np.zeros((0, 8, 8, 3), np.uint8), "no frames"),
    ("f.mp4", np.zeros((2, 8, 8), np.uint8), r"\(H, W, 3\)"),
    ("f.mp4", np.zeros((2, 8, 8, 3), np.float32), "uint8"),
])
def test_what_is_no_film_is_not_written(tmp_path: Path, name: str, frames: np.ndarray, words: str) -> None:
    with pytest.raises(LociError, match=words):
        write_film(tmp_path / name, frames)
    assert not list(tmp_path.iterdir())


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
