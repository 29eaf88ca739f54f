"""Comparison with golden files: numbers that the authors' code computed once, with random weights and without noise.

Weights that would make the files large are not stored but made again by a recipe from their names.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from loci_looped.baselines.deviation import Deviation
from loci_looped.configs.gswm import GswmConfig, preset
from loci_looped.utils.errors import LociError

from .generation import roll_out
from .gswm import Gswm
from .losses import Terms, step_terms
from .official import LONG_HEAD, load_official, our_name
from .state import GswmOutput, Objects, stack_in_time

Arrays = dict[str, NDArray[Any]]

UPDATE = 5_000
"""The update at which the files were computed: half-way of the scale prior's way."""
EVERY = 5
"""Rows and columns of the pictures that are stored."""
PROBES = 20


def is_golden(data: Arrays) -> bool:
    """Are these the contents of a golden file of G-SWM?"""
    return "track.z_where" in data and "recipe.names" in data


def read(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as stored:
        data: Arrays = {name: stored[name] for name in stored.files}
    if not is_golden(data):
        raise LociError(f"{path} is no golden file of G-SWM: it has no 'track.z_where' or no 'recipe.names'.")
    return data


def config_of(data: Arrays) -> GswmConfig:
    """The authors' settings: OBJ3D's where there is a background module, else those of the balls."""
    return preset("gswm-obj3d" if "track.z_ctx" in data else "gswm-balls")


def official_weights(data: Arrays) -> dict[str, Tensor]:
    """The authors' state dict, stored and made again."""
    weights = {
        name.removeprefix("weights."): torch.from_numpy(value) for name, value in data.items()
        if name.startswith("weights.")
    }
    recipe = (data[f"recipe.{part}"] for part in ("names", "shapes", "gain", "check"))
    for name, shape, gain, check in zip(*recipe, strict=True):
        value = _made(str(name), tuple(int(n) for n in shape), float(gain))
        exact = value.astype(np.float64)
        found = np.array([exact.sum(), np.abs(exact).sum(), exact.flat[0], exact.flat[-1]])
        if not np.allclose(found, check, rtol=1e-9, atol=1e-9):
            raise LociError(f"The weight {name} made by the recipe is not the one of the file.")
        weights[str(name)] = torch.from_numpy(value)
    return weights


def _made(name: str, shape: tuple[int, ...], gain: float) -> NDArray[np.float32]:
    uniform = np.random.RandomState(zlib.crc32(name.encode())).uniform(-1, 1, size=shape)
    return np.asarray(gain * np.sqrt(3 / np.prod(shape[1:])) * uniform, dtype=np.float32)


def golden_model(data: Arrays) -> Gswm:
    """Our network with the file's weights, in double precision and evaluation mode."""
    model = Gswm(config_of(data))
    load_official(model, official_weights(data))
    return model.double().eval()


def deviations(path: Path, gradients: bool = True) -> list[Deviation]:
    """Every number of a golden file, compared."""
    data = read(path)
    model = golden_model(data)
    video = torch.from_numpy(data["video"]).double()
    state, outputs, terms = model.initial(torch.zeros_like(video[:, 0])), [], []
    with torch.set_grad_enabled(gradients):
        for frame in video.unbind(1):
            state, output = model.step(frame, state)
            outputs.append(output)
            terms.append(step_terms(output, frame, model.config, UPDATE))
    found = _tracked(outputs, terms)
    with torch.no_grad():
        seen, picture = video[:1, 0], outputs[0].background.image[:1]
        found["track.img_enc"] = model.discovery.trunk(torch.cat([seen, seen - picture], dim=1))
        found |= _generated(roll_out(model, video, data["gen.ids"].shape[1] - video.shape[1]), video.shape[1])
    result = [_compared(name, value, data[name]) for name, value in found.items() if name in data]
    if gradients:
        torch.autograd.backward(found["track.loss_mean"])
        result += _gradients(model, data)
    return result


def _tracked(outputs: list[GswmOutput], terms: list[Terms]) -> dict[str, Tensor]:
    found = {f"track.{name}": value for name, value in _common(outputs).items()}
    objects = stack_in_time([output.objects for output in outputs])
    found |= {"track.z_what": objects.what, "track.z_dyna": objects.dynamics}
    found["track.proposal"] = torch.stack([output.tracks.proposal for output in outputs], 1)
    found["track.recon_full"] = outputs[-1].rendering.frame[0]
    beliefs = stack_in_time([output.discovery for output in outputs if output.discovery is not None])
    found |= {f"track.disc_{name}": value for name, value in _attributes(beliefs.objects).items()}
    found["track.rejected"] = beliefs.rejected.sum(2)

    def kl(*names: str) -> Tensor:
        zero = torch.zeros_like(terms[0]["reconstruction"])
        return torch.stack([sum((step.get(name, zero) for name in names), zero) for step in terms], 1)

    both = {"pres": "presence", "depth": "depth", "where": "where", "what": "what", "dyna": "dynamics"}
    for theirs, ours in both.items():
        found[f"track.kl_{theirs}"] = kl(f"found_{ours}", f"kept_{ours}")
        found[f"track.kl_disc_{theirs}"] = kl(f"found_{ours}")
        found[f"track.kl_prop_{theirs}"] = kl(f"kept_{ours}")
    found["track.kl_fg"] = kl(*(f"{who}_{ours}" for who in ("found", "kept") for ours in both.values()))
    found["track.kl_bg"] = kl("background")
    found["track.loglikelihood"] = -kl("reconstruction").sum(1)
    found["track.loss"] = torch.stack([value for step in terms for value in step.values()]).sum(0)
    found["track.loss_mean"] = found["track.loss"].mean()
    return found


def _generated(outputs: list[GswmOutput], watched: int) -> dict[str, Tensor]:
    found = {f"gen.{name}": value for name, value in _common(outputs).items()}
    objects = stack_in_time([output.objects for output in outputs[watched:]])
    return found | {"gen.z_what": objects.what, "gen.z_dyna": objects.dynamics}


def _common(outputs: list[GswmOutput]) -> dict[str, Tensor]:
    objects = stack_in_time([output.objects for output in outputs])
    rendering = stack_in_time([output.rendering for output in outputs])
    background = stack_in_time([output.background for output in outputs])
    found = {f"z_{name}": value for name, value in _attributes(objects).items()}
    found |= {"ids": objects.ids, "recon_sub": rendering.frame, "alpha_map_sub": rendering.coverage}
    if background.context is not None:
        found |= {"z_ctx": background.context, "bg_sub": background.image}
    return {name: value[..., ::EVERY, ::EVERY] if name.endswith("_sub") else value for name, value in found.items()}


def _attributes(objects: Objects) -> dict[str, Tensor]:
    return {"pres": objects.presence, "depth": objects.depth, "where": objects.where}


def _compared(name: str, ours: Tensor, golden: NDArray[Any]) -> Deviation:
    if not np.issubdtype(golden.dtype, np.floating):
        return Deviation(name, float(np.abs(ours.numpy() - golden).max()), 0.0)
    tolerance = 1e-6 if golden.dtype == np.float32 else 1e-9
    exact = golden.astype(np.float64)
    largest = np.abs(ours.detach().numpy() - exact).max() / max(1.0, float(np.abs(exact).max()))
    return Deviation(name, float(largest), tolerance)


def _gradients(model: Gswm, data: Arrays) -> list[Deviation]:
    """Relative to each tensor's maximum; absolute where the gradient is zero but for rounding."""
    ours = dict(model.named_parameters())
    result = []

    def gradient(name: str, size: int) -> NDArray[np.float64]:
        known = our_name(name)
        assert known is not None, f"{name} has a gradient, but nothing uses it"
        found = ours[known].grad
        flat = np.zeros(size) if found is None else found.numpy().ravel()
        # What we leave out of the attribute head has no gradient.
        return np.concatenate([flat, np.zeros(size - flat.size)]) if LONG_HEAD.match(known) else flat

    def deviation(difference: NDArray[np.float64] | float, largest: float) -> float:
        return float(np.abs(difference).max() / (largest if largest > 1e-12 else 1.0))

    for name, value in data.items():
        if name.startswith("grad."):
            golden = value.astype(np.float64).ravel()
            found = gradient(name.removeprefix("grad."), golden.size)
            result.append(Deviation(name, deviation(found - golden, np.abs(golden).max()), 1e-8))
    sizes = {name: value.numel() for name, value in official_weights(data).items()}
    large = (data[f"gradlarge.{part}"] for part in ("names", "stats", "probe"))
    for name, (norm, total, largest), probe in zip(*large, strict=True):
        size = sizes[str(name)]
        found = gradient(str(name), size)
        at = np.random.RandomState(zlib.crc32(f"probe:{name}".encode())).randint(0, size, size=PROBES)
        worst = max(
            deviation(found[at] - probe, largest), deviation(np.abs(found).max() - largest, largest),
            deviation(np.linalg.norm(found) - norm, norm), deviation(found.sum() - total, norm),
        )
        result.append(Deviation(f"gradlarge.{name}", worst, 1e-8))
    return result
