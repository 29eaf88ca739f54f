"""Which of several colours a pixel shows is the wall's: the one that goes on from where the wall is sure.

Something that slides to and fro may cover a pixel for longer than the wall is seen there. How long a colour is seen
does not tell then; but a wall goes on from pixel to pixel, and where a thing begins there is a jump.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))      # of each pixel, the other four are the same the other way round
LEAST = 1e-3                                        # an edge of weight 0 is none to scipy

Colours = NDArray[np.float32]                       # (C, H, W, 3) the candidates of each pixel
Shown = NDArray[np.bool_]                           # (C, H, W) which of them there are


def jumps_on_the_way(colours: Colours, shown: Shown) -> NDArray[np.float64]:
    """(C, H, W) for each candidate the largest jump on the smoothest way to it from pixels that show one colour alone.

    Jumps are in grey levels; infinite where there is no candidate, or no way at all.
    """
    count, height, width = shown.shape
    numbers = np.cumsum(shown.ravel()).reshape(shown.shape)             # 0 is the root, from which every way begins
    numbers = np.where(shown, numbers, 0)
    total = int(shown.sum()) + 1
    sure = numbers[:, shown.sum(axis=0) == 1]
    sure = sure[sure > 0]
    starts, ends, weights = [np.zeros_like(sure)], [sure], [np.full(len(sure), LEAST)]
    for down, right in NEIGHBOURS:
        here = slice(0, height - down), slice(max(0, -right), width - max(0, right))
        there = slice(down, height), slice(max(0, right), width + min(0, right))
        for one in range(count):
            for other in range(count):
                both = shown[one][here] & shown[other][there]
                jump = np.abs(colours[one][here][both] - colours[other][there][both]).max(axis=-1)
                starts.append(numbers[one][here][both])
                ends.append(numbers[other][there][both])
                weights.append(jump + LEAST)
    graph = sparse.coo_array(
        (np.concatenate(weights), (np.concatenate(starts), np.concatenate(ends))), shape=(total, total)
    )
    # On the tree of smallest jumps the way from the root to a node is the one whose largest jump is smallest.
    tree = csgraph.minimum_spanning_tree(graph.tocsr())
    order, before = csgraph.breadth_first_order(tree, 0, directed=False)
    step = (tree + tree.T).tocsr()
    largest = np.full(total, np.inf)
    largest[0] = 0.0
    lengths = np.asarray(step[order[1:], before[order[1:]]]).ravel()
    for node, previous, length in zip(order[1:], before[order[1:]], lengths, strict=True):
        largest[node] = max(largest[previous], length)
    return np.where(shown, largest[numbers], np.inf)


def continued(colours: Colours, shown: Shown, clearly: float) -> NDArray[np.int64]:
    """(H, W) the number of the candidate that is taken for the wall's: the first, unless the way to another one is
    smoother by more than `clearly` grey levels."""
    jumps = jumps_on_the_way(colours, shown)
    smoothest = jumps.argmin(axis=0)
    return np.where(jumps.min(axis=0) + clearly < jumps[0], smoothest, 0)
