"""ADEPT's folders: `<video>/imgs`, `<video>/masks`, `<video>/<video>_ann.yaml`. Reading and writing both.

Differences to the released loader, on purpose: positions use the focal length the data was rendered with (525 px),
videos come in sorted order, masks are found by the time in their name and not by counting, and damage is reported.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip, ObjectTruth
from loci_looped.data.coordinates import Size, resize
from loci_looped.data.formats import adept_masks, rle
from loci_looped.data.formats.adept_events import derived_events, stored_events
from loci_looped.data.formats.background import from_masks
from loci_looped.data.formats.geometry import Pose, drawn_masks, is_known_shape
from loci_looped.data.formats.images import in_number_order, read_rgb, save_png
from loci_looped.data.formats.read_result import ReadResult
from loci_looped.data.formats.video import ALL, Selection, pictures_in
from loci_looped.data.scenes.camera import Camera, camera_facts, camera_from, project
from loci_looped.data.scenes.world_motion import WorldMotion, seen_motion
from loci_looped.utils.errors import LociError

TYPES = {"cube": "Cube", "sphere": "Sphere", "cylinder": "Cylinder", "cone": "Cone"}      # others are called spheres


@dataclass(frozen=True)
class Thing:
    """One object of a video: all entries that share its shape and colour, since it may be removed and come back."""

    shape: str
    colour: str
    is_screen: bool
    entries: tuple[int, ...]            # indices into the frame's list of objects

    @property
    def name(self) -> str:
        return f"{self.colour} {'screen' if self.is_screen else self.shape}"


def videos(root: str | Path) -> list[Path]:
    """The video folders under `root` (or `root` itself), sorted by name."""
    root = Path(root)
    if not root.is_dir():
        raise LociError(f"There is no folder {root}.")
    if (root / "imgs").is_dir():
        return [root]
    found = in_number_order([path.parent for path in root.glob("**/imgs") if path.is_dir()])
    if not found:
        raise LociError(f"{root} holds no ADEPT videos: each is a folder with imgs/, masks/ and a .yaml file in it.")
    return found


def read(folder: str | Path, selection: Selection = ALL) -> ReadResult:
    """One video with its truth. `notes` tell about masks that were missing or broken and what stands in for them."""
    folder = Path(folder)
    annotation = _annotation(folder)
    images = pictures_in(folder / "imgs")
    scene = annotation["scene"]
    if len(images) != len(scene):
        raise LociError(
            f"{folder}/imgs holds {len(images)} pictures, but the annotation describes {len(scene)} frames; "
            f"was the folder copied completely?"
        )
    chosen = range(len(images))[selection.start : selection.stop : selection.stride]
    if len(chosen) < 2:
        raise LociError(f"{folder} gives {len(chosen)} frames for this selection; a clip needs at least two.")
    frames = np.stack([_frame(images[index], selection) for index in chosen])
    size = frames.shape[1], frames.shape[2]
    camera = _camera(annotation, folder)
    things = _things(scene[0]["objects"])
    located = _locations(scene, chosen, things, camera, folder)                 # (T, O, 3), NaN while not in the world
    positions, depths = project(camera, located.places, size)

    from_scene = _redrawn(camera, scene, chosen, things, located.active, size)  # visible and whole, by geometry
    visible, notes = adept_masks.read(folder, images, scene, chosen, [thing.entries for thing in things], size,
                                      from_scene[0])
    whole, whole_notes = adept_masks.whole(folder, images, chosen, [thing.entries for thing in things], visible,
                                           from_scene[1])
    notes += whole_notes
    odd = sorted({thing.shape for thing in things if not thing.is_screen and not is_known_shape(thing.shape)})
    if odd and whole_notes:
        notes.append(f"{folder}: the hidden parts of {', '.join(odd)} are taken as boxes, for want of a description.")

    truth = ObjectTruth(
        names=tuple(thing.name for thing in things),
        kinds=tuple("screen" if thing.is_screen else "mover" for thing in things),
        positions=positions,
        visible_masks=visible,
        object_masks=whole | visible,
        depths=depths,
    )
    image, known, more = _background(folder, frames, visible)
    screens = {number: thing.entries[0] for number, thing in enumerate(things) if thing.is_screen}
    events = stored_events(annotation, chosen, folder) or derived_events(annotation, chosen, screens, truth)
    clip = Clip(frames, image, truth, events, source=f"adept/{folder.name}", camera=camera_facts(camera))
    return ReadResult(clip, known, (*notes, *more))


def _frame(path: Path, selection: Selection) -> NDArray[np.uint8]:
    return resize(read_rgb(path)[0], selection.size)


def _annotation(folder: Path) -> dict[str, Any]:
    """The parsed yaml file, checked for the fields we need."""
    if not folder.is_dir():
        raise LociError(f"There is no folder {folder}.")
    named = folder / f"{folder.name}_ann.yaml"
    found = [named] if named.exists() else sorted(folder.glob("*.yaml"))
    if len(found) != 1 or not (folder / "imgs").is_dir():
        raise LociError(f"{folder} is not an ADEPT video: it needs a folder imgs/ and one .yaml file, "
                        f"and has {len(found)} of the latter.")
    try:
        import yaml
    except ImportError as error:
        raise LociError("Reading ADEPT needs PyYAML; install it with: pip install 'loci-looped[data]'") from error
    try:
        parsed = yaml.load(found[0].read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for frame in parsed["scene"]:
            for entry in frame["objects"]:
                entry["name"], entry["color"], entry["location"]
        return dict(parsed)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LociError(f"{found[0]} is not readable YAML: {str(error).splitlines()[0]}.") from error
    except (KeyError, TypeError, IndexError) as error:
        raise LociError(f"{found[0]} lacks {error}; ADEPT has scene[].objects[] with name, color, location.") from error


def _camera(annotation: dict[str, Any], folder: Path) -> Camera:
    """The camera the yaml describes; ADEPT's standard one where it says nothing."""
    facts = annotation.get("camera") or {}
    try:
        rho, theta = float(facts.get("camera_rho", 7.2)), math.radians(float(facts.get("camera_theta", 20)))
        phi = math.radians(float(facts.get("camera_phi", 0)))
        x, y, z = (float(value) for value in facts.get("camera_look_at", (-1.5, 0, 0)))
    except (TypeError, ValueError) as error:
        raise LociError(f"The camera in the annotation of {folder} cannot be understood: {facts}.") from error
    position = (x + rho * math.cos(theta) * math.cos(phi), y + rho * math.cos(theta) * math.sin(phi),
                z + rho * math.sin(theta))
    return Camera(position=position, look_at=(x, y, z))


