"""A network in a folder: `config.json` says what it is, `weights.safetensors` what it has learnt.

`surprise.json`, if it is there, tells what is ordinary to it (`loci calibrate`).
`manifest.json` beside them is free for whoever writes it: where the weights came from, what they scored. Nothing here
is ever unpickled.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save
from torch import nn

from loci_looped.baselines.gswm import Gswm
from loci_looped.baselines.loci_v1 import LociV1
from loci_looped.baselines.savi import Savi
from loci_looped.configs.recipes import RECIPES
from loci_looped.configs.rivals import GswmTraining, LociV1Training, SaviTraining, read_run_config
from loci_looped.configs.surprise import SurpriseScale
from loci_looped.configs.training import RunConfig, TrainConfig
from loci_looped.inference.network_kinds import LOCI_LOOPED, NetworkKind, as_loci, kind_named, kind_of
from loci_looped.model import LociConfig, LociLooped
from loci_looped.utils.atomic import write_bytes, write_text
from loci_looped.utils.checkpoint import Checkpoint, newest_checkpoint
from loci_looped.utils.errors import LociError

CONFIG, WEIGHTS, MANIFEST, SURPRISE = "config.json", "weights.safetensors", "manifest.json", "surprise.json"
INSIDE_RUN = "network"
"""A training run keeps its network in a folder of this name."""
CHECKPOINTS = "checkpoints"
"""And its checkpoints in this one."""

SHIPPED = Path(__file__).parents[1] / "weights"


def save_network(folder: str | Path, model: nn.Module, manifest: dict[str, Any] | None = None) -> Path:
    """Write a network; each file appears whole or not at all, the configuration last."""
    from loci_looped import __version__

    folder = Path(folder)
    tensors = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    content = save(tensors)
    write_bytes(folder / WEIGHTS, content)
    if manifest is not None:
        write_text(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    config: Any = model.config
    digest = hashlib.sha256(content).hexdigest()
    about = {
        "kind": kind_of(model).name, "version": __version__, "weights_sha256": digest, "network": config.to_json(),
    }
    write_text(folder / CONFIG, json.dumps(about, indent=2) + "\n")
    return folder


def load_network(folder: str | Path, device: torch.device | str = "cpu") -> LociLooped:
    """Read a Loci-Looped network, ready to be used (evaluation mode); a rival's is refused by name."""
    return as_loci(load_any_network(folder, device), folder)


def load_any_network(folder: str | Path, device: torch.device | str = "cpu") -> nn.Module:
    """Read a network of any kind, ready to be used (evaluation mode)."""
    folder = Path(folder)
    kind, config = _read_kind(folder / CONFIG)
    tensors = _read_weights(folder / WEIGHTS)
    model: nn.Module = kind.network(config)
    _check_fit(folder, model, tensors)
    _check_sum(folder)
    model.load_state_dict(tensors)
    if isinstance(model, LociLooped):
        model.surprise_scale = read_scale(folder)
    return model.to(device).eval()


def read_scale(folder: Path) -> SurpriseScale | None:
    """What is ordinary to a stored network; None if that has not been measured. Another network's is refused."""
    path = folder / SURPRISE
    if not path.is_file():
        return None
    values = _read_json(path)
    digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    if not isinstance(values, dict) or values.get("weights_sha256") != digest:
        raise LociError(f"{path} was measured with other weights: measure it again with `loci calibrate {folder}`.")
    try:
        return SurpriseScale.from_json(values.get("scale"))
    except ValueError as error:
        raise LociError(f"{path}: {error} Measure it again with `loci calibrate {folder}`.") from None


def write_scale(folder: Path, scale: SurpriseScale, about: dict[str, Any]) -> Path:
    """Beside the weights it was measured with."""
    digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    values = {**about, "weights_sha256": digest, "scale": scale.to_json()}
    write_text(folder / SURPRISE, json.dumps(values, indent=None) + "\n")
    return folder / SURPRISE


def read_config(path: str | Path) -> LociConfig:
    """The network's configuration, from a stored network's `config.json` or from a file that holds nothing else."""
    kind, config = _read_kind(Path(path))
    if kind is not LOCI_LOOPED:
        raise LociError(f"{path} describes a {kind.name}, not a {LOCI_LOOPED.name}.")
    known: LociConfig = config
    return known


