"""For the tests of the report: results of every experiment, filled in by hand, and a run that left a log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from loci_looped.configs.experiments import PROBABILITIES
from loci_looped.evaluation.experiments.interruptions import METRICS, put_sweep
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.metrics.statistics import Estimate
from loci_looped.evaluation.metrics.tracking import Moments

NETWORK = {"name": "small-one", "weights_sha256": "abc", "recipe": "adept-small", "seed": 4}


def tracking() -> Results:
    found = Results("tracking", NETWORK, {"seed": 0}, "loci evaluate small-one --experiment tracking")
    frames = np.arange(20)
    for gate, error in (("learned", 0.021), ("open", 0.093)):
        case = Case("tracking", "small-one", gate)
        for part in ("visible", "occluded", "overall"):
            found.put(case, f"error_{part}", Moments(error, error / 2, 900), "tracking/test", percent=True)
        found.put(case, "successful", 0.95, "tracking/test", percent=True, n=60)
        found.put(case, "movers_found", 1.0, "tracking/test", percent=True, n=51)
        found.put(case, "mota", 0.87, "mota/test")
        found.put(case, "inner_loop_visible", Moments(0.7, 0.1, 900), "gate/test", percent=True)
        found.put(case, "official_error_visible", Moments(error + 0.01, error, 900), "official/test", percent=True)
        found.put(case, "official_mota", 0.91, "official/test")
        noise = np.random.default_rng(0).random((20, 6))
        found.put_mean_curve(case, "error_over_time", frames, 100 * error * (1 + noise))
        hidden = ((frames > 8) & (frames < 14))[:, None] * np.ones((20, 6))
        found.put_mean_curve(case, "hidden_share_over_time", frames, hidden)
        for name in ("position", "gestalt"):
            found.put_mean_curve(case, f"{name}_gate_over_time", frames, noise)
    found.complete = True
    return found


def surprise() -> Results:
    found = Results("surprise", NETWORK, {"seed": 0}, "loci evaluate small-one --experiment surprise")
    case = Case("surprise", "small-one", "learned")
    found.put(case, "vanished_slots", 11, "surprise/test")
    for window, t, p in (("reappearance", 2.5, 0.008), ("screen_falls", 0.4, 0.34)):
        found.put(case.under(window), "t", t, "surprise/test")
        found.put(case.under(window), "degrees", 60, "surprise/test")
        found.put(case.under(window), "p_one_sided", p, "surprise/test")
        found.put(case.under(window), "n_vanished", 11, "surprise/test")
        found.put(case.under(window), "n_control", 51, "surprise/test")
        found.put_curve(case.under(window), "vanished_peaks", [0, 1], [0.5, 0.7])
        found.put_curve(case.under(window), "control_peaks", [0, 1, 2], [0.1, 0.2, 0.1])
    for side in ("vanished", "control"):
        for name in ("slot_error", "visible_area", "visible", "position_gate", "gestalt_gate"):
            values = np.random.default_rng(1).random((79, 4))
            found.put_mean_curve(case.under(side), f"{name}_over_time", np.arange(79), values)
    for kind in ("vanish", "all"):
        for name in ("slot", "frame"):
            pairs = Case("violations", "small-one", "learned", (kind,))
            found.put(pairs, f"{name}_accuracy", Estimate(0.8, 0.6, 0.95, 20), "violations/test", percent=True)
    found.warn("One note <about> this run.")
    found.complete = True
    return found


def interruptions() -> Results:
    found = Results("interruptions", {"name": "table-one"}, {}, "loci evaluate table-one --experiment interruptions")
    for probability in PROBABILITIES:
        case = Case("interruptions", "table-one", "learned", (f"{probability:g}",))
        found.put(case, "blackout_rate", probability, "blackout/test", percent=True)
        for part in ("blackout", "visible"):
            for metric in METRICS:
                value = Moments(30.0 if metric == "psnr" else 0.5, 0.1, 80)
                found.put(case.under(part), metric, value, METRICS[metric])
    put_sweep(found, Case("interruptions", "table-one", "learned"), PROBABILITIES)
    found.fail("collide (seed 4) was left out: its predictions are not numbers.")
    return found


def imagination() -> Results:
    found = Results("imagination", {"name": "ball-one"}, {}, "loci evaluate ball-one --experiment imagination")
    case = Case("imagination", "ball-one", "learned", ("interaction", "black"))
    found.put(case, "failed", 0.1, "balls/test", percent=True, n=50)
    found.put(case, "distance_sum", 0.31, "balls/test", n=45, interval=(0.25, 0.37))
    found.put(case, "official_distance_sum", 0.22, "official/test", n=45)
    found.put_mean_curve(case, "distance_over_time", np.arange(1, 21), np.random.default_rng(2).random((20, 5)))
    found.complete = True
    return found


def everything() -> list[Results]:
    return [imagination(), surprise(), tracking(), interruptions()]


def make_run(folder: Path) -> Path:
    """A run's log, whose last line was cut off, and two film strips."""
    (folder / "strips").mkdir(parents=True)
    lines = []
    for update in range(100, 2100, 100):
        phase = "foreground" if update <= 800 else "background" if update <= 1400 else "gate"
        lines.append({"kind": "train", "update": update, "phase": phase, "foreground_error": 1 / update})
        if update % 500 == 0:
            lines.append({"kind": "validation", "update": update, "visible_error": 3.0, "occluded_error": None})
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"kind": "tra')
    for update in (1000, 2000):
        Image.new("RGB", (60, 20), (update % 255, 90, 90)).save(folder / "strips" / f"update-{update:09d}.png")
    return folder
