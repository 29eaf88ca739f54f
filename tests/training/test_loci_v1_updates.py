"""Loci-v1's training in our loop's pieces gives the released loop's losses and weights, update for update."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from loci_looped.baselines.loci_v1.parity import StoredDraws, digest, golden_network
from loci_looped.baselines.loci_v1.released import released_names
from loci_looped.configs.rivals import LociV1Loss, LociV1Training
from loci_looped.configs.training import OptimiserConfig
from loci_looped.training.loci_v1_objective import LociV1Objective, unroll_v1
from loci_looped.training.optimiser import build_optimiser, hold_still, set_learning_rate

GOLDEN = Path(__file__).parents[1] / "golden" / "lociv1_train.npz"
WEIGHTS = LociV1Loss(position_change=10.0, object_permanence=1000.0, gestalt_change=10.0)


def test_twenty_two_updates_are_the_authors_own() -> None:
    """Rectified Adam for network and background, plain Adam for the initial states in the first step of a clip.

    Theirs computes in float32 and rounds at every update, so the tolerance is single precision's.
    """
    with np.load(GOLDEN, allow_pickle=False) as stored:
        data: dict[str, Any] = {name: stored[name] for name in stored.files}
    model = golden_network(data, data)
    config = LociV1Training(
        name="golden", model=model.config, loss=WEIGHTS, background_factor=0.5,
        optimiser=OptimiserConfig(learning_rate=2e-3, initial_until=10**6),
    )
    optimiser = build_optimiser(LociV1Objective(config).groups(model), config.optimiser)
    video, background = (torch.as_tensor(data[name]).double() for name in ("video", "background"))
    told: list[dict[str, float]] = []
    steps = video.shape[1] - 1 + 3
    for clip in range(2):
        places = {
            f"step{n}.candidates": data["updates.candidates"][clip * steps + n] for n in range(steps)
        }
        draws = (StoredDraws(places, f"step{n}") for n in range(steps))
        for window in unroll_v1(model, video, background, draws, 3, WEIGHTS, background_learns=False):
            set_learning_rate(optimiser, config.optimiser, len(told), 10**6)
            optimiser.zero_grad(set_to_none=True)
            window.loss.backward()
            hold_still(optimiser, window.moves)
            optimiser.step()
            told.append(window.parts | {"loss": float(window.loss.detach())})
    names = {
        "loss": "loss", "prediction": "loss_prediction", "position_change": "loss_position",
        "object_permanence": "loss_permanence", "gestalt_change": "loss_gestalt", "background": "background_strength",
    }
    assert len(told) == 22
    for ours, theirs in names.items():
        mine, golden = np.array([parts[ours] for parts in told]), data[f"updates.{theirs}"]
        assert np.abs(mine - golden).max() <= 2e-6 * max(1e-3, np.abs(golden).max()), ours
    parameters = dict(model.named_parameters())
    for name, several in released_names(model.config).items():
        for piece, theirs in zip(parameters[name].chunk(len(several), dim=-1), several, strict=True):
            golden = data[f"updates.digest.{theirs}"]
            off = np.abs(digest(piece.contiguous()).numpy() - golden).max() / max(1e-2, np.abs(golden).max())
            assert off < 3e-5, (theirs, off)      # single precision; 1.1e-5 where processors add in another order