def _things(entries: list[dict[str, Any]]) -> list[Thing]:
    """Entries merged by shape and colour, in order of first appearance."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, entry in enumerate(entries):
        groups.setdefault((_shape(entry), str(entry["color"])), []).append(index)
    return [
        Thing(shape, colour, entries[members[0]].get("type") == "Occluder", tuple(members))
        for (shape, colour), members in groups.items()
    ]


def _shape(entry: dict[str, Any]) -> str:
    """'bowling_pin_3' -> 'bowling_pin'."""
    name = str(entry["name"])
    stem, _, number = name.rpartition("_")
    return (stem if number.isdigit() and stem else name).lower()


@dataclass(frozen=True)
class _Located:
    places: NDArray[np.float64]         # (T, O, 3) NaN while not in the world
    active: NDArray[np.int64]           # (T, O) which annotation entry stands for the object; -1 while there is none


def _locations(scene: list[Any], chosen: range, things: list[Thing], camera: Camera, folder: Path) -> _Located:
    """Per object and frame the first entry inside the image, else the first one before the camera."""
    places = np.full((len(chosen), len(things), 3), np.nan)
    active = np.full((len(chosen), len(things)), -1)
    for step, index in enumerate(chosen):
        objects = scene[index]["objects"]
        for number, thing in enumerate(things):
            if max(thing.entries) >= len(objects):
                raise LociError(f"Frame {index} of {folder} lists {len(objects)} objects, the first frame lists more.")
            candidates = np.array([objects[entry]["location"] for entry in thing.entries], dtype=np.float64)
            seen = camera.project(candidates, (320, 480))
            there = seen[:, 2] > 0                      # removed objects are parked behind the camera
            inside = there & (np.abs(seen[:, 0] - 159.5) <= 160) & (np.abs(seen[:, 1] - 239.5) <= 240)
            if there.any():
                best = int(np.argmax(inside if inside.any() else there))
                places[step, number], active[step, number] = candidates[best], thing.entries[best]
    return _Located(places, active)


def _redrawn(
    camera: Camera, scene: list[Any], chosen: range, things: list[Thing], active: NDArray[np.int64], size: Size
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(T, O, H, W) visible and whole masks as the annotated geometry says."""
    visible, whole = np.zeros((2, len(chosen), len(things), *size), dtype=bool)
    for step, index in enumerate(chosen):
        poses: list[Pose | None] = []
        for number, thing in enumerate(things):
            entry = scene[index]["objects"][active[step, number]] if active[step, number] >= 0 else None
            poses.append(entry and Pose(
                "cube" if thing.is_screen else thing.shape,
                np.asarray(entry["location"], dtype=np.float64),
                np.asarray(entry.get("rotation", (0, 0, 0)), dtype=np.float64),
                np.asarray(entry.get("scale", (0.3, 0.3, 0.3)), dtype=np.float64),
            ))
        visible[step], whole[step] = drawn_masks(camera, poses, size)
    return visible, whole


