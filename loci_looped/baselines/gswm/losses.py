"""The evidence lower bound of one time step, term by term. All of them are per clip (B,), summed over everything else.

Depth, place and look of an object that goes on cost nothing: with and without the frame they follow from the dynamics
by the same network, so only the dynamics can differ.
"""

from __future__ import annotations

import math

from torch import Tensor

from loci_looped.configs.gswm import GswmConfig

from .distributions import presence_kl
from .state import ContextBelief, DiscoveryBelief, GswmOutput, PropagationBelief

Terms = dict[str, Tensor]


def log_likelihood(frame: Tensor, painted: Tensor, std: float) -> Tensor:
    """(B,) log N(frame; painted, std²), constant included."""
    constant = math.log(std) + 0.5 * math.log(2 * math.pi)
    return (-0.5 * ((frame - painted) / std).square() - constant).flatten(1).sum(1)


def discovery_kl(belief: DiscoveryBelief, config: GswmConfig, update: int) -> Terms:
    """What it costs to find objects. Attributes count as much as the object was present before it was rejected."""
    present = belief.presence
    where = belief.scale.kl_to(config.scale_prior_mean(update), config.scale_prior_std).sum(-1, keepdim=True)
    where = where + belief.shift.kl_to(0.0, 1.0).sum(-1, keepdim=True)
    return {
        "found_presence": _total(presence_kl(belief.probability, config.presence_prior)),
        "found_depth": _total(present * belief.depth.kl_to(0.0, 1.0)),
        "found_where": _total(present * where),
        "found_what": _total(present * belief.what.kl_to(0.0, 1.0)),
        "found_dynamics": _total(belief.dynamics.kl_to(0.0, 1.0)),
    }


def propagation_kl(belief: PropagationBelief, config: GswmConfig) -> Terms:
    """What it costs that objects go on differently from what was expected. Presence does not weigh it."""
    exist = belief.exist.unsqueeze(-1).to(belief.probability.dtype)
    terms = {"kept_dynamics": _total(exist * belief.dynamics.kl(belief.dynamics_prior))}
    if config.presence_kl:
        terms["kept_presence"] = _total(exist * presence_kl(belief.probability, config.presence_prior))
    return terms


def background_kl(belief: ContextBelief) -> Tensor:
    return _total(belief.posterior.kl(belief.prior))


def step_terms(output: GswmOutput, frame: Tensor, config: GswmConfig, update: int) -> Terms:
    """Terms of the loss, which is their sum: the negative log-likelihood and the KL divergences."""
    terms = {"reconstruction": -log_likelihood(frame, output.rendering.frame, config.pixel_std)}
    if output.propagation is not None:
        terms |= propagation_kl(output.propagation, config)
    if output.discovery is not None:
        terms |= discovery_kl(output.discovery, config, update)
    if output.context is not None:
        terms["background"] = background_kl(output.context)
    return terms


def _total(values: Tensor) -> Tensor:
    return values.flatten(1).sum(1)