def _read_kind(path: Path) -> tuple[NetworkKind, Any]:
    """Which kind of network a file describes, and its configuration."""
    values, kind = _read_json(path), LOCI_LOOPED
    if isinstance(values, dict) and "kind" in values:
        kind, values = kind_named(values["kind"], path), values.get("network")
    try:
        return kind, kind.read_config(values)
    except ValueError as error:
        raise LociError(f"{path}: {error}") from None


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """What is told about a network beside its weights; empty if nothing is."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        return {}
    values = _read_json(path)
    if not isinstance(values, dict):
        raise LociError(f"{path} must hold a JSON object, but it holds a {type(values).__name__}.")
    return values


def trained_on(name_or_path: str | Path) -> str:
    """What a network learnt from, in words: "generated vanish scenes", "films of garden"."""
    if is_unfinished_run(name_or_path):
        return read_run_config(checkpoint_of(Path(name_or_path)).values["config"]).data.described()
    manifest = read_manifest(find_network(name_or_path))
    if "trained_on" in manifest:
        return str(manifest["trained_on"])
    recipe = RECIPES.get(str(manifest.get("recipe")))
    return recipe.data.described() if recipe else "other films"


def shipped_networks() -> tuple[str, ...]:
    """The names of the networks that come with the package."""
    return tuple(sorted(path.parent.name for path in SHIPPED.glob(f"*/{CONFIG}")))


def find_network(name_or_path: str | Path) -> Path:
    """The folder of a shipped network, of a stored one, or of the network inside a training run."""
    shipped = shipped_networks()
    if str(name_or_path) in shipped:
        return SHIPPED / str(name_or_path)
    path = Path(name_or_path)
    for folder in (path, path / INSIDE_RUN):
        if (folder / CONFIG).is_file() and (folder / WEIGHTS).is_file():
            return folder
    available = f"shipped are {', '.join(shipped)}" if shipped else "no networks are shipped with this installation"
    if path.is_dir():
        raise LociError(
            f"The folder {path} holds no network: {CONFIG} and {WEIGHTS} are expected in it or in "
            f"{path / INSIDE_RUN}."
        )
    if path.is_file():
        raise LociError(
            f"{path} is a file; give the folder of a network. The authors' .pt checkpoints are turned into such a "
            "folder by `loci import-official`."
        )
    raise LociError(f"There is no network called {str(name_or_path)!r}: {available}, or give the folder of a run.")


def load(name_or_path: str | Path, device: torch.device | str = "cpu") -> LociLooped:
    """A trained network: by the name of a shipped one, or the folder of a stored network or of a training run.

    Of a run that has not come to its end it is the network of its newest checkpoint.
    """
    return as_loci(load_any(name_or_path, device), name_or_path)


def load_any(name_or_path: str | Path, device: torch.device | str = "cpu") -> nn.Module:
    """The same for networks of any kind, rivals included."""
    if is_unfinished_run(name_or_path):
        return network_of(checkpoint_of(Path(name_or_path))).to(device)
    return load_any_network(find_network(name_or_path), device)


def is_unfinished_run(name_or_path: str | Path) -> bool:
    """The folder of a run that has a place for checkpoints but has not written its network yet."""
    folder = Path(name_or_path)
    if str(name_or_path) in shipped_networks() or not (folder / CHECKPOINTS).is_dir():
        return False
    return not any((place / WEIGHTS).is_file() for place in (folder, folder / INSIDE_RUN))


def checkpoint_of(run: Path) -> Checkpoint:
    """The newest whole checkpoint of a run."""
    try:
        return newest_checkpoint(run / CHECKPOINTS)
    except LociError as error:
        raise LociError(
            f"The run {run} has no weights yet ({error}) Wait for its first checkpoint, or train it with "
            f"`loci train --resume {run}`."
        ) from error


def network_of(checkpoint: Checkpoint) -> nn.Module:
    """The network a checkpoint holds, ready to be used (evaluation mode)."""
    config = read_run_config(checkpoint.values["config"])
    model = network_for(config, checkpoint.values.get("level"))
    model.load_state_dict(evaluated_weights(checkpoint, config))
    return model.eval()


def network_for(config: RunConfig, level: int | None = None) -> nn.Module:
    """The untrained network of a run; `level` is how fine it has grown, if it can."""
    if isinstance(config, TrainConfig):
        return LociLooped(dataclasses.replace(config.model, level=config.model.level if level is None else int(level)))
    if isinstance(config, SaviTraining):
        return Savi(config.model)
    if isinstance(config, LociV1Training):
        return LociV1(dataclasses.replace(config.model, level=config.model.level if level is None else int(level)))
    assert isinstance(config, GswmTraining)
    return Gswm(config.model)


def evaluated_weights(checkpoint: Checkpoint, config: RunConfig) -> dict[str, torch.Tensor]:
    """Those that are evaluated and shipped: the moving average if there is one."""
    return checkpoint.tensors["average" if config.optimiser.average else "weights"]


def _read_json(path: Path) -> Any:
    if not path.is_file():
        raise LociError(f"There is no file {path}; a stored network has {CONFIG} and {WEIGHTS}.")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except PermissionError:
        raise LociError(f"{path} is there, but you are not allowed to read it.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise LociError(f"{path} is no valid JSON ({error}); restore it or store the network again.") from None


def _check_sum(folder: Path) -> None:
    """Are the weights those that were stored? Networks of version 0.1.0 tell no checksum, except for shipped ones."""
    told = {**read_manifest(folder), **_read_json(folder / CONFIG)}.get("weights_sha256")
    if told is not None and told != hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest():
        raise LociError(
            f"{folder / WEIGHTS} is damaged, or not of this network: its checksum is not the one that was stored. Take "
            "all files of the folder from the same network."
        )


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    if not path.is_file():
        raise LociError(f"There is no file {path}; a stored network has {CONFIG} and {WEIGHTS}.")
    try:
        tensors = load_tensors(path.read_bytes())
    except PermissionError:
        raise LociError(f"{path} is there, but you are not allowed to read it.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise LociError(f"{path} is no complete safetensors file ({error}); copy or store it again.") from None
    for name, value in tensors.items():
        if not bool(torch.isfinite(value).all()):
            raise LociError(f"In {path} the tensor {name!r} holds NaN or infinite numbers: the training went astray.")
    return tensors


def _check_fit(folder: Path, model: nn.Module, tensors: dict[str, torch.Tensor]) -> None:
    remedy = f"{CONFIG} and {WEIGHTS} in {folder} do not belong together; take both from the same network."
    expected = model.state_dict()
    missing, beyond = sorted(set(expected) - set(tensors)), sorted(set(tensors) - set(expected))
    if missing:
        raise LociError(f"The weights lack the tensor {missing[0]!r} ({len(missing)} in all): {remedy}")
    if beyond:
        raise LociError(f"The weights hold an unknown tensor {beyond[0]!r} ({len(beyond)} in all): {remedy}")
    for name, value in expected.items():
        if tensors[name].shape != value.shape:
            raise LociError(
                f"The tensor {name!r} is {tuple(tensors[name].shape)}, but the configuration asks for "
                f"{tuple(value.shape)}: {remedy}"
            )