def _background(
    folder: Path, frames: NDArray[np.uint8], visible: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.bool_], list[str]]:
    """`background.png`, which our writer adds, or the paper's mean over the frames in which a pixel is free."""
    size = frames.shape[1], frames.shape[2]
    stored = folder / "background.png"
    if stored.exists():
        return resize(read_rgb(stored)[0], size), np.ones(size, dtype=bool), []
    found = from_masks(frames, np.asarray(visible.any(axis=1)))
    hidden = int((~found.known).sum())
    share = f"{hidden} pixels ({100 * hidden / found.known.size:.1f} %)"
    notes = [f"{folder}: {share} of the background are never uncovered; they are grey."] if hidden else []
    return found.image, found.known, notes


# ---------------------------------------------------------------------------------------- writing

def write(
    root: str | Path, name: str, clip: Clip, fps: float = 25.0, motion: WorldMotion | None = None,
    overwrite: bool = False,
) -> Path:
    """`<root>/<name>/` with imgs, masks and yaml as ADEPT has them, plus whole/ and background.png, which it lacks.

    The folder appears under its name only when it is complete.
    """
    truth = clip.known_truth()
    camera = camera_from(clip.camera, Camera())
    motion = motion or seen_motion(clip, camera, fps)
    with _new_folder(Path(root) / name, overwrite) as folder:
        for part in ("imgs", "masks", "whole"):
            (folder / part).mkdir()
        opaque = np.full((*clip.size, 1), 255, dtype=np.uint8)
        save_png(folder / "background.png", clip.background)
        scene = []
        for step, frame in enumerate(clip.frames):
            time = f"{step / fps:06.2f}s"
            save_png(folder / "imgs" / f"{name}_{time}.png", np.concatenate([frame, opaque], axis=2))
            for index in range(truth.count):
                file = f"01_{name}_{index}_{time}.png"
                for part, masks in (("masks", truth.visible_masks), ("whole", truth.object_masks)):
                    grey = np.repeat(np.uint8(255) * masks[step, index, :, :, None], 3, axis=2).astype(np.uint8)
                    save_png(folder / part / file, np.concatenate([grey, opaque], axis=2))
            scene.append({
                "image_path": f"imgs/{name}_{time}.png",
                "objects": [_object_entry(truth, motion, step, index) for index in range(truth.count)],
            })
        # ADEPT does not say what happens; ours does, since not every violation can be seen in poses.
        events = [{"kind": event.kind, "frame": event.frame, "object": event.object} for event in clip.events]
        facts = {"case_name": name, "camera": _camera_entry(camera), "events": events, "scene": scene}
        _write_yaml(folder / f"{name}_ann.yaml", facts)
    return Path(root) / name


def _camera_entry(camera: Camera) -> dict[str, Any]:
    x, y, z = (float(p - q) for p, q in zip(camera.position, camera.look_at, strict=True))
    rho = math.sqrt(x * x + y * y + z * z)
    return {
        "camera_rho": rho,
        "camera_theta": math.degrees(math.asin(z / rho)),
        "camera_phi": math.degrees(math.atan2(y, x)),
        "camera_look_at": [float(value) for value in camera.look_at],
    }


def _object_entry(truth: ObjectTruth, motion: WorldMotion, step: int, index: int) -> dict[str, Any]:
    colour, _, shape = truth.names[index].rpartition(" ")
    screen = truth.kinds[index] == "screen"
    location = motion.locations[step, index]
    if np.isnan(location).any():            # ADEPT parks what is not in the world behind the camera
        location = np.array([20.0 * (1 + index), 0.0, 0.0])
    return {
        "name": f"{'Occluder' if screen else shape}_{index}",
        "type": "Occluder" if screen else TYPES.get(shape, "Sphere"),
        "color": colour,
        "location": _numbers(location),
        "rotation": _numbers(motion.rotations[step, index]),
        "scale": _numbers(motion.half_extents[index]),
        "velocity": _numbers(motion.velocities[step, index]),
        "angular_velocity": _numbers(motion.angular_velocities[step, index]),
        "mask": rle.encode(truth.visible_masks[step, index]),
    }


def _numbers(values: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in values]


def _write_yaml(path: Path, facts: dict[str, Any]) -> None:
    try:
        import yaml
    except ImportError as error:
        raise LociError("ADEPT's layout needs PyYAML; install it with: pip install 'loci-looped[data]'") from error
    text = yaml.dump(facts, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)
    path.write_text(text, encoding="utf-8")


@contextmanager
def _new_folder(final: Path, overwrite: bool) -> Iterator[Path]:
    """A folder under a temporary name that gets its final one when all is written."""
    if final.exists() and not overwrite:
        raise LociError(f"{final} exists already; remove it or choose another place.")
    temporary = final.with_name(f".{final.name}.part")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)        # what an interrupted run left behind
        temporary.mkdir()
        yield temporary
        if final.exists():
            shutil.rmtree(final)
        temporary.rename(final)
    except OSError as error:
        reason = error.strerror or str(error)
        raise LociError(f"{final} could not be written: {reason}. Nothing was left under that name.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
