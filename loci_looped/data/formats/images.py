"""Single pictures: decoding with a sentence when they are broken, transparency, writing."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loci_looped.data.coordinates import Size
from loci_looped.utils.errors import LociError

PNG_OPENING = b"\x89PNG\r\n\x1a\n"
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
        if picture.format == "PNG":
            _check_sums(path)
        picture.load()
        return picture
    except FileNotFoundError:
        raise LociError(f"There is no picture {path}.") from None
    except PermissionError:
        raise LociError(f"{path} is there, but you are not allowed to read it.") from None
    except (OSError, SyntaxError, ValueError, struct.error, Image.DecompressionBombError) as error:
        raise LociError(f"{path} is not a picture that can be read ({error}); is it cut off or damaged?") from error


def _check_sums(path: Path) -> None:
    """Pillow does not compare the checksums of a PNG's pixels: flipped bits would become other colours."""
    content = path.read_bytes()
    place, kind = len(PNG_OPENING), b""
    while kind != b"IEND":
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        body = content[place + 4 : place + 8 + length]
        (told,) = struct.unpack(">I", content[place + 8 + length : place + 12 + length])
        if zlib.crc32(body) != told:
            raise ValueError(f"the checksum of its part {kind.decode('latin-1')} is wrong")
        place += 12 + length


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
    if picture.mode == "F" or picture.mode.startswith("I"):
        return _deep_grey(path, picture), False
    has_alpha = "A" in picture.getbands() or "transparency" in picture.info
    return to_rgb(np.asarray(picture.convert("RGBA" if has_alpha else "RGB")))


def _deep_grey(path: Path, picture: Image.Image) -> NDArray[np.uint8]:
    """(H, W, 3) of a grey picture with more than 8 bits. Pillow's own conversion cuts at 255: all would be white."""
    values = np.asarray(picture).astype(np.float64)
    # The range belongs to the file's type, not to its content: else every frame would have a brightness of its own.
    white = 1.0 if picture.mode == "F" else 65535.0
    if not (values.min() >= 0 and values.max() <= white):
        raise LociError(
            f"{path} has grey values from {values.min():g} to {values.max():g}, and nothing tells which of them is "
            f"white; save it with 8 or 16 bits, or as numbers from 0 to 1."
        )
    grey = np.rint(values * (255 / white)).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


def save_png(path: Path, pixels: NDArray[np.uint8]) -> None:
    Image.fromarray(pixels).save(path, format="png", compress_level=1)


SHAPES_DIFFER = 1.1
"""Pictures whose ratios of width to height differ by more than this factor look squeezed in each other's frame."""


def ratio_between(one: Size, other: Size) -> float:
    """By which factor the shape of one frame is wider, or narrower, than that of the other; at least 1."""
    ratio = one[1] * other[0] / (one[0] * other[1])
    return max(ratio, 1 / ratio)


def shape_note(name: str, size: Size, wanted: Size) -> list[str]:
    """A sentence if frames of `size` are squeezed into another shape when they are shown at the size `wanted`."""
    if ratio_between(size, wanted) <= SHAPES_DIFFER:
        return []
    return [
        f"{name} is {size[0]} x {size[1]} pixels and is squeezed into {wanted[0]} x {wanted[1]}, another shape: round "
        f"things look oval to the network. Crop it to a width of {wanted[1] / wanted[0]:.2f} times its height."
    ]


def check_size(size: Size | None) -> None:
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise LociError(f"A frame size of {size} is not possible; give height and width of at least 1 pixel.")
