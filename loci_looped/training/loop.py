"""The training loop, from the first update to the last, resumable at any moment."""

from __future__ import annotations

import copy
import math
import time
import warnings
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from torch import nn

from loci_looped.configs.training import RunConfig
from loci_looped.data.clip import Clip
from loci_looped.data.store.dataset import Batch
from loci_looped.inference.network_kinds import as_loci
from loci_looped.inference.networks import INSIDE_RUN, save_network
from loci_looped.training.acceleration import settled
from loci_looped.training.clips import Report, TrainingClips, open_dataset
from loci_looped.training.consolidation import Consolidation
from loci_looped.training.distributed import ProcessGroup
from loci_looped.training.film_validation import Findings
from loci_looped.training.inherit import Inheritance
from loci_looped.training.log import Averages, RunLog, without_nan
from loci_looped.training.objective import NamedPhase
from loci_looped.training.objectives import objective_of
from loci_looped.training.optimiser import (
    build_optimiser,
    clip_gradients,
    hold_still,
    named_state,
    restore_state,
    set_learning_rate,
)
from loci_looped.training.stopping import asked_to_stop
from loci_looped.training.validation import validation_clips
from loci_looped.utils.atomic import replacing
from loci_looped.utils.checkpoint import Checkpoint, newest_checkpoint, write_checkpoint
from loci_looped.utils.errors import LociError
from loci_looped.utils.memory import rarely_collected

CHECKPOINTS, STRIPS = "checkpoints", "strips"


