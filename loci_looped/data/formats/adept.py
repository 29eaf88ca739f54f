"""ADEPT's folders: `<video>/imgs`, `<video>/masks`, `<video>/<video>_ann.yaml`, as released and as we write them.

Differences to the released loader, on purpose: positions use the focal length the data was rendered with (525 px),
videos come in sorted order, masks are found by the time in their name and not by counting, and what is broken is told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.events import hiding, presence
from loci_looped.data.formats import adept_masks
from loci_looped.data.formats.background import from_masks
from loci_looped.data.formats.geometry import Pose, camera_facts, drawn_masks, euler, is_known_shape, project
from loci_looped.data.formats.images import Size, in_number_order, read_rgb, resize
from loci_looped.data.formats.read_result import ReadResult
from loci_looped.data.formats.video import ALL, Selection, pictures_in
from loci_looped.data.scenes.camera import Camera
from loci_looped.utils.errors import LociError

# The test cases, and the indices in which something impossible happens; the other indices are controls.
SURPRISING: dict[str, tuple[int, ...]] = {
    "disappear_fixed": (1,), "disappear": (2,), "overturn": (0, 3), "discontinuous": (1, 2), "delay": (1,),
    "block": (1,),
}


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


def is_surprising(case_name: str) -> bool:
    """Is this one of the test scenes with a violation? Names look like human_disappear_fixed_Cube_1."""
    case = next((name for name in SURPRISING if f"{name}_" in f"{case_name}_"), None)     # the longer name comes first
    index = case_name.rpartition("_")[2]
    return case is not None and index.isdigit() and int(index) in SURPRISING[case]


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
    events = _stored_events(annotation, chosen, folder) or _derived_events(annotation, chosen, things, truth)
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


def _stored_events(annotation: dict[str, Any], chosen: range, folder: Path) -> tuple[Event, ...]:
    """The events our writer adds, in the numbering of the chosen frames: each at the first one not before it."""
    entries = annotation.get("events") or ()
    try:
        stored = [Event(entry["kind"], int(entry["frame"]), entry["object"]) for entry in entries]
    except (KeyError, TypeError, ValueError) as error:
        raise LociError(f"The events in the annotation of {folder} cannot be understood ({error}).") from error
    late = [replace(event, frame=max(0, -(-(event.frame - chosen.start) // chosen.step))) for event in stored]
    return tuple(event for event in late if event.frame < len(chosen))


def _derived_events(
    annotation: dict[str, Any], chosen: range, things: list[Thing], truth: ObjectTruth
) -> tuple[Event, ...]:
    """What the release's own annotation shows: hiding, removals, falling screens, and whether it is a surprise."""
    events = (*hiding(truth), *presence(truth), *_falls(annotation["scene"], chosen, things))
    if not is_surprising(str(annotation.get("case_name", ""))):
        return events
    return (*events, *(replace(event, kind="violation") for event in events if event.kind == "removed"))


def _falls(scene: list[Any], chosen: range, things: list[Thing]) -> list[Event]:
    """`screen_falls`: the first frame in which a screen that ends lying has left its last upright moment."""
    events = []
    for number, thing in enumerate(things):
        if not thing.is_screen:
            continue
        turns = [euler(np.asarray(scene[index]["objects"][thing.entries[0]].get("rotation", (0, 0, 0)), dtype=float))
                 for index in chosen]
        upright = np.array([turn[2, 2] for turn in turns])          # cosine of the tilt
        standing = np.flatnonzero(upright > 0.9999)
        if len(standing) and upright[-1] < 0.7:
            events.append(Event("screen_falls", int(standing[-1]) + 1, number))
    return events


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
