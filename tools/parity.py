"""Does our network agree with the authors' code? `python tools/parity.py FILE.npz...`

Each file holds weights, a video, and every quantity the released code computed from them (see tests/golden/README.md).
The network's sizes are read off the weights; files of the rivals SAVi, G-SWM and Loci-v1 are recognised by their
tensors. Prints the largest deviation per quantity.
Exits with 0 if everything agrees, 1 beyond tolerance, 2 if a file cannot be used.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from loci_looped.baselines.deviation import Deviation
from loci_looped.baselines.gswm import golden as gswm
from loci_looped.baselines.loci_v1 import parity as loci_v1
from loci_looped.baselines.savi import parity as savi
from loci_looped.configs.network import EXCHANGE_WIDTH, DecoderConfig, EncoderConfig, GateConfig, TransitionConfig
from loci_looped.model import LociConfig, LociLooped
from loci_looped.model import losses as loss_functions
from loci_looped.model.released.checkpoint import load_official_tensors, official_config, official_names
from loci_looped.model.released.parts import released_position_change
from loci_looped.model.state import SlotCodes, StepOutput

WARM_UP = 3
RECONSTRUCTION, POSITION, TIME = 1 / 3, 0.01, 0.1
TOLERANCE = {"codes": 1e-9, "exact": 0.0, "images": 1e-6, "gradients": 1e-9}
LEVEL_OF_UPSCALING = {4: 1, 16: 2}
LONGEST_WINDOW = 8
IMAGES = ("output_next", "mask_next", "rawmask_next", "output_cur", "mask_cur", "rawmask_cur", "error_in")
EXACT = ("slots_bound", "assigned")
Data = dict[str, np.ndarray]


class Unusable(ValueError):
    """A file that is no golden file, told in a sentence."""


def read(path: Path) -> Data:
    if not path.is_file():
        raise Unusable(f"there is no file {path}.")
    try:
        with np.load(path, allow_pickle=False) as stored:
            data = {name: stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise Unusable(f"{path} cannot be read as an .npz file of numbers ({error}).") from None
    if savi.is_golden(data) or gswm.is_golden(data) or loci_v1.is_golden(data):
        return data
    needed = ("video", "background", "step0.priority_next", "weights.background.mask")
    missing = [name for name in needed if name not in data]
    if missing:
        raise Unusable(f"{path} is no golden file: it has no {missing[0]!r}.")
    return data


def sizes(data: Data, heads: int, l0_weight: float) -> LociConfig:
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
        self.compared: set[str] = {"grad_step"}

    def add(self, kind: str, name: str, ours: Any, theirs: np.ndarray, where: str, scale: float = 1.0) -> None:
        """`where` is a step, or the parameter whose gradient this is."""
        self.compared.add(f"grad.{where}" if kind == "gradients" else f"{where}.{name}")
        mine = np.asarray(ours.detach() if isinstance(ours, Tensor) else ours, dtype=np.float64)
        if mine.size != theirs.size:
            raise Unusable(f"{where}: {name} has shape {theirs.shape} in the file, ours is {mine.shape}.")
        deviation = float(np.abs(mine.reshape(theirs.shape) - theirs.astype(np.float64)).max(initial=0.0)) / scale
        if not np.isfinite(deviation):
            deviation = float("inf")
        if deviation >= self.worst[kind, name]:
            self.worst[kind, name], self.place[kind, name] = deviation, where

    def fine(self, tolerance: dict[str, float]) -> bool:
        return all(value <= tolerance[kind] for (kind, _), value in self.worst.items())

    def report(self, tolerance: dict[str, float]) -> None:
        for (kind, name), value in self.worst.items():
            verdict, limit = "ok " if value <= tolerance[kind] else "BAD", tolerance[kind]
            print(f"  {verdict} {kind:<10} {name:<22} {value:9.2e}  (<= {limit:.0e})  at {self.place[kind, name]}")


def quantities(out: StepOutput, encoded: SlotCodes, model: LociLooped) -> dict[str, Tensor]:
    """Ours under the released names and layouts. `encoded` is the encoder's answer before free slots are reset."""
    logit = model.decoder.background_logit().expand(out.error.shape[0], -1, -1, -1)

    def place(codes: Any) -> Tensor:
        return torch.cat([codes.position, codes.size.unsqueeze(-1)], dim=-1)

    return {
        "position_next": place(out.predicted), "gestalt_next": out.predicted.gestalt,
        "priority_next": out.predicted.priority, "position_cur": place(out.percept),
        "gestalt_cur": out.percept.gestalt, "priority_cur": out.percept.priority,
        "position_encoder": place(encoded),
        "occlusion_next": out.occlusion_next, "gate_closed": 1 - out.gate,
        "slots_bound": out.bound, "assigned": out.assigned,
        "output_next": out.next_frame.frame, "mask_next": out.next_frame.visible_masks_with_background,
        "rawmask_next": torch.cat([out.next_frame.object_masks, logit], 1),
        "output_cur": out.present.frame, "mask_cur": out.present.visible_masks_with_background,
        "rawmask_cur": torch.cat([out.present.object_masks, logit], 1),
        "error_in": out.error,
    }