class Trainer:
    """A run in a folder. Its state is exactly what a checkpoint holds; between two sequences it can stop and go on."""

    def __init__(
        self, config: RunConfig, folder: Path, clips: TrainingClips | None = None, world: ProcessGroup | None = None
    ):
        self.world = world or ProcessGroup()
        config = settled(config, self.world.device)
        self.config, self.folder = config, folder
        self.objective = objective_of(config)
        torch.manual_seed(config.seed)          # the weights' start; everything later draws from self.generator
        self.model: nn.Module = self.objective.build().to(self.world.device)
        self.average = copy.deepcopy(self.model).requires_grad_(False)
        self._prepare()
        self.generator = torch.Generator(self.world.device).manual_seed(config.seed * 1009 + self.world.rank)
        self.update, self.calls, self.batches, self.looked, self.seconds = 0, 0, 0, 0, 0.0
        self.means = Averages()
        self.milestones: list[int] = []         # where phases began; their checkpoints are kept for branches
        self.started_from: dict[str, Any] | None = None     # of a branch: run, update and configuration it came from
        self.begins_with = ""                   # the network whose weights it had at first; without one: noise
        self._clips, self._clips_size = clips, config.frame
        self._scenes: list[Clip] = []
        self._told: set[str] = set()
        self._stop = False
        self.is_over = False

    def _prepare(self) -> None:
        """What a new network needs to learn."""
        self.objective.accelerate(self.model, self.world.device)
        self.optimiser = build_optimiser(self.objective.groups(self.model), self.config.optimiser)
        # Kept, because a walk through all modules takes longer than what is done with their parameters.
        self._weights: list[Any] = list(self.model.parameters())
        self._averages: list[Any] = list(self.average.parameters())
        kept, buffers = self.model.state_dict(), zip(self.average.named_buffers(), self.model.buffers(), strict=True)
        self._statistics = [(ours, theirs) for (name, ours), theirs in buffers if name in kept]
        self.consolidation = self.objective.consolidation(self.network(), self.world)

    @property
    def pictures(self) -> int:
        """Updates made with pictures, by which the curriculum counts; the others were rehearsals."""
        return self.update - (self.consolidation.updates if self.consolidation else 0)

    def begin_with(self, inherited: Inheritance) -> None:
        """Start from what another network has learnt; nothing has been counted yet."""
        for network in (self.model, self.average):
            network.load_state_dict(inherited.weights)
        self.begins_with = inherited.name

    # ---------------------------------------------------------------- the loop

    def run(self, log: RunLog | None = None) -> Findings | None:
        """Train to the end of the curriculum, the time limit or a signal; returns the validation at the end of it.

        Only the first process has a log.
        """
        last = None
        if self.update == (self.started_from["update"] if self.started_from else 0):
            self.save()         # from the first moment on, a killed run can be taken up
        saved = time.monotonic()
        with asked_to_stop(self.stop), rarely_collected():
            while not (self.is_complete() or self.world.agree(self._stop)):
                self._grow_if_due()
                clips = self.open_clips()
                if self.consolidation and self.consolidation.is_due(self.pictures):
                    saved = self._consolidate(self.consolidation, clips, log, saved)
                    continue
                phase = self.objective.phase(self.pictures, self.calls)
                self._learn(clips.batch_at(self.batches), phase, log)
                due = self.update - self.looked >= self.config.validate_every
                if due and self.objective.is_worth_a_look(phase):
                    self.looked = self.update
                    self._validate(phase.name, log)
                next_phase = self.objective.phase(self.pictures, self.calls).name != phase.name
                if next_phase:
                    self.milestones.append(self.update)
                if self.world.agree(next_phase or time.monotonic() - saved > 60 * self.config.checkpoint_minutes):
                    self._save_or_tell(log)
                    saved = time.monotonic()
        self.save()
        self.is_over = self.is_complete()
        if self.is_over and self.world.is_first:
            rehearsed = self.consolidation is not None and self.consolidation.round > 0
            name = "rehearsal" if rehearsed else self.objective.phase(self.pictures, self.calls).name
            last = self._validate(name, log)
            save_network(self.folder / INSIDE_RUN, self.network(), {
                "recipe": self.config.name, "world": self.config.data.origin,
                "trained_on": self.config.data.described(), "seed": self.config.seed,
                "updates": self.update, **({"begins_with": self.begins_with} if self.begins_with else {}),
                "minutes": round(self.seconds / 60, 1), "validation": without_nan(last.to_json()) if last else None,
            })
        return last

    def _learn(self, batch: Batch, phase: NamedPhase, log: RunLog | None) -> None:
        """One sequence: an update per window."""
        started, before = time.monotonic(), self.seconds
        optimiser, updates = self.config.optimiser, self.config.updates_with_pictures
        frames, background = self.world.share(batch.frames), self.world.share(batch.background)
        self.model.train()
        for window in self.objective.windows(self.model, frames, background, phase, self.generator):
            loss = float(window.loss.detach())
            if not math.isfinite(loss):
                broken = ", ".join(name for name, value in window.parts.items() if not math.isfinite(value))
                self._refuse(batch, f"a loss that is not a finite number ({broken or 'all its parts are'})")
            rate = set_learning_rate(self.optimiser, optimiser, self.pictures, updates)
            self.optimiser.zero_grad(set_to_none=True)
            (window.loss / self.world.size).backward()
            self.world.sum_gradients(self.model, self.objective.injected(self.model))
            norm = clip_gradients(self._weights, optimiser.clip)
            if not math.isfinite(norm):
                self._refuse(batch, "a gradient that is not a finite number")
            hold_still(self.optimiser, window.moves)
            self.optimiser.step()
            self._follow()
            self.update += 1
            self.calls += window.steps
            self.seconds = before + time.monotonic() - started
            self.means.add(window.parts | {"loss": loss, "gradient_norm": norm})
            if self.update % self.config.log_every == 0:
                self._report(phase.name, log, rate)
            if self.pictures >= updates:
                break
        self.batches += 1

    def _consolidate(self, rounds: Consolidation, clips: TrainingClips, log: RunLog | None, saved: float) -> float:
        """Some of a round of rehearsal; returns when the last checkpoint was written."""
        started = time.monotonic()
        if rounds.must_record:
            self.batches += rounds.record(clips, self.batches, self.config.warm_up_steps)
            self.milestones.append(self.update)
            if log is not None:
                log.say(rounds.told())
        ends = rounds.round + 1
        while rounds.round < ends and not rounds.is_over:
            told = rounds.learn()
            self.update += 1
            self.means.add(told)
            if self.update % self.config.log_every == 0:
                self.seconds += time.monotonic() - started
                started = time.monotonic()
                self._report("rehearsal", log, told["learning_rate"])
                break       # signals and the clock are looked at between pieces
        self.seconds += time.monotonic() - started
        if rounds.round == ends:
            rounds.teach(as_loci(self.model, self.folder))
            if log is not None:
                log.record("rehearsal", self.update, rounds.look() | {"round": ends})
            if not rounds.is_over:
                self._validate("rehearsal", log)
        if self.world.agree(rounds.round == ends or time.monotonic() - saved > 60 * self.config.checkpoint_minutes):
            self._save_or_tell(log)
            saved = time.monotonic()
        return saved

    def _follow(self) -> None:
        """The moving average of the weights; young averages follow faster."""
        if self.config.optimiser.average:
            decay = min(self.config.optimiser.average, 1 - 1 / (self.pictures + 2))
            with torch.no_grad():
                torch._foreach_lerp_(self._averages, self._weights, 1 - decay)
                for ours, theirs in self._statistics:
                    ours.copy_(theirs)      # running statistics are means already; other buffers are constants

    def _grow_if_due(self) -> None:
        if self.config.level_at(self.update) > self.objective.level(self.model):
            self._grow()

    def _grow(self) -> None:
        """The same weights on finer frames, with a fresh optimiser."""
        self.model = self.objective.grown(self.model)
        self.average = self.objective.grown(self.average).requires_grad_(False)
        self._prepare()

    def open_clips(self, report: Report | None = None) -> TrainingClips:
        """The training clips at the network's present size; whatever does not fit the network is said here."""
        size = self.objective.frame(self.model)
        if self._clips is None or size != self._clips_size:
            self._clips = self.world.one_after_another(lambda: open_dataset(self.config, size, report))
            self._clips_size, self._scenes = size, []
        return self._clips

    def is_complete(self) -> bool:
        """Nothing is left to do: the curriculum has ended, or the time is up. The same in all processes."""
        limit = self.config.minutes
        over = bool(limit) and self.seconds >= 60 * limit
        rehearsed = self.consolidation is None or self.consolidation.is_over
        finished = self.pictures >= self.config.updates_with_pictures and rehearsed
        return finished or self.world.agree(over)

    def stop(self) -> None:
        """End after the sequence under way, with a checkpoint."""
        self._stop = True

    def network(self) -> nn.Module:
        """What is evaluated and shipped: the moving average if there is one."""
        return self.average if self.config.optimiser.average else self.model

    # ---------------------------------------------------------------- what it tells

    def _report(self, phase: str, log: RunLog | None, rate: float) -> None:
        values = self.means.take()
        if log is None:
            return
        speed = self.update / max(self.seconds, 1e-9)
        values |= {"learning_rate": rate, "seconds": self.seconds, "updates_per_second": speed}
        log.record("train", self.update, values | {"phase": phase})
        log.progress(self.update, phase, values)
        self._complain(self.objective.diagnose(self.update, phase, values), log)

    def _validate(self, phase: str, log: RunLog | None) -> Findings | None:
        """Figures and a strip of one scene; evaluation draws no random numbers, so it does not disturb training."""
        if log is None or not self.config.validation_scenes:
            return None
        network = self.network()
        if not self._scenes:
            self._scenes = self._validation_clips(self.objective.frame(network))
        if not self._scenes:
            return None
        found = self.objective.validate(network, self._scenes, phase)
        log.record("validation", self.update, found.to_json() | {"phase": phase, "seconds": self.seconds})
        log.say(f"{self.update:>8} {found.line()}")
        strip = self.folder / STRIPS / f"update-{self.update:09d}.png"
        title = f"{self.config.name}, update {self.update}"
        self.objective.write_strip(network, self._scenes[0], phase, strip, title)
        log.picture("validation/strip", self.update, strip)
        self._complain(self.objective.diagnose(self.update, phase, {}, found), log)
        return found

    def _validation_clips(self, size: tuple[int, int]) -> list[Clip]:
        """Never trained on: of a folder its held-out films, and no scenes of another world."""
        count, data = self.config.validation_scenes, self.config.data
        if data.folder:
            return self.open_clips().held_out(count)
        return validation_clips(count, size, data.world, data.stride)

    def _complain(self, found: dict[str, str], log: RunLog) -> None:
        """Each kind of trouble is told once."""
        for kind, sentence in found.items():
            if kind not in self._told:
                self._told.add(kind)
                log.record("trouble", self.update, {"what": kind, "sentence": sentence})
                log.say(f"This run is in trouble. {sentence}", style="yellow")

    def _refuse(self, batch: Batch, what: str) -> NoReturn:
        path = self.folder / f"offending-batch-{self.update:09d}.npz"
        with replacing(path) as temporary:
            np.savez_compressed(
                temporary, frames=batch.frames.numpy(), background=batch.background.numpy(), clips=np.array(batch.clips)
            )
        raise LociError(
            f"Update {self.update} gave {what}. The batch is kept in {path}, the last checkpoint is intact. A lower "
            "--optimiser.learning-rate or --optimiser.clip 0.5 usually helps."
        )

    # ---------------------------------------------------------------- stopping and going on

    def save(self) -> None:
        """A checkpoint, written by the first process with the random numbers of all."""
        generators = self.world.gather(self.generator.get_state())
        if not self.world.is_first:
            return
        tensors = {
            "weights": dict(self.model.state_dict()),
            "optimiser": named_state(self.model, self.optimiser),
            "random": {f"generator-{rank}": state for rank, state in enumerate(generators)},
        }
        if self.config.optimiser.average:
            tensors["average"] = dict(self.average.state_dict())
        if self.consolidation and self.consolidation.config.rounds:
            tensors |= self.consolidation.tensors()
        write_checkpoint(self.folder / CHECKPOINTS, Checkpoint(self.update, tensors, {
            "calls": self.calls, "batches": self.batches, "looked": self.looked, "seconds": self.seconds,
            "level": self.objective.level(self.model), "means": self.means.to_json(), "told": sorted(self._told),
            "milestones": self.milestones, "config": self.config.to_json(), "started_from": self.started_from,
            "begins_with": self.begins_with,
            **({"rehearsal": self.consolidation.values()} if self.consolidation else {}),
        }), spared=self.milestones)

    def _save_or_tell(self, log: RunLog | None) -> None:
        """A full disk is no reason to lose what has been learnt since: training goes on and tries again later."""
        try:
            self.save()
        except LociError as error:
            if log is not None:
                log.say(f"{error} Training goes on and will try again.", style="yellow")

    def restore(self, found: Checkpoint | None = None) -> None:
        """Go on from a checkpoint; from the newest whole one of the folder if none is given."""
        found = found or newest_checkpoint(self.folder / CHECKPOINTS)
        if found.values["level"] != self.objective.level(self.model):
            self._grow()
        self.model.load_state_dict(found.tensors["weights"])
        if self.config.optimiser.average:
            self.average.load_state_dict(found.tensors["average"])
        restore_state(self.model, self.optimiser, found.tensors["optimiser"])
        if self.consolidation and "rehearsal" in found.values:
            self.consolidation.restore(found.tensors, found.values["rehearsal"])
            if self.consolidation.round:
                self.consolidation.teach(as_loci(self.model, self.folder))
        generators = found.tensors["random"]
        if len(generators) != self.world.size and self.world.is_first:
            warnings.warn(
                f"The run had {len(generators)} processes and now has {self.world.size}: it goes on with other random "
                "numbers than it would have had.", stacklevel=2,
            )
        if f"generator-{self.world.rank}" in generators:
            self.generator.set_state(generators[f"generator-{self.world.rank}"])
        self.update, self.calls, self.batches = found.update, int(found.values["calls"]), int(found.values["batches"])
        self.looked, self.seconds = int(found.values["looked"]), float(found.values["seconds"])
        self.means, self._told = Averages.from_json(found.values["means"]), set(found.values["told"])
        self.milestones = [int(update) for update in found.values.get("milestones", ())]
        self.started_from = found.values.get("started_from")
        self.begins_with = str(found.values.get("begins_with", ""))
