"""Single pictures: decoding with a sentence when they are broken, alpha, resizing of frames and masks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loci_looped.utils.errors import LociError

Size = tuple[int, int]                  # (H, W)
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")


def is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def in_number_order(paths: list[Path]) -> list[Path]:
    """Sorted so that frame2 comes before frame10."""
    return sorted(paths, key=lambda path: [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", path.name)])


def open_picture(path: Path) -> Image.Image:
    """The decoded picture, or a sentence that names the file."""
    try:
        picture = Image.open(path)
        picture.load()
        return picture
    except FileNotFoundError:
        raise LociError(f"There is no picture {path}.") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise LociError(f"{path} is not a picture that can be read ({error}); is it cut off or damaged?") from error


def to_rgb(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], bool]:
    """(H, W, 3) from RGB or RGBA, and whether anything was transparent. What is transparent shows black."""
    if pixels.shape[2] == 3:
        return pixels, False
    alpha = pixels[..., 3:]
    if (alpha == 255).all():
        return np.ascontiguousarray(pixels[..., :3]), False
    return np.rint(pixels[..., :3] * (alpha / 255.0)).astype(np.uint8), True


def read_rgb(path: Path) -> tuple[NDArray[np.uint8], bool]:
    """(H, W, 3) of a picture file of any mode, and whether anything in it was transparent."""
    picture = open_picture(path)
    has_alpha = "A" in picture.getbands() or "transparency" in picture.info
    return to_rgb(np.asarray(picture.convert("RGBA" if has_alpha else "RGB")))


def resize(frame: NDArray[np.uint8], size: Size | None) -> NDArray[np.uint8]:
    """(H, W, 3) at another size, smoothed when it gets smaller."""
    if size is None or frame.shape[:2] == size:
        return frame
    return np.asarray(Image.fromarray(frame).resize((size[1], size[0]), Image.Resampling.BILINEAR))


def resize_masks(masks: NDArray[np.bool_], size: Size | None) -> NDArray[np.bool_]:
    """(..., H, W) at another size: each new pixel takes the old pixel under its centre."""
    height, width = masks.shape[-2:]
    if size is None or (height, width) == size:
        return masks
    rows = ((np.arange(size[0]) + 0.5) * height / size[0]).astype(int)
    columns = ((np.arange(size[1]) + 0.5) * width / size[1]).astype(int)
    return np.ascontiguousarray(masks[..., rows[:, None], columns])


def check_size(size: Size | None) -> None:
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise LociError(f"A frame size of {size} is not possible; give height and width of at least 1 pixel.")
