"""What the network found, in the formats of others: masks as arrays and as COCO annotations, tracks as MOT challenge.

`visible` is what can be seen of an object, `whole` the object as it is believed to be, hidden parts included.
Pixels are those of the film; arrays in masks.npz have the network's own size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loci_looped.data.coordinates import Size
from loci_looped.data.formats import rle
from loci_looped.inference.watch import FrameResult
from loci_looped.utils.atomic import replacing, write_text

Part = Literal["visible", "whole"]
PARTS: tuple[Part, ...] = ("visible", "whole")
MASKS, TRACKS = "masks.npz", "tracks.csv"
FILES = (MASKS, *(f"masks-{part}.json" for part in PARTS), TRACKS)
CATEGORIES = ({"id": 1, "name": "object"}, {"id": 2, "name": "screen"})


@dataclass(frozen=True)
class _Found:
    """One slot that holds an object, in one frame."""

    frame: int
    slot: int
    screen: bool
    occlusion: float
    codes: dict[Part, dict[str, Any]]               # run-length masks of COCO
    boxes: dict[Part, tuple[int, int, int, int]]    # left, top, width, height; only where there is a pixel


class Annotations:
    """Grows with the film: run lengths and small masks, never pictures."""

    def __init__(self) -> None:
        self.size: Size | None = None                               # of the film's pictures
        self.numbers: list[int] = []
        self.seconds: list[float] = []
        self.masks: dict[Part, list[NDArray[np.bool_]]] = {part: [] for part in PARTS}
        self.found: list[_Found] = []

    def add(self, seen: FrameResult) -> None:
        self.size = seen.picture.shape[0], seen.picture.shape[1]
        bound = seen.bound.numpy()
        soft = {"visible": seen.belief.visible_masks()[0].numpy(), "whole": seen.belief.whole_masks[0].numpy()}
        self.numbers.append(seen.number)
        self.seconds.append(seen.time)
        for part in PARTS:
            self.masks[part].append((soft[part] > 0.5) & bound[:, None, None])
        for slot in np.flatnonzero(bound):
            masks = {part: _enlarged(soft[part][slot], self.size) for part in PARTS}
            self.found.append(_Found(
                seen.number, int(slot), int(slot) == seen.screen, float(seen.occlusion[slot]),
                {part: rle.encode(mask) for part, mask in masks.items()},
                {part: box_of(mask) for part, mask in masks.items() if mask.any()},
            ))

    def write(self, folder: Path) -> None:
        """All files of `FILES`, each whole or not at all."""
        with replacing(folder / MASKS) as temporary:
            np.savez_compressed(
                temporary, frame=np.array(self.numbers), seconds=np.array(self.seconds),
                visible=np.stack(self.masks["visible"]), whole=np.stack(self.masks["whole"]),
            )
        for part in PARTS:
            write_text(folder / f"masks-{part}.json", json.dumps(self.coco(part), separators=(",", ":")) + "\n")
        write_text(folder / TRACKS, "".join(f"{line}\n" for line in self.mot_lines()))

    def coco(self, part: Part) -> dict[str, Any]:
        """COCO annotations; `track_id` is the slot, counted from 1 as in the film."""
        assert self.size is not None
        height, width = self.size
        images = [{"id": number + 1, "file_name": f"frame-{number:06d}.png", "height": height, "width": width,
                   "seconds": round(time, 3)} for number, time in zip(self.numbers, self.seconds, strict=True)]
        shown = [found for found in self.found if part in found.boxes]
        annotations = [{
            "id": index + 1, "image_id": found.frame + 1, "category_id": 2 if found.screen else 1,
            "track_id": found.slot + 1, "segmentation": found.codes[part], "bbox": list(found.boxes[part]),
            "area": int(rle.decode(found.codes[part]).sum()), "iscrowd": 0, "occlusion": round(found.occlusion, 4),
        } for index, found in enumerate(shown)]
        return {"images": images, "annotations": annotations, "categories": list(CATEGORIES)}

    def mot_lines(self) -> Iterator[str]:
        """frame, id, left, top, width, height, confidence, -1, -1, -1; frames and pixels from 1 on, as MOT counts.

        Boxes are those of whole objects, so hidden ones are listed, too; the confidence is the share that can be seen.
        """
        for found in self.found:
            if "whole" in found.boxes:
                left, top, width, height = found.boxes["whole"]
                seen = min(1.0, max(0.0, 1 - found.occlusion))
                yield f"{found.frame + 1},{found.slot + 1},{left + 1},{top + 1},{width},{height},{seen:.4f},-1,-1,-1"


def box_of(mask: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """(left, top, width, height) of the pixels of a mask (H, W) that is not empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)


def _enlarged(mask: NDArray[np.float32], size: Size) -> NDArray[np.bool_]:
    """A soft mask (h, w) at another size: its values are interpolated before they are cut, which gives smooth edges."""
    if mask.shape == size:
        return mask > 0.5
    picture = Image.fromarray(mask.astype(np.float32)).resize((size[1], size[0]), Image.Resampling.BILINEAR)
    return np.asarray(picture) > 0.5
