"""Things that stand still and hide others. A background estimated from the film contains them, and what passes behind
them would vanish into the wall; here they are found, and taken out of the background, so that they become objects.

Where it can be told: something disappears inside the picture, and comes out again elsewhere as if it had gone on. What
shows the background on the way between, although the thing should be there, stands before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from loci_looped.data.coordinates import Size, diagonal, resize, resize_masks
from loci_looped.data.films.moving import SMALLEST, Blob, blobs, foreground
from loci_looped.data.formats.images import read_rgb
from loci_looped.utils.errors import LociError

Mask = NDArray[np.bool_]            # (H, W)

NEAR = 0.10                         # of the diagonal: the farthest a blob may be from where it is expected
ALIKE = 60.0                        # grey levels between mean colours of the same thing
LONGEST_GAP = 60                    # frames for which a thing may be out of sight
RECENT = 12                         # frames that tell what colour a thing has
LARGE_ENOUGH = 16                   # pixels of a thing whose way can be told
PASSED = 2                          # frames in which something may be seen on an occluder, by mistake
SURE = 2                            # so many frames must show that a pixel hides something
LARGEST = 0.3                       # of the picture: what grows beyond is the wall and not a thing before it
FILLED = 0.85                       # of its bounding rectangle, above which a standing thing is a rectangle
EVEN = 14.0                         # grey levels within which a standing thing has one colour


@dataclass(frozen=True)
class Trail:
    """The blobs of one thing in successive frames."""

    blobs: tuple[Blob, ...]

    @property
    def whole(self) -> Blob:
        """Where most of it is seen."""
        return max(self.blobs, key=lambda blob: blob.area)

    def well_seen(self) -> list[Blob]:
        """Where nothing of it is cut off, as far as the area tells."""
        most = float(np.median(sorted(blob.area for blob in self.blobs)[-5:]))
        return [blob for blob in self.blobs if blob.area > 0.85 * most and not blob.at_border]

    def place(self, frame: int, from_end: bool) -> NDArray[np.float64] | None:
        """(2,) where it is expected in another frame, from how it moved at its end, or at its beginning."""
        seen = self.well_seen()
        nearest = seen[-1 if from_end else 0].frame if seen else 0
        # Few frames, since it may have turned before.
        seen = [blob for blob in seen if abs(blob.frame - nearest) < 4]
        if len(seen) < 3:
            return None
        times = np.array([blob.frame for blob in seen], dtype=np.float64)
        speed, start = np.polyfit(times, np.array([blob.centre for blob in seen]), 1)
        return np.asarray(start + speed * frame)


def read_mask(path: str | Path, size: Size | None = None) -> Mask:
    """An occluder that somebody has marked: a picture that is light where it stands, and dark elsewhere."""
    marked = read_rgb(Path(path))[0].mean(axis=-1) > 127
    if not marked.any() or marked.all():
        what = "nothing" if not marked.any() else "everything"
        raise LociError(f"{path} marks {what}: paint the occluder white on black, in a picture as large as the film.")
    return resize_masks(marked, size)


def rectangle(top: float, left: float, bottom: float, right: float, size: Size) -> Mask:
    """An occluder as a rectangle, its sides given as shares of the picture's height and width."""
    if not (0 <= top < bottom <= 1 and 0 <= left < right <= 1):
        raise LociError(f"A rectangle from ({top:g}, {left:g}) to ({bottom:g}, {right:g}) is not inside the picture.")
    rows = (np.arange(size[0]) + 0.5) / size[0]
    columns = (np.arange(size[1]) + 0.5) / size[1]
    mask: Mask = ((rows >= top) & (rows <= bottom))[:, None] & (columns >= left) & (columns <= right)
    if not mask.any():
        raise LociError("The rectangle is smaller than a pixel of the network's picture: draw a larger one.")
    return mask


