"""CLEVRER: `videos/`, `annotations/` and the Mask R-CNN proposals, in the released layout; one background for all.

Reading and writing both; our proposals are the true masks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.configs.scenes import Split
from loci_looped.data.clip import Clip, Event, ObjectTruth
from loci_looped.data.coordinates import Size, resize_masks
from loci_looped.data.events import hiding
from loci_looped.data.formats import rle, video
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.formats.geometry import Pose, drawn_masks
from loci_looped.data.formats.images import is_picture, read_rgb, save_png
from loci_looped.data.formats.read_result import ReadResult, summarise
from loci_looped.data.formats.video import ALL, Selection
from loci_looped.data.scenes.camera import camera_facts, camera_from, project
from loci_looped.data.scenes.collide import CAMERA, HALF_EXTENT
from loci_looped.data.scenes.world_motion import WorldMotion, seen_motion
from loci_looped.utils.atomic import replacing, write_text
from loci_looped.utils.errors import LociError

FIRST = {"train": 0, "val": 10_000, "test": 15_000, "": 20_000}      # the first video of each split, and the end


@dataclass(frozen=True)
class Library:
    """Where the parts of each video are, by its number."""

    root: Path
    films: dict[int, Path]
    annotations: dict[int, Path]
    proposals: dict[int, Path]
    background: Path | None


def open_library(root: str | Path) -> Library:
    """Look through a CLEVRER folder once: films (or folders of frames), annotations, proposals, background."""
    root = Path(root)
    if not root.is_dir():
        raise LociError(f"There is no folder {root}.")
    found: dict[str, dict[int, Path]] = {"video": {}, "annotation": {}, "proposal": {}}
    for path in sorted(root.rglob("*_*")):
        match = re.fullmatch(r"(video|annotation|proposal)_(\d{5})(\.mp4|\.json)?", path.name)
        if match and (match[3] == (".mp4" if match[1] == "video" else ".json") or _holds_frames(path)):
            found[match[1]].setdefault(int(match[2]), path)
    if not found["video"]:
        raise LociError(
            f"{root} holds no CLEVRER videos; they are expected as "
            f"videos/train/video_00000-01000/video_00000.mp4 (unpack video_train.zip there)."
        )
    background = next((path for path in sorted(root.glob("background.*")) if is_picture(path)), None)
    return Library(root, found["video"], found["annotation"], found["proposal"], background)


def _holds_frames(path: Path) -> bool:
    return path.is_dir() and any(is_picture(item) for item in path.iterdir())


def split_of(number: int) -> Split:
    return "train" if number < FIRST["val"] else "val" if number < FIRST["test"] else "test"


def film_path(root: str | Path, number: int) -> Path:
    """Where the released layout keeps a film: a thousand of them in a folder."""
    return Path(root) / "videos" / split_of(number) / f"video_{_thousand(number)}" / f"video_{number:05d}.mp4"


def annotation_path(root: str | Path, number: int) -> Path:
    """Where the released layout keeps an annotation."""
    folder = Path(root) / "annotations" / split_of(number) / f"annotation_{_thousand(number)}"
    return folder / f"annotation_{number:05d}.json"


def _thousand(number: int) -> str:
    low = number - number % 1000
    return f"{low:05d}-{low + 1000:05d}"


def read(library: Library, number: int, selection: Selection = ALL) -> ReadResult:
    """One video. Without annotation (test split) the clip has no truth; without proposals masks come from geometry."""
    if number not in library.films:
        raise LociError(f"{library.root} has no video number {number}; it has {len(library.films)} others.")
    film = library.films[number]
    stride = selection.stride or video.natural_stride(video.info(film).fps)
    selection = replace(selection, stride=stride)
    clean = read_rgb(library.background)[0] if library.background else None
    reading = video.read(film, selection, clean)
    source = f"clevrer/video_{number:05d}"
    if number not in library.annotations:
        note = f"{film} has no annotation; the clip carries no truth about objects."
        clip = Clip(reading.clip.frames, reading.clip.background, source=source, camera=camera_facts(CAMERA))
        return ReadResult(clip, reading.background_known, (*reading.notes, note))
    annotation = _annotation(library.annotations[number])
    trajectory = annotation["motion_trajectory"]
    numbers = [selection.start + step * stride for step in range(len(reading.clip))]
    if numbers[-1] >= len(trajectory):
        raise LociError(f"{film} has frame {numbers[-1]}, but {library.annotations[number]} only describes "
                        f"{len(trajectory)} frames; do they belong together?")
    truth, notes = _truth(library, number, annotation, numbers, reading.clip.size)
    events = (*hiding(truth), *_collisions(annotation, selection.start, stride, len(numbers)))
    clip = Clip(reading.clip.frames, reading.clip.background, truth, events, source=source, camera=camera_facts(CAMERA))
    return ReadResult(clip, reading.background_known, (*reading.notes, *notes))


def _annotation(path: Path) -> dict[str, Any]:
    parsed = _json(path)
    try:
        for thing in parsed["object_property"]:
            thing["object_id"], thing["color"], thing["material"], thing["shape"]
        for frame in parsed["motion_trajectory"]:
            for thing in frame["objects"]:
                thing["object_id"], thing["location"]
        return parsed
    except (KeyError, TypeError) as error:
        raise LociError(f"{path} is not a CLEVRER annotation: it lacks {error}.") from error


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise LociError(f"{path} is not readable JSON ({error}); is it cut off?") from error


def _truth(
    library: Library, number: int, annotation: dict[str, Any], numbers: list[int], size: Size
) -> tuple[ObjectTruth, list[str]]:
    things = annotation["object_property"]
    order = {thing["object_id"]: index for index, thing in enumerate(things)}
    steps, count = len(numbers), len(things)
    locations = np.full((steps, count, 3), np.nan)
    drawn = np.zeros((2, steps, count, *size), dtype=bool)
    for step, frame in enumerate(numbers):
        poses: list[Pose | None] = [None] * count
        for entry in annotation["motion_trajectory"][frame]["objects"]:
            index = order[entry["object_id"]]
            locations[step, index] = entry["location"]
            turn = np.asarray(entry.get("orientation", (0, 0, 0)), dtype=np.float64)
            poses[index] = Pose(str(things[index]["shape"]), locations[step, index], turn, np.full(3, HALF_EXTENT))
        drawn[0, step], drawn[1, step] = drawn_masks(CAMERA, poses, size)
    positions, depths = project(CAMERA, locations, size)
    visible, whole, notes = _masks(library, number, things, numbers, size, drawn[0], drawn[1])
    truth = ObjectTruth(
        names=tuple(f"{thing['color']} {thing['material']} {thing['shape']}" for thing in things),
        kinds=tuple("mover" for _ in things),
        positions=positions, visible_masks=visible, object_masks=whole | visible, depths=depths,
    )
    return truth, notes


def _masks(
    library: Library, number: int, things: list[Any], numbers: list[int], size: Size,
    drawn: NDArray[np.bool_], drawn_whole: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], list[str]]:
    """(T, O, H, W) visible and whole masks. Proposals know an object by its colour, material and shape."""
    path = library.proposals.get(number)
    if path is None:
        note = f"Video {number} has no proposals; its masks are drawn from the annotated geometry."
        return drawn, drawn_whole, [note]
    frames = {int(frame["frame_index"]): frame["objects"] for frame in _json(path).get("frames", [])}
    index_of = {(thing["color"], thing["material"], thing["shape"]): index for index, thing in enumerate(things)}
    visible, whole = np.zeros_like(drawn), drawn_whole.copy()
    missing, strangers = [], 0
    for step, frame in enumerate(numbers):
        if frame not in frames:
            missing.append(str(frame))
            visible[step] = drawn[step]
            continue
        best: dict[int, Any] = {}
        for proposal in frames[frame]:
            index = index_of.get((proposal["color"], proposal["material"], proposal["shape"]))
            if index is None:
                strangers += 1
            elif index not in best or proposal.get("score", 1) > best[index].get("score", 1):
                best[index] = proposal
        for index, proposal in best.items():
            visible[step, index] = resize_masks(rle.decode(proposal["mask"]), size)
        for index, proposal in best.items():
            if "whole_mask" in proposal:                        # our writer adds it
                whole[step, index] = resize_masks(rle.decode(proposal["whole_mask"]), size)
    notes = [f"{path} lacks frames {summarise(missing)}; their masks are drawn from geometry."] if missing else []
    if strangers:
        notes.append(f"{path}: {strangers} proposals fit no annotated object and were left out.")
    return visible, whole, notes


def _collisions(annotation: dict[str, Any], start: int, stride: int, steps: int) -> list[Event]:
    """Two events per collision, one for each object, at the first kept frame that shows it."""
    order = {thing["object_id"]: index for index, thing in enumerate(annotation["object_property"])}
    events = []
    for collision in annotation.get("collision", []):
        frame = -(-(int(collision["frame_id"]) - start) // stride)
        if 0 <= frame < steps:
            events += [Event("collision", frame, order[one]) for one in collision["object_ids"]]
    return events


# ---------------------------------------------------------------------------------------- writing

def write(
    root: str | Path, number: int, clip: Clip, fps: float = 25.0, motion: WorldMotion | None = None,
    lossless: bool = False,
) -> Path:
    """Video `number` of a CLEVRER folder: film, annotation, true masks in the form of proposals, and the background.

    Proposals carry `whole_mask` beside `mask`; an object that is wholly hidden is listed with score 0.
    """
    truth = clip.known_truth()
    if not 0 <= number < FIRST[""]:
        raise LociError(f"CLEVRER numbers its videos from 0 to {FIRST[''] - 1}; {number} has no place.")
    root, film = Path(root), film_path(root, number)
    motion = motion or seen_motion(clip, camera_from(clip.camera, CAMERA), fps)
    things = [_thing_entry(name, index) for index, name in enumerate(truth.names)]
    annotation = {
        "scene_index": number,
        "video_filename": film.name,
        "object_property": things,
        "motion_trajectory": [
            {"frame_id": step, "objects": _object_entries(truth, motion, step)} for step in range(len(clip))
        ],
        "collision": _collision_entries(clip, motion),
    }
    proposals = {
        "video_index": number,
        "video_name": film.name,
        "frames": [
            {"frame_index": step, "frame_filename": f"frame_{step:05d}.png", "objects": _proposed(truth, things, step)}
            for step in range(len(clip))
        ],
    }
    write_text(annotation_path(root, number), json.dumps(annotation, allow_nan=False))
    write_text(root / "proposals" / f"proposal_{number:05d}.json", json.dumps(proposals, allow_nan=False))
    if not (root / "background.png").exists():
        with replacing(root / "background.png") as temporary:
            save_png(temporary, clip.background)
    write_film(film, clip.frames, fps, lossless)        # last: a video that is there is complete
    return film


def _thing_entry(name: str, index: int) -> dict[str, Any]:
    """'red metal cube' or, without a material, 'red cube'."""
    words = name.split()
    if not 2 <= len(words) <= 3:
        raise LociError(f"CLEVRER describes objects by colour, material and shape; {name!r} does not.")
    return {"object_id": index, "color": words[0], "material": words[1] if len(words) == 3 else "rubber",
            "shape": words[-1]}


def _object_entries(truth: ObjectTruth, motion: WorldMotion, step: int) -> list[dict[str, Any]]:
    return [
        {
            "object_id": index,
            "location": _numbers(motion.locations[step, index]),
            "orientation": _numbers(motion.rotations[step, index]),
            "velocity": _numbers(motion.velocities[step, index]),
            "angular_velocity": _numbers(motion.angular_velocities[step, index]),
            "inside_camera_view": bool(truth.object_masks[step, index].any()),
        }
        for index in range(truth.count) if not np.isnan(motion.locations[step, index]).any()
    ]


def _collision_entries(clip: Clip, motion: WorldMotion) -> list[dict[str, Any]]:
    """Collision events come in pairs, one for each object."""
    touches = [(event.frame, event.object) for event in clip.events
               if event.kind == "collision" and event.object is not None]
    found = []
    for (frame, one), (_, other) in zip(touches[::2], touches[1::2], strict=False):
        place = (motion.locations[frame, one] + motion.locations[frame, other]) / 2
        found.append({"object_ids": [one, other], "frame_id": frame, "location": _numbers(place)})
    return found


def _proposed(truth: ObjectTruth, things: list[dict[str, Any]], step: int) -> list[dict[str, Any]]:
    return [
        {
            "color": thing["color"], "material": thing["material"], "shape": thing["shape"],
            "score": float(truth.visible_masks[step, index].any()),
            "mask": rle.encode(truth.visible_masks[step, index]),
            "whole_mask": rle.encode(truth.object_masks[step, index]),
        }
        for index, thing in enumerate(things) if truth.object_masks[step, index].any()
    ]


def _numbers(values: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in values]
