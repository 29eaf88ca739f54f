"""Clips written in the layouts of ADEPT, CLEVRER and G-SWM come back with equal frames, masks and positions."""

import dataclasses
import json
import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from loci_looped.configs.scenes import BallsScenario
from loci_looped.data import scenes
from loci_looped.data.clip import Clip, Event
from loci_looped.data.formats import adept, clevrer, gswm, rle
from loci_looped.data.formats.adept_events import is_surprising
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.formats.video import Selection
from loci_looped.data.render.balls_render import render_balls
from loci_looped.data.render.clips import make_clip
from loci_looped.data.scenes import balls
from loci_looped.data.scenes.camera import Camera, project, unproject
from loci_looped.data.scenes.collide import CAMERA
from loci_looped.data.store.clip_spec import ClipSpec
from loci_looped.data.store.generate import clip_name
from loci_looped.utils.errors import LociError

FPS = 25 / 3 / 4          # every fourth frame of the test scene, which itself has every third of 25 per second


@pytest.fixture(scope="module")
def surprise() -> Clip:
    """Two movers and a screen; one mover is removed while hidden, the screen falls."""
    return make_clip("vanish-surprise", 3).strided(4)


@pytest.fixture(scope="module")
def adept_folder(surprise: Clip, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return adept.write(tmp_path_factory.mktemp("adept"), "human_disappear_fixed_Cube_1", surprise, FPS)


def assert_same_truth(ours: Clip, theirs: Clip) -> None:
    assert ours.truth is not None and theirs.truth is not None
    assert theirs.truth.names == ours.truth.names and theirs.truth.kinds == ours.truth.kinds
    np.testing.assert_allclose(theirs.truth.positions, ours.truth.positions, atol=1e-3)
    np.testing.assert_allclose(theirs.truth.depths, ours.truth.depths, atol=1e-4)
    assert (theirs.truth.visible_masks == ours.truth.visible_masks).all()
    assert (theirs.truth.object_masks == ours.truth.object_masks).all()


# ---- ADEPT -------------------------------------------------------------------------------------------------------

def test_adept_round_trip(surprise: Clip, adept_folder: Path) -> None:
    reading = adept.read(adept_folder)
    assert reading.notes == ()
    assert (reading.clip.frames == surprise.frames).all()
    assert (reading.clip.background == surprise.background).all()
    assert_same_truth(surprise, reading.clip)
    assert reading.clip.events == surprise.events


def test_adept_selection_and_smaller_size(surprise: Clip, adept_folder: Path) -> None:
    reading = adept.read(adept_folder, Selection(1, 18, 3, (20, 30)))
    assert reading.clip.frames.shape == (6, 20, 30, 3)
    wide = surprise.truth.positions[1:18:3]                                     # type: ignore[union-attr]
    np.testing.assert_allclose(reading.clip.truth.positions, (wide + 0.5) / 2 - 0.5, atol=1e-3)  # type: ignore[union-attr]


def test_adept_projection_is_the_one_of_the_released_pictures() -> None:
    """u = 240 + 525 Y/Z, v = 160 - 525 V/Z, written out for one point of the world."""
    x, y, z = -0.6, 1.3, 0.35
    up, away = -0.3420 * (x - 5.2658) + 0.9397 * (z - 2.4625), -0.9397 * (x - 5.2658) - 0.3420 * (z - 2.4625)
    pixels, depth = project(Camera(), np.array([x, y, z]), (320, 480))
    assert pixels + 0.5 == pytest.approx([160 - 525 * up / away, 240 + 525 * y / away], abs=0.05)
    assert depth == pytest.approx(away, abs=1e-3)
    squashed, _ = project(Camera(), np.array([x, y, z]), (64, 64))
    assert squashed + 0.5 == pytest.approx((pixels + 0.5) * [64 / 320, 64 / 480], abs=1e-4)
    assert unproject(Camera(), squashed, depth, (64, 64)) == pytest.approx([x, y, z], abs=1e-4)


def test_adept_entries_of_one_object_are_merged(adept_folder: Path, tmp_path: Path, surprise: Clip) -> None:
    """A mover that stops and returns is several entries; only one of them is before the camera at a time."""
    copy = _copied(adept_folder, tmp_path)
    path = copy / f"{adept_folder.name}_ann.yaml"
    facts = yaml.safe_load(path.read_text())
    half = len(facts["scene"]) // 2
    for number, frame in enumerate(facts["scene"]):
        double = dict(frame["objects"][0])
        double["name"] = double["name"].rpartition("_")[0] + "_3"
        parked = double if number < half else frame["objects"][0]
        parked["location"] = [60.0, 0.0, 0.0]
        frame["objects"].append(double)
        for part in ("masks", "whole"):
            file = next((copy / part).glob(f"*_0_{frame['image_path'][-11:]}"))
            other = file.with_name(file.name.replace("_0_", "_3_", 1) if "_0_" in file.name else file.name)
            blank = np.zeros((40, 60), np.uint8)
            if number < half:
                Image.fromarray(blank).save(other)
            else:
                file.rename(other)
                Image.fromarray(blank).save(file)
    path.write_text(yaml.safe_dump(facts))
    assert_same_truth(surprise, adept.read(copy).clip)


def test_adept_damage_is_tolerated_and_told(adept_folder: Path, tmp_path: Path, surprise: Clip) -> None:
    copy = _copied(adept_folder, tmp_path)
    masks = sorted((copy / "masks").iterdir())
    masks[0].write_bytes(b"not a png")
    masks[5].unlink()
    (copy / "masks" / "01_stray_7_0004.png").write_bytes(b"")
    reading = adept.read(copy)
    told = " ".join(reading.notes)
    assert masks[0].name in told and "1 damaged" in told and "lacks 1 masks" in told and "01_stray_7_0004.png" in told
    assert_same_truth(surprise, reading.clip)           # the yaml carries the masks a second time


def test_adept_as_released_has_no_whole_masks_background_or_events(tmp_path: Path) -> None:
    name = clip_name(ClipSpec("vanish-surprise", 3, (40, 60)))
    folder, clip = _written("vanish-surprise", tmp_path, name)
    (folder / "background.png").unlink()
    shutil.rmtree(folder / "whole")
    path = folder / f"{name}_ann.yaml"
    facts = yaml.safe_load(path.read_text())
    del facts["events"]
    path.write_text(yaml.safe_dump(facts))
    reading = adept.read(folder)
    truth, ours = reading.clip.truth, clip.truth
    assert truth is not None and ours is not None
    assert (truth.visible_masks == ours.visible_masks).all()
    np.testing.assert_allclose(truth.positions, ours.positions, atol=1e-3)
    assert {e for e in reading.clip.events if e.kind != "screen_falls"} == \
        {e for e in clip.events if e.kind != "screen_falls"}
    (told,), (true,) = ([e.frame for e in c.events if e.kind == "screen_falls"] for c in (reading.clip, clip))
    assert 0 <= told - true <= 1            # the annotation shows it when it has moved
    # Hidden movers get their silhouettes again, drawn from shape, size and pose.
    assert any("whole-object masks" in note for note in reading.notes)
    hidden = ours.object_masks.any(axis=(2, 3)) & ~ours.visible_masks.any(axis=(2, 3))
    assert hidden.sum() >= 3 and (truth.object_masks != ours.object_masks)[hidden].mean() < 0.002
    # Where the pixel is ever free, the mean is the scene, up to noise and shadows.
    off = np.abs(reading.clip.background.astype(int) - clip.background).max(axis=-1)[reading.background_known]
    assert np.median(off) <= 4


def test_adept_without_any_masks_draws_them_from_the_annotation(tmp_path: Path) -> None:
    folder, clip = _written("vanish-control", tmp_path, "train_1")
    shutil.rmtree(folder / "masks")
    path = folder / "train_1_ann.yaml"
    facts = yaml.safe_load(path.read_text())
    for frame in facts["scene"]:
        for entry in frame["objects"]:
            del entry["mask"]
    path.write_text(yaml.safe_dump(facts))
    reading = adept.read(folder)
    assert any("lacks 60 masks" in note and "geometry" in note for note in reading.notes)
    assert (reading.clip.truth.visible_masks != clip.truth.visible_masks).mean() < 0.002         # type: ignore[union-attr]


def _written(kind: str, root: Path, name: str) -> tuple[Path, Clip]:
    """Seed 3 of a kind, every fourth frame, with the poses of the scene description."""
    clip, motion = make_clip(kind, 3), scenes.motion_of(kind, 3)
    moving = ("locations", "rotations", "velocities", "angular_velocities")
    moved = {field: getattr(motion, field)[::4] for field in moving}
    clip = clip.strided(4)
    return adept.write(root, name, clip, FPS, dataclasses.replace(motion, **moved)), clip


def test_adept_surprising_cases() -> None:
    for name, answer in {"human_disappear_fixed_Cube_1": True, "human_disappear_fixed_Cube_0": False,
                         "human_disappear_Sphere_2": True, "human_disappear_Sphere_1": False,
                         "human_overturn_Cone_3": True, "train_00201": False}.items():
        assert is_surprising(name) == answer


def test_adept_bad_folders_are_named(adept_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(LociError, match="no folder"):
        adept.read(tmp_path / "nowhere")
    with pytest.raises(LociError, match="no ADEPT videos"):
        adept.videos(tmp_path)
    (tmp_path / "wrong").mkdir()
    with pytest.raises(LociError, match="wrong is not an ADEPT video"):
        adept.read(tmp_path / "wrong")
    copy = _copied(adept_folder, tmp_path)
    sorted((copy / "imgs").iterdir())[3].unlink()
    with pytest.raises(LociError, match="19 pictures, but the annotation describes 20"):
        adept.read(copy)
    (copy / f"{adept_folder.name}_ann.yaml").write_text("scene: [\n")
    with pytest.raises(LociError, match="not readable YAML"):
        adept.read(copy)
    assert adept.videos(adept_folder.parent) == [adept_folder]


# ---- CLEVRER -----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def table(surprise: Clip) -> Clip:
    """A clip whose objects have CLEVRER's three-word names and one collision."""
    truth = surprise.truth
    assert truth is not None
    names = ("red metal cube", "blue rubber sphere", "cyan metal cylinder")
    movers = dataclasses.replace(truth, names=names, kinds=("mover",) * 3)
    events = (Event("collision", 5, 0), Event("collision", 5, 1))
    facts = {"position": list(CAMERA.position), "look_at": [0.0, 0.0, 0.0], "focal_at_480": 525.0}
    return dataclasses.replace(surprise, truth=movers, events=events, camera=facts)


def test_clevrer_round_trip(table: Clip, tmp_path: Path) -> None:
    clevrer.write(tmp_path, 10_007, table, lossless=True)
    assert (tmp_path / "videos/val/video_10000-11000/video_10007.mp4").exists()
    library = clevrer.open_library(tmp_path)
    reading = clevrer.read(library, 10_007)
    assert reading.notes == () and (reading.clip.frames == table.frames).all()
    assert (reading.clip.background == table.background).all()
    assert_same_truth(table, reading.clip)
    assert [event for event in reading.clip.events if event.kind == "collision"] == list(table.events)
    part = clevrer.read(library, 10_007, Selection(2, 12, 2)).clip
    assert (part.truth.visible_masks == table.truth.visible_masks[2:12:2]).all()      # type: ignore[union-attr]


def test_clevrer_common_film_is_near(table: Clip, tmp_path: Path) -> None:
    clevrer.write(tmp_path, 3, table)
    frames = clevrer.read(clevrer.open_library(tmp_path), 3).clip.frames
    assert np.abs(frames.astype(int) - table.frames).mean() < 4


def test_clevrer_without_masks_or_annotation_says_so(table: Clip, tmp_path: Path) -> None:
    clevrer.write(tmp_path, 3, table)
    (tmp_path / "proposals/proposal_00003.json").unlink()
    reading = clevrer.read(clevrer.open_library(tmp_path), 3)
    assert reading.clip.truth is not None and any("no proposals" in note for note in reading.notes)
    next(tmp_path.rglob("annotation_00003.json")).unlink()
    reading = clevrer.read(clevrer.open_library(tmp_path), 3)
    assert reading.clip.truth is None and any("no annotation" in note for note in reading.notes)


def test_clevrer_damage_is_named(table: Clip, tmp_path: Path) -> None:
    film = clevrer.write(tmp_path, 3, table)
    library = clevrer.open_library(tmp_path)
    with pytest.raises(LociError, match="no video number 4"):
        clevrer.read(library, 4)
    annotation = library.annotations[3]
    good = annotation.read_text()
    annotation.write_text(good[:500])
    with pytest.raises(LociError, match=r"annotation_00003\.json is not readable JSON"):
        clevrer.read(library, 3)
    short = json.loads(good)
    short["motion_trajectory"] = short["motion_trajectory"][:7]
    annotation.write_text(json.dumps(short))
    with pytest.raises(LociError, match="belong together"):
        clevrer.read(library, 3)
    film.write_bytes(film.read_bytes()[:800])
    with pytest.raises(LociError, match=r"video_00003\.mp4"):
        clevrer.read(library, 3)
    with pytest.raises(LociError, match="holds no CLEVRER videos"):
        clevrer.open_library(tmp_path / "proposals")


# ---- masks as text -----------------------------------------------------------------------------------------------

def test_run_lengths_are_cocos() -> None:
    """The text was made by pycocotools 2.0.11."""
    rows, columns = np.mgrid[:320, :480]
    mask = (rows - 100) ** 2 + 2 * (columns - 200) ** 2 < 3000
    text = ("jfb1e0U9<F8I6J6K4L4L4L4L4M2M4M2N2N2M4M2N2O0O2N2N2O0O2N2O0O2O000O2O000O2O000000000000000000000001N10001N100"
            "01N101N2N101N2N2N101N2N3L3N2N2N3L3N3L4L4L4L4L5J6J7H:D\\W[2")
    assert rle.encode(mask) == {"size": [320, 480], "counts": text}
    assert (rle.decode({"size": [320, 480], "counts": text.encode()}) == mask).all()


def test_run_lengths_of_any_mask_come_back() -> None:
    random = np.random.default_rng(0)
    for share in (0.0, 0.02, 0.5, 0.98, 1.0):
        for shape in ((1, 1), (7, 5), (40, 60)):
            mask = random.random(shape) < share
            assert (rle.decode(rle.encode(mask)) == mask).all()
            counts = np.diff([0, *np.flatnonzero(np.diff(np.r_[False, mask.T.ravel()])), mask.size]).tolist()
            assert (rle.decode({"size": shape, "counts": counts}) == mask).all()
    with pytest.raises(LociError, match="damaged"):
        rle.decode({"size": [4, 4], "counts": [3, 2]})
    with pytest.raises(LociError, match="not a COCO"):
        rle.decode({"counts": "abc"})


# ---- G-SWM -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scenario", ["interaction", "twolayer"])
def test_gswm_round_trip(scenario: BallsScenario, tmp_path: Path) -> None:
    stories = [balls.simulate(scenario, seed, 12) for seed in (4, 5)]
    clips = [render_balls(story) for story in stories]
    assert gswm.write_gswm(tmp_path / "balls.h5", stories) == 2 == gswm.count(tmp_path / "balls.h5")
    assert gswm.write_packed(tmp_path / "packed.hdf5", clips) == 2 == gswm.count(tmp_path / "packed.hdf5")
    assert gswm.layout(tmp_path / "balls.h5") == "gswm" and gswm.layout(tmp_path / "packed.hdf5") == "loci"
    for name in ("balls.h5", "packed.hdf5"):
        for index, clip in enumerate(clips):
            back = gswm.read(tmp_path / name, index)
            assert (back.frames == clip.frames).all() and (back.background == 0).all()
            assert_same_truth(clip, back)


def test_gswm_file_has_the_released_shapes(tmp_path: Path) -> None:
    import h5py
    gswm.write_gswm(tmp_path / "balls.h5", [balls.simulate("interaction", 0, 5)])
    with h5py.File(tmp_path / "balls.h5") as file:
        shapes = {key: file[key].shape for key in file}
    assert shapes["imgs"] == (1, 5, 64, 64, 3) and shapes["positions"] == shapes["velocities"] == (1, 5, 3, 2)
    assert shapes["colors"] == (1, 5, 3, 3)
    assert all(shapes[k] == (1, 5, 3) for k in
               ("sizes", "masses", "layers", "shapes", "present", "in_camera", "ids"))


def test_gswm_bad_files_are_named(tmp_path: Path) -> None:
    import h5py
    with pytest.raises(LociError, match="no file"):
        gswm.read(tmp_path / "nowhere.h5", 0)
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(LociError, match=r"text\.h5 is not an HDF5 file"):
        gswm.read(tmp_path / "text.h5", 0)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["weights"] = np.zeros(3)
    with pytest.raises(LociError, match=r"neither layout.*weights"):
        gswm.read(tmp_path / "other.h5", 0)
    gswm.write_gswm(tmp_path / "one.h5", [balls.simulate("occlusion", 0, 3)])
    with pytest.raises(LociError, match="0 to 0, not 1"):
        gswm.read(tmp_path / "one.h5", 1)
    with pytest.raises(LociError, match="no sequences"):
        gswm.write_gswm(tmp_path / "none.h5", [])
    with pytest.raises(LociError, match="different shape"):
        gswm.write_gswm(tmp_path / "mixed.h5", [balls.simulate("occlusion", 0, n) for n in (3, 4)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.h5", "other.h5", "text.h5"]


# ---- optional libraries ------------------------------------------------------------------------------------------

def test_missing_libraries_name_the_extra(adept_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b.h5").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "h5py", None)
    monkeypatch.setitem(sys.modules, "yaml", None)
    for call in (lambda: gswm.read(tmp_path / "b.h5", 0), lambda: adept.read(adept_folder)):
        with pytest.raises(LociError, match=r"pip install 'loci-looped\[data\]'"):
            call()


# ---- a disk that takes no more -----------------------------------------------------------------------------------

@contextmanager
def small_disk(limit: int) -> Iterator[None]:
    """The system refuses to let any file grow beyond `limit` bytes, as it does when a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_nothing_behind(table: Clip, surprise: Clip, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (20, 64, 64, 3)).astype(np.uint8)
    with small_disk(3000):
        for write in (
            lambda: write_film(tmp_path / "f.mp4", noise),
            lambda: write_film(tmp_path / "f.gif", noise),
            lambda: adept.write(tmp_path, "train_1", surprise),
            lambda: clevrer.write(tmp_path, 0, table),
            lambda: gswm.write_gswm(tmp_path / "b.h5", [balls.simulate("interaction", 0)]),
        ):
            with pytest.raises(LociError, match="could not be written"):
                write()
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == []


def _copied(folder: Path, root: Path) -> Path:
    return Path(shutil.copytree(folder, root / folder.name))
