"""The authors' names of weights, and ours."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from loci_looped.utils.errors import LociError

from .gswm import Gswm

_PREFIXES: tuple[tuple[str, str], ...] = (
    (r"fg_module\.img_encoder\.(conv1|enc\.0)\.", "discovery.trunk.stem."),
    (r"fg_module\.img_encoder\.enc\.1\.", "discovery.trunk.stem_norm."),
    (r"fg_module\.img_encoder\.last\.", "discovery.trunk.last."),
    (r"fg_module\.prop_map_mlp\.", "discovery.known_features."),
    (r"fg_module\.pres_depth_where_what_latent_post_disc\.enc\.", "discovery.attributes."),
    (r"fg_module\.latent_post_disc\.enc\.", "discovery.dynamics."),
    (r"fg_module\.pred_proposal\.net\.mod\.", "propagation.proposal_growth."),
    (r"fg_module\.proposal_encoder\.enc_what\.", "propagation.glimpse_encoder.output."),
    (r"fg_module\.proposal_encoder\.enc\.", "propagation.glimpse_encoder.net."),
    (r"fg_module\.latent_post_prop\.enc\.", "propagation.dynamics."),
    (r"fg_module\.latent_prior_prop\.enc\.", "propagation.dynamics_prior."),
    (r"fg_module\.pres_depth_where_what_prior\.enc\.", "propagation.update.net."),
    (r"fg_module\.bg_attention_encoder\.enc_what\.", "situation.surroundings.output."),
    (r"fg_module\.bg_attention_encoder\.enc\.", "situation.surroundings.net."),
    (r"fg_module\.prop_cond_self_(post|prior)\.", "situation.{}.interaction.self_effect."),
    (r"fg_module\.prop_cond_relational_(post|prior)\.", "situation.{}.interaction.relation."),
    (r"fg_module\.prop_cond_weights_(post|prior)\.", "situation.{}.interaction.attention."),
    (r"fg_module\.temporal_rnn_(post|prior)_input\.mod\.", "situation.{}.input."),
    (r"fg_module\.temporal_rnn_(post|prior)\.mod\.", "situation.{}.cell."),
    (r"fg_module\.h_init_(post|prior)$", "situation.{}.initial.hidden"),
    (r"fg_module\.c_init_(post|prior)$", "situation.{}.initial.cell"),
    (r"fg_module\.glimpse_decoder\.fc\.", "renderer.decoder.input."),
    (r"fg_module\.glimpse_decoder\.net\.", "renderer.decoder.net."),
    (r"bg_module\.enc_fc\.", "background.encoder_output."),
    (r"bg_module\.enc\.", "background.encoder."),
    (r"bg_module\.dec_fc\.", "background.decoder_input."),
    (r"bg_module\.dec\.", "background.decoder."),
    (r"bg_module\.(post|prior)_net\.", "background.{}."),
    (r"bg_module\.rnn_(post|prior)\.", "background.{}_cell."),
    (r"bg_module\.h_init_(post|prior)$", "background.{}_initial.hidden"),
    (r"bg_module\.c_init_(post|prior)$", "background.{}_initial.cell"),
)
_BLOCK = re.compile(r"fg_module\.img_encoder\.enc\.([345])\.([01])\.(conv1|bn1|conv2|bn2|downsample)\.")
_BLOCK_PARTS = {
    "conv1": "first", "bn1": "first_norm", "conv2": "second", "bn2": "second_norm", "downsample": "skip",
}
_UNUSED = re.compile(r"fg_module\.prop_cond_init_(post|prior)$")
"""Weights that nothing uses."""
LONG_HEAD = re.compile(r"discovery\.attributes\.6\.(weight|bias)$")
"""The authors' last layer of the attribute head also gives dynamics, which nothing uses; ours ends before them."""


def our_name(name: str) -> str | None:
    """What we call the authors' weight; None if nothing uses it. An unknown name is refused."""
    if _UNUSED.match(name):
        return None
    block = _BLOCK.match(name)
    if block:
        stage, number, part = block.groups()
        return f"discovery.trunk.stages.{int(stage) - 3}.{number}.{_BLOCK_PARTS[part]}.{name[block.end():]}"
    for pattern, ours in _PREFIXES:
        found = re.match(pattern, name)
        if found:
            which = "posterior" if "post" in found.groups() else "prior"
            return ours.format(which) + name[found.end():]
    raise LociError(f"{name!r} is no weight of G-SWM.")


def load_official(model: Gswm, tensors: Mapping[str, Tensor]) -> None:
    """Put the authors' weights into our network. Every weight must be there, of the right shape.

    A background module that the model does without is passed over: the authors always build one.
    """
    ours = {name: value for name, value in model.state_dict().items() if not name.endswith("num_batches_tracked")}
    loaded: dict[str, Tensor] = {}
    for name, value in tensors.items():
        known = our_name(name) if not name.endswith("num_batches_tracked") else None
        if known is None or (known.startswith("background.") and model.config.background != "learned"):
            continue
        if known not in ours:
            raise LociError(f"{name!r} has no place in this G-SWM: its configuration is another one.")
        loaded[known] = _fitting(name, value, ours[known].shape, bool(LONG_HEAD.match(known)))
    missing = sorted(set(ours) - set(loaded))
    if missing:
        raise LociError(f"The weights lack {missing[0]!r} and {len(missing) - 1} more.")
    model.load_state_dict(loaded, strict=False)


def _fitting(name: str, value: Tensor, shape: torch.Size, longer: bool) -> Tensor:
    if longer and value.shape[0] > shape[0]:
        value = value[: shape[0]]
    if value.numel() != shape.numel():
        raise LociError(f"{name!r} is {tuple(value.shape)}, but this G-SWM needs {tuple(shape)}.")
    # Learned starts have leading ones in the authors' files.
    return value.reshape(shape)
