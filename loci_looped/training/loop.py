"""The training loop, from the first update to the last, resumable at any moment."""

from __future__ import annotations

import copy
import dataclasses
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from loci_looped.data.dataset import Batch, ClipDataset
from loci_looped.errors import LociError
from loci_looped.model import LociLooped
from loci_looped.storage import save_network
from loci_looped.training.checkpoint import Checkpoint, newest_checkpoint, write_checkpoint
from loci_looped.training.config import TrainConfig
from loci_looped.training.curriculum import Stage
from loci_looped.training.distributed import World, join
from loci_looped.training.health import complaints
from loci_looped.training.log import Averages, RunLog
from loci_looped.training.optimiser import (
    build_optimiser,
    clip_gradients,
    named_state,
    restore_state,
    set_learning_rate,
)
from loci_looped.training.sequence import Window, finite, unroll
from loci_looped.training.source import open_dataset
from loci_looped.training.strip import film_strip
from loci_looped.training.validation import Validation, validate, validation_clips


class Trainer:
    """A run in a folder. Its state is exactly what a checkpoint holds; between two sequences it can stop and go on."""

    def __init__(self, config: TrainConfig, folder: Path, dataset: ClipDataset | None = None, device: str = "cpu"):
        self.config, self.folder = config, folder
        self.device = torch.device(device)
        self.world: World = join(config.data.batch, self.device)
        torch.manual_seed(config.seed)          # the weights' start; everything later draws from self.generator
        self.model = LociLooped(config.model).to(self.device)
        self.average = copy.deepcopy(self.model).requires_grad_(False)
        self.optimiser = build_optimiser(self.model, config.optimiser)
        self.generator = torch.Generator(self.device).manual_seed(config.seed * 1009 + self.world.rank)
        self.dataset = dataset
        self.update, self.calls, self.batches, self.seconds = 0, 0, 0, 0.0
        self._stop = False

    # ---------------------------------------------------------------- the loop

    def run(self, log: RunLog) -> Validation | None:
        """Train to the end of the curriculum (or the time limit, or a signal); the last look at the validation scenes."""
        dataset = self.dataset or open_dataset(self.config, self.model.config.frame)
        means, saved, looked = Averages(), time.monotonic(), self.update
        last_look: Validation | None = None
        with _Signals(self):
            while not self._finished():
                started = time.monotonic()
                self._grow_if_due()
                if self.dataset is None and dataset[0][0].shape[2:] != self.model.config.frame:
                    dataset = open_dataset(self.config, self.model.config.frame)
                stage = self.config.curriculum.at(self.update, self.calls)
                batch = dataset.batch_at(self.batches)
                self._learn(batch, stage, log, means, started)
                self.batches += 1
                self.seconds += time.monotonic() - started
                if self.world.is_first and stage.fade >= 1 and self.update - looked >= self.config.validate_every:
                    looked, last_look = self.update, self._look(stage, log)
                if time.monotonic() - saved > 60 * self.config.checkpoint_minutes:
                    self.save()
                    saved = time.monotonic()
        self.save()
        if self.world.is_first and self._complete():
            last_look = self._look(self.config.curriculum.at(self.update, self.calls), log)
            save_network(self.folder / "network", self.average if self.config.optimiser.average else self.model, {
                "recipe": self.config.name, "seed": self.config.seed, "updates": self.update,
                "minutes": round(self.seconds / 60, 1), "validation": last_look.to_json(),
            })
        self.world.close()
        return last_look

    def _learn(self, batch: Batch, stage: Stage, log: RunLog, means: Averages, started: float) -> None:
        """One sequence: an update per window."""
        frames = self.world.share(batch.frames).to(self.device)
        background = self.world.share(batch.background).to(self.device)
        self.model.train()
        for window in unroll(self.model, frames, background, stage, self.config, self.generator):
            if not finite(window):
                self._refuse_nan(batch, window)
            rate = set_learning_rate(
                self.optimiser, self.config.optimiser, self.update, self.config.curriculum.updates
            )
            self.optimiser.zero_grad(set_to_none=True)
            (window.loss / self.world.size).backward()
            self.world.sum_gradients(self.model)
            norm = clip_gradients(self.model.parameters(), self.config.optimiser.clip)
            self.optimiser.step()
            self._follow()
            self.update += 1
            self.calls += window.steps
            means.add(window.parts | {"loss": float(window.loss.detach()), "gradient_norm": norm})
            if self.update % self.config.log_every == 0 and self.world.is_first:
                self._report(stage, log, means, rate, started)
            if self.update >= self.config.curriculum.updates:
                return

    def _follow(self) -> None:
        """The moving average of the weights; young averages follow faster."""
        decay = min(self.config.optimiser.average, 1 - 1 / (self.update + 2))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), list(self.model.parameters()), 1 - decay)

    def _grow_if_due(self) -> None:
        due = self.config.level_two_from
        if due and self.update >= due and self.model.config.level == 1:
            self.model, self.average = self.model.at_level(2), self.average.at_level(2).requires_grad_(False)
            self.optimiser = build_optimiser(self.model, self.config.optimiser)

    def _finished(self) -> bool:
        return self._complete() or self.world.agree(self._stop)

    def _complete(self) -> bool:
        limit = self.config.minutes
        over = bool(limit) and self.seconds >= 60 * limit
        return self.update >= self.config.curriculum.updates or self.world.agree(over)

    def stop(self) -> None:
        """End after the sequence under way, with a checkpoint."""
        self._stop = True

    # ---------------------------------------------------------------- what it tells

    def _report(self, stage: Stage, log: RunLog, means: Averages, rate: float, started: float) -> None:
        values = means.take()
        elapsed = self.seconds + time.monotonic() - started
        values |= {"learning_rate": rate, "seconds": elapsed, "updates_per_second": self.update / max(elapsed, 1e-9)}
        log.record("train", self.update, values | {"phase": stage.phase})
        log.progress(self.update, stage.phase, values)
        for sentence in complaints(self.update, stage.phase, values, None):
            log.say(f"[yellow]This run is in trouble. {sentence}")

    def _look(self, stage: Stage, log: RunLog) -> Validation:
        network = self.average if self.config.optimiser.average else self.model
        gate = "learned" if stage.gate_learns else "open"
        clips = validation_clips(self.config.validation_scenes, network.config.frame)
        look = validate(network, clips, gate)
        log.record("validation", self.update, look.to_json() | {"phase": stage.phase, "seconds": self.seconds})
        log.say(f"{self.update:>8} {look.line()}")
        film_strip(network, clips[0], gate, self.folder / "strips" / f"update-{self.update:09d}.png")
        for sentence in complaints(self.update, stage.phase, {}, look):
            log.say(f"[yellow]This run is in trouble. {sentence}")
        return look

    def _refuse_nan(self, batch: Batch, window: Window) -> None:
        path = self.folder / f"offending-batch-{self.update:09d}.npz"
        np.savez_compressed(path, frames=batch.frames.numpy(), background=batch.background.numpy(), clips=batch.clips)
        broken = ", ".join(name for name, value in window.parts.items() if not np.isfinite(value)) or "the loss"
        raise LociError(
            f"Update {self.update} gave a loss that is no number ({broken}). The batch is in {path}; the last checkpoint is "
            "intact. A lower --optimiser.learning-rate or --optimiser.clip 0.5 usually helps."
        )

    # ---------------------------------------------------------------- stopping and going on

    def save(self) -> None:
        if not self.world.is_first:
            return
        write_checkpoint(self.folder / "checkpoints", Checkpoint(
            self.update,
            tensors={
                "weights": dict(self.model.state_dict()),
                "average": dict(self.average.state_dict()),
                "optimiser": named_state(self.model, self.optimiser),
                "random": {"generator": self.generator.get_state()},
            },
            values={
                "calls": self.calls, "batches": self.batches, "seconds": self.seconds, "level": self.model.config.level,
                "config": self.config.to_json(),
            },
        ))

    def restore(self) -> None:
        """Go on from the newest whole checkpoint of the folder."""
        found = newest_checkpoint(self.folder / "checkpoints")
        if found.values["level"] != self.model.config.level:
            self.model, self.average = self.model.at_level(2), self.average.at_level(2).requires_grad_(False)
            self.optimiser = build_optimiser(self.model, self.config.optimiser)
        self.model.load_state_dict(found.tensors["weights"])
        self.average.load_state_dict(found.tensors["average"])
        restore_state(self.model, self.optimiser, found.tensors["optimiser"])
        self.generator.set_state(found.tensors["random"]["generator"])
        self.update, self.calls = found.update, int(found.values["calls"])
        self.batches, self.seconds = int(found.values["batches"]), float(found.values["seconds"])


