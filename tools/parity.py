"""Does our network agree with the authors' code? `python tools/parity.py FILE.npz...`

Each file holds weights, a video, and every quantity the released code computed from them (see shared/golden/README.md).
The network's sizes are read off the weights. Prints the largest deviation per quantity; exits 1 beyond tolerance.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from loci_looped.model import Conditions, LociConfig, LociLooped
from loci_looped.model import losses as loss_functions
from loci_looped.model.config import EXCHANGE_WIDTH, DecoderConfig, EncoderConfig, GateConfig, TransitionConfig
from loci_looped.model.official import load_official_tensors, official_config, official_names
from loci_looped.model.state import LociState, StepOutput

WARM_UP = 3
RECONSTRUCTION, POSITION, TIME = 1 / 3, 0.01, 0.1
TOLERANCE = {"codes": 1e-9, "exact": 0.0, "images": 1e-6, "gradients": 1e-9}
LEVEL_OF_UPSCALING = {4: 1, 16: 2}
IMAGES = ("output_next", "mask_next", "rawmask_next", "output_cur", "mask_cur", "rawmask_cur", "error_in")
EXACT = ("slots_bound", "assigned")


def sizes(data: dict[str, np.ndarray], heads: int, l0_weight: float) -> LociConfig:
    """The network that has these weights."""
    weights = {name.removeprefix("weights."): value for name, value in data.items() if name.startswith("weights.")}

    def count(prefix: str) -> int:
        rest = (name.removeprefix(prefix) for name in weights if name.startswith(prefix))
        return 1 + max(int(name.split(".")[0]) for name in rest)

    gestalt = weights["initial_states.gestalt_mean"].shape[1]
    full = weights["background.mask"].shape[2:]
    latent = (full[0] // 16, full[1] // 16)
    level = LEVEL_OF_UPSCALING[data["video"].shape[3] // latent[0]]
    shared = any(name.startswith("predictor.predictor.l0rds.") for name in weights)
    prefix = "predictor.predictor."
    embedded = weights[f"{prefix}{'input_embeding' if shared else 'layers.0'}.embeding.3.weight"].shape[0]
    layers = count(f"{prefix}l0rds.") if shared else (count(f"{prefix}layers.") - 2) // 2
    if shared:
        assert weights[f"{prefix}l0rds.0.l0rd.w_gx"].shape[0] == embedded + EXCHANGE_WIDTH
    return official_config(LociConfig(
        slots=data["step0.priority_next"].shape[1], gestalt=gestalt, latent=latent, level=level,
        encoder=EncoderConfig(
            channels=weights["encoder.layers1.layers.weight"].shape[0],
            fine_channels=weights["encoder.layers1.layers.weight"].shape[1],
            layers=count("encoder.layers0."),
        ),
        decoder=DecoderConfig(
            channels=weights["decoder.layer0.0.layers.0.weight"].shape[0],
            fine_channels=weights["decoder.to_object_level2.2.residual.3.weight"].shape[1],
            layers=count("decoder.layer0."),
        ),
        transition=TransitionConfig(
            kind="shared" if shared else "standard", heads=heads, layers=layers,
            multiplier=embedded // (gestalt + 6), l0_weight=l0_weight,
        ),
        gate=GateConfig(l0_weight=l0_weight),
    ))


class Deviations:
    """The largest deviation per quantity, and whether it is within tolerance."""

    def __init__(self) -> None:
        self.worst: dict[tuple[str, str], float] = defaultdict(float)
        self.place: dict[tuple[str, str], str] = {}

    def add(self, kind: str, name: str, ours: Any, theirs: np.ndarray, where: str, scale: float = 1.0) -> None:
        mine = np.asarray(ours.detach() if isinstance(ours, Tensor) else ours, dtype=np.float64).reshape(theirs.shape)
        deviation = float(np.abs(mine - theirs.astype(np.float64)).max(initial=0.0)) / scale
        if not np.isfinite(deviation):
            deviation = float("inf")
        if deviation >= self.worst[kind, name]:
            self.worst[kind, name], self.place[kind, name] = deviation, where

    def report(self, tolerance: dict[str, float]) -> bool:
        fine = True
        for (kind, name), value in self.worst.items():
            ok = value <= tolerance[kind]
            fine &= ok
            verdict, limit = "ok " if ok else "BAD", tolerance[kind]
            print(f"  {verdict} {kind:<10} {name:<22} {value:9.2e}  (<= {limit:.0e})  at {self.place[kind, name]}")
        return fine


def quantities(before: LociState, after: LociState, out: StepOutput, model: LociLooped) -> dict[str, Tensor]:
    """Ours under the released names and layouts."""
    logit = model.decoder.background_logit().expand(out.error.shape[0], -1, -1, -1)

    def place(codes: Any) -> Tensor:
        return torch.cat([codes.position, codes.size.unsqueeze(-1)], dim=-1)

    return {
        "position_next": place(out.predicted), "gestalt_next": out.predicted.gestalt,
        "priority_next": out.predicted.priority, "position_cur": place(out.percept),
        "gestalt_cur": out.percept.gestalt, "priority_cur": out.percept.priority,
        "occlusion_next": out.occlusion_ahead, "gate_closed": 1 - out.gate,
        "slots_bound": out.bound, "assigned": out.assigned,
        "output_next": out.ahead.frame, "mask_next": out.ahead.visible_masks_with_background,
        "rawmask_next": torch.cat([out.ahead.object_masks, logit], 1),
        "output_cur": out.present.frame, "mask_cur": out.present.visible_masks_with_background,
        "rawmask_cur": torch.cat([out.present.object_masks, logit], 1),
        "error_in": out.error,
    }


def compare(path: Path, dtype: torch.dtype, heads: int, l0_weight: float, window: int) -> Deviations:
    with np.load(path, allow_pickle=False) as stored:
        data = {name: stored[name] for name in stored.files}
    config = sizes(data, heads, l0_weight)
    model = LociLooped(config).to(dtype)
    weights = {n.removeprefix("weights."): v for n, v in data.items() if n.startswith("weights.")}
    tensors = {name: torch.as_tensor(value).to(dtype) for name, value in weights.items()}
    load_official_tensors(model, tensors, str(path))
    training = "grad_step" in data
    model.train(training)
    # The files keep the released colour order; ours is RGB at the border.
    video, background = (torch.as_tensor(data[n]).to(dtype).flip(-3) for n in ("video", "background"))

    deviations = Deviations()
    state = model.initial(background)
    total: Tensor = torch.zeros((), dtype=dtype)
    grad_step = int(data["grad_step"]) if training else -1
    first_of_window = grad_step - (window - 1)
    for n in range(WARM_UP + video.shape[1] - 1):
        t = n - WARM_UP
        frame, target = video[:, max(t, 0)], video[:, t + 1] if t >= 0 else video[:, 0]
        if t <= 0 or t % window == 0:
            state = state.detach()
        with torch.set_grad_enabled(training):
            before = state
            state, out = model.step(frame, state, warmup=t < 0, conditions=Conditions())
            ours = quantities(before, state, out, model)
            if training:
                prediction = loss_functions.picture_loss(out.ahead.frame, target)
                reconstruction = loss_functions.picture_loss(out.present.frame, frame)
                warm = t < 0
                position = torch.zeros((), dtype=dtype) if warm else loss_functions.position_change(out, official=True)
                time = torch.zeros((), dtype=dtype) if warm else loss_functions.gestalt_change(out)
                loss = prediction + RECONSTRUCTION * reconstruction + POSITION * position + TIME * time
                ours.update(loss=loss, position_loss=position, time_loss=time)
                if first_of_window <= n <= grad_step:
                    total = total + loss
                if n == grad_step:
                    model.zero_grad()
                    total.backward()
                    add_gradients(deviations, model, data)
        for name, value in ours.items():
            theirs = data.get(f"step{n}.{name}")
            if theirs is not None:
                if name in ("output_next", "output_cur"):
                    value = value.flip(-3)
                kind = "images" if name in IMAGES else "exact" if name in EXACT else "codes"
                deviations.add(kind, name, value, theirs, f"step {n}")
    if training:
        stored_gradients = [name for name in data if name.startswith("grad.")]
        missing = [name for name in stored_gradients if ("gradients", name.split(".")[1]) not in deviations.worst]
        assert not missing, f"{path}: no gradient of ours for {missing[0]}"
    return deviations


def add_gradients(deviations: Deviations, model: LociLooped, data: dict[str, np.ndarray]) -> None:
    parameters = dict(model.named_parameters())
    for name, theirs in official_names(model.config).items():
        gradient = parameters[name].grad
        pieces = [None] * len(theirs) if gradient is None else list(gradient.chunk(len(theirs), dim=-1))
        for piece, official in zip(pieces, theirs, strict=True):
            stored = data.get(f"grad.{official}")
            if stored is None:
                stored = np.zeros(parameters[name].shape) if piece is None else np.zeros(tuple(piece.shape))
            mine = np.zeros_like(stored) if piece is None else piece
            # Relative to the tensor's largest gradient, with a floor for tensors whose gradient is all but zero.
            scale = max(float(np.abs(stored).max(initial=0.0)), 1e-6)
            deviations.add("gradients", official.split(".")[0], mine, stored, official, scale)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.npz")
    parser.add_argument("--heads", type=int, default=2, help="attention heads (not visible in the weights)")
    parser.add_argument("--l0-weight", type=float, default=1e-3, help="L0 weight of gate and GateL0RD in the files")
    parser.add_argument("--window", type=int, help="steps per update; read off the file's name (..._bptt2), else 1")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    fine = True
    for path in arguments.files:
        if not path.is_file():
            print(f"parity: there is no file {path}.", file=sys.stderr)
            return 2
        named = path.stem.rpartition("bptt")[2]
        window = arguments.window or (int(named) if "bptt" in path.stem and named.isdigit() else 1)
        print(f"{path} (update every {window} step{'s' * (window > 1)})")
        fine &= compare(path, torch.float64, arguments.heads, arguments.l0_weight, window).report(TOLERANCE)
    print("agrees with the released code" if fine else "DEVIATES from the released code")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