def compare(path: Path, data: Data, dtype: torch.dtype, heads: int, l0_weight: float, window: int) -> Deviations:
    """Run our network on the file's video, an update every `window` steps, and note how far it is off."""
    try:
        model = LociLooped(sizes(data, heads, l0_weight)).to(dtype)
    except (KeyError, IndexError, AssertionError, ValueError) as error:
        raise Unusable(f"{path} has weights of no network of this kind ({error!r}).") from None
    weights = {n.removeprefix("weights."): v for n, v in data.items() if n.startswith("weights.")}
    load_official_tensors(model, {n: torch.as_tensor(v).to(dtype) for n, v in weights.items()}, str(path))
    encoded: list[SlotCodes] = []
    model.encoder.register_forward_hook(lambda module, inputs, codes: encoded.append(codes))
    training = "grad_step" in data
    model.train(training)
    # The files keep the released colour order; ours is RGB at the border.
    video, background = (torch.as_tensor(data[n]).to(dtype).flip(-3) for n in ("video", "background"))

    deviations = Deviations()
    state = model.initial(background)
    total: Tensor = torch.zeros((), dtype=dtype)
    grad_step = int(data["grad_step"]) if training else -1
    for n in range(WARM_UP + video.shape[1] - 1):
        t = n - WARM_UP
        frame, target = video[:, max(t, 0)], video[:, t + 1] if t >= 0 else video[:, 0]
        if t <= 0 or t % window == 0:
            state = state.detach()
        with torch.set_grad_enabled(training):
            state, out = (model.settle if t < 0 else model.step)(frame, state)
            ours = quantities(out, encoded[-1], model)
            if training:
                ours.update(released_losses(out, frame, target, warmup=t < 0))
                if grad_step - window < n <= grad_step:
                    total = total + ours["loss"]
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
                deviations.add(kind, name, value, theirs, f"step{n}")
    return deviations


def released_losses(out: StepOutput, frame: Tensor, target: Tensor, *, warmup: bool) -> dict[str, Tensor]:
    prediction = loss_functions.picture_loss(out.next_frame.frame, target)
    reconstruction = loss_functions.picture_loss(out.present.frame, frame)
    none = torch.zeros_like(prediction)
    position = none if warmup else released_position_change(out)
    time = none if warmup else loss_functions.gestalt_change(out)
    loss = prediction + RECONSTRUCTION * reconstruction + POSITION * position + TIME * time
    return {"loss": loss, "position_loss": position, "time_loss": time}


def add_gradients(deviations: Deviations, model: LociLooped, data: Data) -> None:
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


def windows(path: Path, data: Data, told: int | None) -> list[int]:
    """How many steps an update may span: as told, as the name says (..._bptt2), or all that end at that step."""
    named = path.stem.rpartition("bptt")[2]
    if told is not None or "grad_step" not in data:
        return [told or 1]
    if "bptt" in path.stem and named.isdigit() and int(named) > 0:
        return [int(named)]
    steps = int(data["grad_step"]) - WARM_UP + 1
    return [n for n in range(1, LONGEST_WINDOW + 1) if n == 1 or steps % n == 0]


def check_rival(path: Path, found: Sequence[Deviation]) -> bool:
    """Print the worst of each tolerance of another model's file, and every quantity beyond it."""
    print(path)
    for tolerance in sorted({one.tolerance for one in found}):
        alike = [one for one in found if one.tolerance == tolerance]
        worst = max(alike, key=lambda one: one.value)
        print(f"  {'ok ' if all(one.fine for one in alike) else 'BAD'} {len(alike):4d} quantities  {worst.value:.2e}  "
              f"(<= {tolerance:.0e})  at {worst.name}")
    for one in found:
        if not one.fine:
            print(f"  BAD {one.name}  {one.value:.2e}")
    return all(one.fine for one in found)


def check(path: Path, heads: int, l0_weight: float, window: int | None) -> bool:
    """Compare one file and print what was found. A file whose window is unknown is tried with several."""
    data = read(path)
    if savi.is_golden(data):
        return check_rival(path, savi.compare(data))
    if gswm.is_golden(data):
        return check_rival(path, gswm.deviations(path))
    if loci_v1.is_golden(data):
        return check_rival(path, loci_v1.compare(path, data))
    candidates = windows(path, data, window)
    tried: list[tuple[int, Deviations]] = []
    for n in candidates:
        tried.append((n, compare(path, data, torch.float64, heads, l0_weight, n)))
        if tried[-1][1].fine(TOLERANCE):
            break
    best, deviations = min(tried, key=lambda item: max(item[1].worst.values()))
    fits = "" if len(tried) == 1 else f"; of {', '.join(str(n) for n, _ in tried)} this fits best"
    print(f"{path} (update every {best} step{'s' * (best > 1)}{fits})")
    deviations.report(TOLERANCE)
    left = sorted(name for name in data if name.startswith(("step", "grad.")) and name not in deviations.compared)
    if left:
        print(f"  BAD not compared: {', '.join(left)}")
    return deviations.fine(TOLERANCE) and not left


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.npz")
    parser.add_argument("--heads", type=int, default=2, help="attention heads (not visible in the weights)")
    parser.add_argument("--l0-weight", type=float, default=1e-3, help="L0 weight of gate and GateL0RD in the files")
    parser.add_argument("--window", type=int, help="steps per update; otherwise read off the file's name or tried out")
    arguments = parser.parse_args(argv)
    if arguments.window is not None and arguments.window < 1:
        parser.error("--window must be at least 1")
    torch.set_num_threads(1)
    fine = True
    for path in arguments.files:
        try:
            fine &= check(path, arguments.heads, arguments.l0_weight, arguments.window)
        except ValueError as error:
            print(f"parity: {error}", file=sys.stderr)
            return 2
    print("agrees with the released code" if fine else "DEVIATES from the released code")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