class _Signals:
    """Ctrl-C and SIGTERM end the run after the sequence under way; a second Ctrl-C ends it at once."""

    def __init__(self, trainer: Trainer):
        self.trainer = trainer
        self.before: dict[int, Any] = {}

    def __enter__(self) -> None:
        def ask(number: int, frame: FrameType | None) -> None:
            del frame
            self.trainer.stop()
            signal.signal(number, self.before[number])

        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                self.before[number] = signal.signal(number, ask)
            except ValueError:      # not in the main thread: whoever runs us there stops us there
                return

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def resumed_config(folder: Path, wanted: TrainConfig | None) -> TrainConfig:
    """The configuration a run was started with; refuses a different one, naming the differences."""
    from loci_looped.training.config import differences

    found = TrainConfig.from_json(newest_checkpoint(folder / "checkpoints").values["config"])
    if wanted is not None:
        changed = [d for d in differences(found, wanted) if not d.startswith(RESUME_MAY_CHANGE)]
        if changed:
            raise LociError(f"{folder} was trained with another configuration and cannot be resumed with this one: " + "; ".join(changed))
        found = dataclasses.replace(found, **{n: getattr(wanted, n) for n in RESUME_MAY_CHANGE if n != "curriculum.updates"})
    return found


RESUME_MAY_CHANGE = ("minutes", "checkpoint_minutes", "log_every", "validate_every", "validation_scenes")
"""What does not change the course of training may differ when a run is resumed."""
