"""Clips written in the layouts of the real releases, with true masks, so that other people's tools can read them."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loci_looped.data.clip import Clip, ObjectTruth
from loci_looped.data.formats import clevrer, rle
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.formats.geometry import camera_from
from loci_looped.data.scenes.camera import Camera
from loci_looped.data.scenes.world_motion import WorldMotion, seen_motion
from loci_looped.utils.atomic import replacing, write_text
from loci_looped.utils.errors import LociError

_TYPES = {"cube": "Cube", "sphere": "Sphere", "cylinder": "Cylinder", "cone": "Cone"}


def write_adept(
    root: str | Path, name: str, clip: Clip, fps: float = 25.0, motion: WorldMotion | None = None,
    overwrite: bool = False,
) -> Path:
    """`<root>/<name>/` with imgs, masks and yaml as ADEPT has them, plus whole/ and background.png, which it lacks.

    The folder appears under its name only when it is complete.
    """
    truth = _truth(clip)
    camera = camera_from(clip.camera, Camera())
    motion = motion or seen_motion(clip, camera, fps)
    with _new_folder(Path(root) / name, overwrite) as folder:
        for part in ("imgs", "masks", "whole"):
            (folder / part).mkdir()
        opaque = np.full((*clip.size, 1), 255, dtype=np.uint8)
        _save(folder / "background.png", clip.background)
        scene = []
        for step, frame in enumerate(clip.frames):
            time = f"{step / fps:06.2f}s"
            _save(folder / "imgs" / f"{name}_{time}.png", np.concatenate([frame, opaque], axis=2))
            for index in range(truth.count):
                file = f"01_{name}_{index}_{time}.png"
                for part, masks in (("masks", truth.visible_masks), ("whole", truth.object_masks)):
                    grey = np.repeat(np.uint8(255) * masks[step, index, :, :, None], 3, axis=2).astype(np.uint8)
                    _save(folder / part / file, np.concatenate([grey, opaque], axis=2))
            scene.append({
                "image_path": f"imgs/{name}_{time}.png",
                "objects": [_adept_entry(truth, motion, step, index) for index in range(truth.count)],
            })
        # ADEPT does not say what happens; ours does, since not every violation can be seen in poses.
        events = [{"kind": event.kind, "frame": event.frame, "object": event.object} for event in clip.events]
        facts = {"case_name": name, "camera": _adept_camera(camera), "events": events, "scene": scene}
        _write_yaml(folder / f"{name}_ann.yaml", facts)
    return Path(root) / name


def _adept_camera(camera: Camera) -> dict[str, Any]:
    x, y, z = (float(p - q) for p, q in zip(camera.position, camera.look_at, strict=True))
    rho = math.sqrt(x * x + y * y + z * z)
    return {
        "camera_rho": rho,
        "camera_theta": math.degrees(math.asin(z / rho)),
        "camera_phi": math.degrees(math.atan2(y, x)),
        "camera_look_at": [float(value) for value in camera.look_at],
    }


def _adept_entry(truth: ObjectTruth, motion: WorldMotion, step: int, index: int) -> dict[str, Any]:
    colour, _, shape = truth.names[index].rpartition(" ")
    screen = truth.kinds[index] == "screen"
    location = motion.locations[step, index]
    if np.isnan(location).any():            # ADEPT parks what is not in the world behind the camera
        location = np.array([20.0 * (1 + index), 0.0, 0.0])
    return {
        "name": f"{'Occluder' if screen else shape}_{index}",
        "type": "Occluder" if screen else _TYPES.get(shape, "Sphere"),
        "color": colour,
        "location": _numbers(location),
        "rotation": _numbers(motion.rotations[step, index]),
        "scale": _numbers(motion.half_extents[index]),
        "velocity": _numbers(motion.velocities[step, index]),
        "angular_velocity": _numbers(motion.angular_velocities[step, index]),
        "mask": rle.encode(truth.visible_masks[step, index]),
    }


def write_clevrer(
    root: str | Path, number: int, clip: Clip, fps: float = 25.0, motion: WorldMotion | None = None,
    lossless: bool = False,
) -> Path:
    """Video `number` of a CLEVRER folder: film, annotation, true masks in the form of proposals, and the background.

    Proposals carry `whole_mask` beside `mask`; an object that is wholly hidden is listed with score 0.
    """
    truth = _truth(clip)
    if not 0 <= number < clevrer.FIRST[""]:
        raise LociError(f"CLEVRER numbers its videos from 0 to {clevrer.FIRST[''] - 1}; {number} has no place.")
    root, film = Path(root), clevrer.film_path(root, number)
    motion = motion or seen_motion(clip, camera_from(clip.camera, clevrer.CAMERA), fps)
    things = [_clevrer_thing(name, index) for index, name in enumerate(truth.names)]
    annotation = {
        "scene_index": number,
        "video_filename": film.name,
        "object_property": things,
        "motion_trajectory": [
            {"frame_id": step, "objects": _clevrer_objects(truth, motion, step)} for step in range(len(clip))
        ],
        "collision": _clevrer_collisions(clip, motion),
    }
    proposals = {
        "video_index": number,
        "video_name": film.name,
        "frames": [
            {"frame_index": step, "frame_filename": f"frame_{step:05d}.png", "objects": _proposals(truth, things, step)}
            for step in range(len(clip))
        ],
    }
    write_text(clevrer.annotation_path(root, number), json.dumps(annotation, allow_nan=False))
    write_text(root / "proposals" / f"proposal_{number:05d}.json", json.dumps(proposals, allow_nan=False))
    if not (root / "background.png").exists():
        with replacing(root / "background.png") as temporary:
            _save(temporary, clip.background)
    write_film(film, clip.frames, fps, lossless)        # last: a video that is there is complete
    return film


def _clevrer_thing(name: str, index: int) -> dict[str, Any]:
    """'red metal cube' or, without a material, 'red cube'."""
    words = name.split()
    if not 2 <= len(words) <= 3:
        raise LociError(f"CLEVRER describes objects by colour, material and shape; {name!r} does not.")
    return {"object_id": index, "color": words[0], "material": words[1] if len(words) == 3 else "rubber",
            "shape": words[-1]}


def _clevrer_objects(truth: ObjectTruth, motion: WorldMotion, step: int) -> list[dict[str, Any]]:
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


def _clevrer_collisions(clip: Clip, motion: WorldMotion) -> list[dict[str, Any]]:
    """Collision events come in pairs, one for each object."""
    touches = [(event.frame, event.object) for event in clip.events
               if event.kind == "collision" and event.object is not None]
    found = []
    for (frame, one), (_, other) in zip(touches[::2], touches[1::2], strict=False):
        place = (motion.locations[frame, one] + motion.locations[frame, other]) / 2
        found.append({"object_ids": [one, other], "frame_id": frame, "location": _numbers(place)})
    return found


def _proposals(truth: ObjectTruth, things: list[dict[str, Any]], step: int) -> list[dict[str, Any]]:
    return [
        {
            "color": thing["color"], "material": thing["material"], "shape": thing["shape"],
            "score": float(truth.visible_masks[step, index].any()),
            "mask": rle.encode(truth.visible_masks[step, index]),
            "whole_mask": rle.encode(truth.object_masks[step, index]),
        }
        for index, thing in enumerate(things) if truth.object_masks[step, index].any()
    ]


def _truth(clip: Clip) -> ObjectTruth:
    if clip.truth is None:
        raise LociError(f"{clip.source or 'This clip'} has no truth about its objects, so it cannot be written out.")
    return clip.truth


def _numbers(values: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in values]


def _save(path: Path, pixels: NDArray[np.uint8]) -> None:
    Image.fromarray(pixels).save(path, format="png", compress_level=1)


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