def without(background: NDArray[np.uint8], occluder: Mask) -> NDArray[np.uint8]:
    """The background as it may look behind an occluder: filled in smoothly from around it."""
    hole = ndimage.binary_dilation(occluder, np.ones((3, 3)))       # its blurred outline is no background either
    if not hole.any() or hole.all():
        return background
    known = (~hole).astype(np.float64)
    filled = background.astype(np.float64) * known[..., None]
    result = background.astype(np.float64).copy()
    missing = hole.copy()
    for sigma in (1.0, 2.0, 4.0, 8.0, 16.0, 64.0):      # from near where there is something near
        weight = ndimage.gaussian_filter(known, sigma)
        reached = missing & (weight > 0.05)
        if reached.any():
            smooth = ndimage.gaussian_filter(filled, (sigma, sigma, 0))
            result[reached] = smooth[reached] / weight[reached][:, None]
            missing &= ~reached
    result[missing] = background[~hole].mean(axis=0)
    softened = ndimage.gaussian_filter(result, (1.0, 1.0, 0))
    result[hole] = softened[hole]
    return np.clip(np.rint(result), 0, 255).astype(np.uint8)


def standing_occluders(frames: NDArray[np.uint8], background: NDArray[np.uint8]) -> Mask:
    """(H, W) where something that never moves has been seen to hide something that does; often nowhere."""
    front = foreground(frames, background)
    evidence = np.zeros(background.shape[:2], dtype=np.int64)
    for before, after in reappearances(trails(frames, front), background.shape[:2]):
        evidence += _hiding(before, after, front)
    evidence[front.sum(axis=0) > PASSED] = 0            # where things are seen, nothing hides them
    sure = ndimage.binary_opening(ndimage.binary_closing(evidence >= SURE, iterations=1))
    return _whole_things(sure, background)


def trails(frames: NDArray[np.uint8], front: Mask) -> list[Trail]:
    """Blobs (T, H, W) followed from frame to frame; a trail ends where its thing vanishes or meets another."""
    near = NEAR * diagonal((frames.shape[1], frames.shape[2]))
    ended: list[Trail] = []
    open_trails: list[list[Blob]] = []
    for number, (frame, here) in enumerate(zip(frames, front, strict=True)):
        found = blobs(np.asarray(frame), here, number)
        pairs = sorted(
            (float(np.linalg.norm(trail[-1].centre - blob.centre)), index, place)
            for index, trail in enumerate(open_trails) for place, blob in enumerate(found)
            if np.linalg.norm(_usual_colour(trail) - blob.colour) < ALIKE
        )
        taken: dict[int, int] = {}
        used: set[int] = set()
        for distance, index, place in pairs:
            if distance < near and index not in taken and place not in used:
                taken[index] = place
                used.add(place)
        ended += [Trail(tuple(trail)) for index, trail in enumerate(open_trails) if index not in taken]
        open_trails = [[*open_trails[index], found[place]] for index, place in taken.items()]
        open_trails += [[blob] for place, blob in enumerate(found) if place not in used]
    return ended + [Trail(tuple(trail)) for trail in open_trails]


def _usual_colour(trail: list[Blob]) -> NDArray[np.float64]:
    """Not that of its last blob: from a thing to one that touches it, colours change little by little."""
    return np.asarray(np.median([blob.colour for blob in trail[-RECENT:]], axis=0))


def reappearances(found: list[Trail], size: Size) -> list[tuple[Trail, Trail]]:
    """Pairs of trails that are one thing: where the first vanishes, and how it moved, the second fits."""
    near = NEAR * diagonal(size)
    pairs = []
    for first in found:
        for second in found:
            gone, back = first.blobs[-1], second.blobs[0]
            if not 1 < back.frame - gone.frame <= LONGEST_GAP or gone.at_border or back.at_border:
                continue
            if np.linalg.norm(first.whole.colour - second.whole.colour) > ALIKE:
                continue
            if not 0.5 < first.whole.area / second.whole.area < 2 or first.whole.area < LARGE_ENOUGH:
                continue
            between = (gone.frame + back.frame) // 2
            ahead, behind = first.place(between, from_end=True), second.place(between, from_end=False)
            if ahead is not None and behind is not None and np.linalg.norm(ahead - behind) < near:
                pairs.append((float(np.linalg.norm(ahead - behind)), first, second))
    pairs.sort(key=lambda pair: pair[0])
    chosen: list[tuple[Trail, Trail]] = []
    for _, first, second in pairs:
        if all(first is not one and second is not other for one, other in chosen):
            chosen.append((first, second))
    return chosen


