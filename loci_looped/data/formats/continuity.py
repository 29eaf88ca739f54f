"""Which of several colours a pixel shows is the wall's: the one that goes on from where the wall is sure.

Something that slides to and fro may cover a pixel for longer than the wall is seen there. How long a colour is seen
does not tell then; but a wall goes on from pixel to pixel, and where a thing begins there is a jump.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))      # of each pixel, the other four are the same the other way round
LEAST = 1e-3                                        # an edge of weight 0 is none to scipy

Colours = NDArray[np.float32]                       # (C, H, W, 3) the candidates of each pixel
Shown = NDArray[np.bool_]                           # (C, H, W) which of them there are
Part = tuple[slice, slice]


def jumps_on_the_way(colours: Colours, shown: Shown) -> NDArray[np.float64]:
    """(C, H, W) for each candidate the largest jump on the smoothest way to it from pixels that show one colour alone.

    Jumps are in grey levels; infinite where there is no candidate, or no way at all.
    """
    numbers = np.where(shown, np.cumsum(shown.ravel()).reshape(shown.shape), 0)     # 0: the root of every way
    total = int(shown.sum()) + 1
    sure = numbers[:, shown.sum(axis=0) == 1]
    sure = sure[sure > 0]
    if not len(sure):
        return np.full(shown.shape, np.inf)
    starts, ends, weights = [np.zeros_like(sure)], [sure], [np.full(len(sure), LEAST)]
    for here, there in _pairs(shown.shape[1:]):
        for one, other in np.ndindex(len(shown), len(shown)):
            both = shown[one][here] & shown[other][there]
            starts.append(numbers[one][here][both])
            ends.append(numbers[other][there][both])
            weights.append(_jump(colours[one][here][both], colours[other][there][both]) + LEAST)
    graph = sparse.coo_array(
        (np.concatenate(weights), (np.concatenate(starts), np.concatenate(ends))), shape=(total, total)
    )
    # On the tree of smallest jumps the way from the root to a node is the one whose largest jump is smallest.
    tree = csgraph.minimum_spanning_tree(graph.tocsr())
    order, before = csgraph.breadth_first_order(tree, 0, directed=False)
    lengths = np.asarray((tree + tree.T).tocsr()[order[1:], before[order[1:]]]).ravel()
    largest = np.full(total, np.inf)
    largest[0] = 0.0
    for node, previous, length in zip(order[1:], before[order[1:]], lengths, strict=True):
        largest[node] = max(largest[previous], length)
    return np.where(shown, largest[numbers], np.inf)


def roughness(colours: Colours, shown: Shown) -> float:
    """The jump that nine of ten neighbours do not exceed, of those that show one colour alone."""
    sure = shown.sum(axis=0) == 1
    jumps = [
        _jump(colours[0][here], colours[0][there])[sure[here] & sure[there]] for here, there in _pairs(sure.shape)
    ]
    together = np.concatenate(jumps)
    return float(np.quantile(together, 0.9)) if len(together) else np.inf


def continued(colours: Colours, shown: Shown, clearly: float) -> NDArray[np.int64]:
    """(H, W) the number of the candidate that is taken for the wall's: the first, which is shown everywhere, unless the
    way to another one is smoother by more than `clearly` grey levels, and by more than the wall is rough."""
    jumps = jumps_on_the_way(colours, shown)
    better = jumps.min(axis=0) + max(clearly, roughness(colours, shown)) < jumps[0]
    return np.where(better, jumps.argmin(axis=0), 0)


def _pairs(size: tuple[int, ...]) -> Iterator[tuple[Part, Part]]:
    """Each pixel and its neighbour, as parts of a picture."""
    height, width = size
    for down, right in NEIGHBOURS:
        here = slice(0, height - down), slice(max(0, -right), width - max(0, right))
        yield here, (slice(down, height), slice(max(0, right), width + min(0, right)))


def _jump(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(np.abs(one - other).max(axis=-1))
