"""Networks for the tests: one that is alive (the golden files' weights and video), and fresh tiny ones."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from loci_looped.configs.network import DecoderConfig, EncoderConfig, GateConfig, TransitionConfig
from loci_looped.model import LociConfig, LociLooped
from loci_looped.model.released.checkpoint import load_official_tensors
from loci_looped.model.state import TensorTree

GOLDEN = Path(__file__).parents[1] / "golden"


@dataclasses.dataclass(frozen=True)
class Lively:
    """A network whose slots bind, lose and blend, and a video it was made for."""

    model: LociLooped
    video: Tensor           # (2, 9, 3, 16, 24)
    background: Tensor      # (2, 3, 16, 24)


def golden_config(kind: str, **changes: Any) -> LociConfig:
    config = LociConfig(
        slots=3, gestalt=12, latent=(4, 6), level=1,
        encoder=EncoderConfig(channels=24, fine_channels=12, layers=2),
        decoder=DecoderConfig(channels=24, fine_channels=12, layers=2),
        transition=TransitionConfig(kind="shared" if kind == "shared" else "standard", l0_weight=1e-3),
        gate=GateConfig(l0_weight=1e-3), colour_order="bgr",
    )
    return dataclasses.replace(config, **changes)


@pytest.fixture(scope="session")
def lively() -> Callable[..., Lively]:
    """lively(kind="standard", mode="eval", dtype=float64, released=False, ...): further words change the network."""

    @functools.cache
    def stored(name: str) -> dict[str, Tensor]:
        with np.load(GOLDEN / f"{name}.npz") as data:
            used = [name for name in data.files if name.startswith(("weights.", "video", "background"))]
            return {name: torch.as_tensor(data[name]) for name in used}

    def make(kind: str = "standard", mode: str = "eval", dtype: torch.dtype = torch.float64, **changes: Any) -> Lively:
        data = stored(f"{mode}_level1_{kind}")
        weights = {n.removeprefix("weights."): value for n, value in data.items() if n.startswith("weights.")}
        video, background = (data[n].flip(-3).to(dtype) for n in ("video", "background"))
        model = LociLooped(golden_config(kind, **changes))
        load_official_tensors(model, weights, "the golden file")
        return Lively(model.to(dtype).train(mode == "train"), video, background)

    return make


@pytest.fixture(scope="session")
def tiny() -> Callable[..., LociConfig]:
    """tiny(...): the smallest network; words change it, e.g. slots=4 or transition=TransitionConfig(...)."""

    def make(**changes: Any) -> LociConfig:
        config = LociConfig(
            slots=3, gestalt=6, latent=(4, 5), level=1,
            encoder=EncoderConfig(channels=6, fine_channels=12, layers=1),
            decoder=DecoderConfig(channels=6, fine_channels=6, layers=1),
        )
        return dataclasses.replace(config, **changes)

    return make


def leaves(tree: Any) -> list[Tensor]:
    """All tensors of a state or an output, in order."""
    if isinstance(tree, Tensor):
        return [tree]
    if isinstance(tree, TensorTree):
        return [leaf for f in dataclasses.fields(tree) for leaf in leaves(getattr(tree, f.name))]  # type: ignore[arg-type]
    if isinstance(tree, tuple):
        return [leaf for item in tree for leaf in leaves(item)]
    return []


@pytest.fixture(scope="session")
def distance() -> Callable[[Any, Any], float]:
    """The largest difference between two trees of tensors (0 means equal; infinite if they are not alike)."""

    def between(a: Any, b: Any) -> float:
        ours, theirs = leaves(a), leaves(b)
        assert len(ours) == len(theirs) > 0
        worst = 0.0
        for x, y in zip(ours, theirs, strict=True):
            assert x.shape == y.shape and x.dtype == y.dtype
            if x.numel():
                gap = (x.double() - y.double()).abs().max().item()
                worst = max(worst, gap if gap == gap else float("inf"))
        return worst

    return between