def _hiding(before: Trail, after: Trail, front: Mask) -> NDArray[np.int64]:
    """(H, W) in how many frames a pixel shows the background, although the thing must be there."""
    last, first = before.well_seen()[-1], after.well_seen()[0]
    shape = before.whole if before.whole.area >= after.whole.area else after.whole
    inner = ndimage.binary_erosion(shape.mask) if shape.area > 3 * SMALLEST else shape.mask
    count = np.zeros(front.shape[1:], dtype=np.int64)
    for number in range(last.frame + 1, first.frame):
        share = (number - last.frame) / (first.frame - last.frame)
        centre = last.centre + share * (first.centre - last.centre)
        count += _moved(inner, centre - shape.centre) & ~front[number]
    return count


def _moved(mask: Mask, by: NDArray[np.float64]) -> Mask:
    rows, columns = (int(part) for part in np.rint(by))
    height, width = mask.shape
    result = np.zeros_like(mask)
    if abs(rows) < height and abs(columns) < width:
        into = result[max(0, rows) : height + min(0, rows), max(0, columns) : width + min(0, columns)]
        into[:] = mask[max(0, -rows) : height + min(0, -rows), max(0, -columns) : width + min(0, -columns)]
    return result


def _whole_things(seen_hiding: Mask, background: NDArray[np.uint8]) -> Mask:
    """Each part grown over the even colour it has, if that ends somewhere; what hides here will hide there."""
    labels, count = ndimage.label(seen_hiding)
    result = np.zeros_like(seen_hiding)
    values = background.astype(np.float64)
    for label in range(1, count + 1):
        part = labels == label
        if part.sum() < SMALLEST:
            continue
        colour = np.median(values[part], axis=0)
        alike = (np.abs(values - colour).max(axis=-1) < EVEN) | part
        grown = ndimage.binary_propagation(part, mask=ndimage.binary_opening(alike) | part)
        grown = ndimage.binary_fill_holes(grown)
        even = float((np.abs(values[part] - colour).max(axis=-1) < EVEN).mean()) > 0.7
        result |= _squared(grown) if even and grown.mean() < LARGEST else part
    return result


def _squared(mask: Mask) -> Mask:
    """With its corners, if it nearly fills a rectangle: there its colour is mixed with the wall's."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    whole = np.zeros_like(mask)
    whole[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = True
    return whole if mask.sum() > FILLED * whole.sum() else mask


def marked_or_found(
    frames: NDArray[np.uint8], background: NDArray[np.uint8], mask: Mask | None, find: bool = True
) -> tuple[NDArray[np.uint8], Mask]:
    """The background without its occluders, and where they are: those that are marked, else those that are found."""
    if mask is None:
        mask = standing_occluders(frames, background) if find else np.zeros(background.shape[:2], dtype=bool)
    return (without(background, mask), mask) if mask.any() else (background, mask)


def shown(frame: NDArray[np.uint8], occluder: Mask, size: Size) -> NDArray[np.uint8]:
    """A picture for people: the occluder tinted red."""
    picture, mask = resize(frame, size).astype(np.float64), resize_masks(occluder, size)
    picture[mask] = 0.5 * picture[mask] + 0.5 * np.array([220, 40, 40])
    return np.asarray(np.rint(picture), dtype=np.uint8)
