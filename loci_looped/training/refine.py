"""Grow a trained network of one level to two: what it knows is taken over, and only the new parts may learn."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from loci_looped.inference.networks import load
from loci_looped.model import LociLooped
from loci_looped.training.inherit import Inheritance
from loci_looped.utils.errors import LociError

FINER = 4
DETAILS = ".refinement."
"""Where the names of level 2's painters have this, they are the decoder's details."""
BACKGROUND = "decoder.background_logit_image"


def let_details_learn(model: LociLooped) -> None:
    """Everything else stays as it is."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(DETAILS in name)



def growth(name: str, fresh: Mapping[str, Tensor]) -> Inheritance:
    """The weights of a network of one level for an untrained one of two, `fresh`: at first its pictures are enlarged.
    """
    network = load(name)
    if network.config.levels > 1:
        raise LociError(f"{name} has two levels already: there is nothing to grow.")
    theirs = network.state_dict()
    weights: dict[str, Tensor] = {}
    for key, value in fresh.items():
        if key == BACKGROUND and key in theirs:
            weights[key] = theirs[key].repeat_interleave(FINER, -1).repeat_interleave(FINER, -2)
        else:
            weights[key] = theirs.get(key, value)
    unfit = [key for key, value in fresh.items() if weights[key].shape != value.shape]
    unfit += sorted(set(theirs) - set(fresh))
    if unfit:
        raise LociError(
            f"The network {name} does not fit this recipe: {unfit[0]} is of another make ({len(unfit)} parts in all). "
            "Use the recipe it was trained with, and the same --model fields."
        )
    rows, columns = network.config.frame
    return Inheritance(name, weights, (
        f"It grows out of {name}: pictures of {FINER * rows} x {FINER * columns} pixels instead of {rows} x {columns}. "
        "All it knows stays as it is; only details of pictures are learnt."
    ))
