"""Rounds of consolidation: record diaries of the network in use, then rehearse them; perception stays as it is."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from loci_looped.configs.rehearsal import RehearsalConfig
from loci_looped.model import GateKind, LociLooped
from loci_looped.training.clips import TrainingClips
from loci_looped.training.diary import (
    SHORTEST,
    Diary,
    dark_frames,
    joined,
    mirrored,
    random_holds,
    record,
    repainted,
    shut_together,
    turned,
    windows,
)
from loci_looped.training.distributed import ProcessGroup
from loci_looped.training.optimiser import clip_gradients, named_state, restore_state
from loci_looped.training.rehearsal import rehearse
from loci_looped.training.rollout import roll_out_errors

WARM_START = 20
"""The rate rises over the first updates of each round."""
HELD_OUT = 0.1
"""Share of the diaries that is not rehearsed but asked how far imagination goes astray."""


class Consolidation:
    """Where a run's rehearsal stands. Every update draws its random numbers from a seed of its own, and the diaries go
    into the checkpoint, so that a run can stop after any update and go on exactly.

    All processes hold the same diaries: each records its share of the clips and rehearses its share of each batch.
    """

    def __init__(self, model: LociLooped, config: RehearsalConfig, world: ProcessGroup, seed: int):
        """`model` is the network that rehearses: perception as it is used, the moving average if there is one."""
        self.model, self.config, self.world, self.seed = model, config, world, seed
        self.round, self.done = 0, 0            # the round under way, and its updates so far
        self.updates = 0                        # of all rounds so far
        self.skipped = 0                        # clips that were too short to rehearse
        self.diary: Diary | None = None
        self.recorded = -1                      # the round whose diaries these are
        self.ends: dict[str, Tensor] = {}       # what the last rounds ended with, added up
        self.parameters = [*model.transition.parameters(), *model.gate.parameters()]
        if config.rounds:
            for parameter in self.parameters:
                parameter.requires_grad_(True)
        self.optimiser = self._fresh_optimiser()

    @property
    def is_over(self) -> bool:
        return self.round >= self.config.rounds

    def is_due(self, pictures: int) -> bool:
        """Is it time for a round, after so many updates with pictures?"""
        return not self.is_over and pictures >= self.config.rounds_at[self.round]

    @property
    def must_record(self) -> bool:
        return not self.is_over and self.recorded != self.round

    @property
    def gate_learns(self) -> bool:
        """At first the gate is open, so that there is something worth imagining when it may close."""
        if self.config.unlooped:
            return False
        return not self._is_first or self.done >= self.config.gate_open * self.config.updates

    @property
    def _is_first(self) -> bool:
        """Nobody has learnt to imagine yet."""
        return self.round == 0 and not self.config.inherited

    # ---------------------------------------------------------------- recording

    def record(self, clips: TrainingClips, batches: int, warm_up: int) -> int:
        """The diaries of this round, from batch number `batches` on; returns the number of batches watched.

        The first round watches with open gates: who has not rehearsed yet has nothing to imagine with. Later rounds
        watch with the gate that has been learnt, and sometimes hold slots shut, so that what is sensed by one who looks
        at the wrong place is in the diaries, too.
        """
        first, diaries, watched = self._is_first, [], 0
        gate: GateKind = "open" if first or self.config.unlooped else "learned"
        count = -(-self.config.clips // clips.dataset.batch_size)
        draw = self._generator("record", self.world.rank)
        for number in range(count):
            batch = clips.batch_at(batches + number)
            watched += 1
            frames, background = self.world.share(batch.frames), self.world.share(batch.background)
            length = frames.shape[1]
            if length < SHORTEST:
                self.skipped += batch.frames.shape[0]
                continue
            hold = None
            if not first and self.config.recorded_hold and not self.config.unlooped:
                shape = (length, frames.shape[0], self.model.config.slots)
                hold = random_holds(
                    shape, self.config.recorded_hold, self.config.hold_from, self.config.hold_to, draw
                ).to(frames.device)
            dark = None
            if self.config.dark and not first:      # who cannot imagine yet would lose its objects in the dark
                dark = dark_frames((length, frames.shape[0]), self.config.dark, draw).to(frames.device)
            diaries.append(self._everyones(record(self.model, frames, background, gate, hold, warm_up, dark)))
        self.diary = self._remembered(joined(diaries).of_clips(slice(self.config.clips))) if diaries else None
        self.recorded, self.optimiser = self.round, self._fresh_optimiser()
        if self.diary is None:
            self.round = self.config.rounds     # nothing can be rehearsed, ever
        return watched

    def _remembered(self, new: Diary) -> Diary:
        """The newest diaries, with those of earlier rounds before them; held-out ones are the last of the new."""
        most = self.config.remembered
        kept_from = 0 if self.config.inherited else 1
        if not most or self.diary is None or self.recorded < kept_from or self.diary.frames != new.frames:
            return new
        earlier = self.diary.of_clips(slice(self.diary.clips - self._held_out()))
        return joined([earlier, new]).of_clips(slice(-max(most, new.clips), None))

    def _everyones(self, diary: Diary) -> Diary:
        if self.world.size == 1:
            return diary
        parts = {name: self.world.gather(_as_bytes(leaf)) for name, leaf in diary.to_tensors().items()}
        flat = diary.to_tensors()
        return joined([
            Diary.from_tensors({name: parts[name][rank].to(flat[name].dtype) for name in flat})
            for rank in range(self.world.size)
        ])

    # ---------------------------------------------------------------- rehearsing

    def learn(self) -> dict[str, float]:
        """One update; returns losses and openings."""
        assert self.diary is not None
        config, draw = self.config, self._generator("rehearse", self.done)
        rate = self.learning_rate()
        of_transition, of_gate = self.optimiser.param_groups
        of_transition["lr"], of_gate["lr"] = rate, rate * config.gate_rate
        rehearsed = self.diary.clips - self._held_out()
        chosen = torch.randint(rehearsed, (config.batch,), generator=draw)
        diary = self.diary.of_clips(chosen.to(self.diary.occlusion.device))
        diary = windows(diary, config.window, draw) if config.window else diary
        diary = mirrored(diary, draw) if config.mirrored else diary
        diary = repainted(diary, config.repainted, draw) if config.repainted else diary
        diary = turned(diary, draw) if config.square else diary
        hold = random_holds(
            (diary.frames, diary.clips, self.model.config.slots), config.hold, config.hold_from, config.hold_to, draw
        )
        hold = shut_together(hold, config.together, config.hold_from, draw) if config.together else hold
        hold = torch.zeros_like(hold) if config.unlooped else hold
        own = slice(self.world.rank, None, self.world.size)
        self.model.train()
        loss, parts = rehearse(
            self.model, diary.of_clips(own), hold[:, own].to(diary.occlusion.device), config, learned=self.gate_learns,
            generator=self._generator("noise", self.done, self.world.rank),
        )
        self.optimiser.zero_grad(set_to_none=True)
        (loss / self.world.size).backward()
        self.world.sum_gradients(self.model)
        norm = clip_gradients(self.parameters, config.clip)
        if math.isfinite(norm):         # one wild clip is no reason to lose the rest
            self.optimiser.step()
        self.done, self.updates = self.done + 1, self.updates + 1
        told = {name: float(value.detach()) for name, value in parts.items()}
        told |= {"loss": float(loss.detach()), "gradient_norm": norm, "learning_rate": rate}
        if self.done >= config.updates:
            self._end_round()
        return told

    def _end_round(self) -> None:
        """The last rounds' weights are added up; after the last round the network has their mean."""
        self.round, self.done = self.round + 1, 0
        averaged = min(self.config.averaged, self.config.rounds)
        if self.round <= self.config.rounds - averaged:
            return
        weights = self._learnt()
        self.ends = {name: self.ends.get(name, torch.zeros_like(value)) + value for name, value in weights.items()}
        if self.is_over:
            for name, value in weights.items():
                value.copy_(self.ends[name] / averaged)
            self.ends = {}

    def _learnt(self) -> dict[str, Tensor]:
        """The weights that rehearsal changes, by name; changing them changes the network."""
        return {
            f"{part}.{name}": value.detach()
            for part in ("transition", "gate") for name, value in getattr(self.model, part).named_parameters()
        }

    def teach(self, other: LociLooped) -> None:
        """Hand over what has been rehearsed; from now on pictures do not change it any more."""
        other.transition.load_state_dict(self.model.transition.state_dict())
        other.gate.load_state_dict(self.model.gate.state_dict())
        if other is not self.model:
            other.transition.requires_grad_(False)
            other.gate.requires_grad_(False)

    def told(self) -> str:
        """What has been recorded, in words."""
        clips = 0 if self.diary is None else self.diary.clips
        short = f"; {self.skipped} clips were too short to rehearse" if self.skipped else ""
        return f"round {self.round + 1} of {self.config.rounds}: diaries of {clips} clips recorded{short}"

    def look(self) -> dict[str, float]:
        """How far imagination goes astray on diaries that are not rehearsed."""
        if self.diary is None or not self._held_out():
            return {}
        return roll_out_errors(self.model, self.diary.of_clips(slice(self.diary.clips - self._held_out(), None)))

    def learning_rate(self) -> float:
        """From round to round it falls by the same share; within each round along a cosine to a hundredth."""
        first, last = self.config.learning_rate, self.config.last_learning_rate
        base: float = first * (last / first) ** (self.round / max(1, self.config.rounds - 1))
        falling = 0.01 + 0.99 * (1 + math.cos(math.pi * self.done / self.config.updates)) / 2
        return base * min(1.0, (self.done + 1) / WARM_START) * falling

    def _held_out(self) -> int:
        return 0 if self.diary is None else int(HELD_OUT * self.diary.clips)

    def _fresh_optimiser(self) -> torch.optim.Optimizer:
        parts = [{"params": [*part.parameters()]} for part in (self.model.transition, self.model.gate)]
        return torch.optim.AdamW(parts, lr=self.config.learning_rate, betas=(0.9, 0.99), weight_decay=0.0)

    def _generator(self, purpose: str, *numbers: int) -> torch.Generator:
        """Random numbers that depend on the run's seed, the round and these numbers alone."""
        seed = self.seed * 1009 + sum(map(ord, purpose))
        for number in (self.round, *numbers):
            seed = (seed * 1_000_003 + number) % 2**31
        return torch.Generator().manual_seed(seed)

    # ---------------------------------------------------------------- stopping and going on

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """What a checkpoint keeps: the diaries and the optimiser."""
        kept: dict[str, dict[str, Tensor]] = {"rehearsal_optimiser": named_state(self.model, self.optimiser)}
        if self.diary is not None:
            kept["diaries"] = self.diary.to_tensors()
        if self.ends:
            kept["rehearsal_ends"] = self.ends
        return kept

    def values(self) -> dict[str, Any]:
        return {"round": self.round, "done": self.done, "skipped": self.skipped, "recorded": self.recorded,
                "updates": self.updates}

    def restore(self, tensors: dict[str, dict[str, Tensor]], values: dict[str, Any]) -> None:
        self.round, self.done, self.skipped = int(values["round"]), int(values["done"]), int(values["skipped"])
        self.recorded, self.updates = int(values["recorded"]), int(values["updates"])
        device = next(self.model.parameters()).device
        self.diary = Diary.from_tensors(tensors["diaries"]).to(device) if "diaries" in tensors else None
        self.ends = {name: value.to(device) for name, value in tensors.get("rehearsal_ends", {}).items()}
        restore_state(self.model, self.optimiser, tensors.get("rehearsal_optimiser", {}))


def _as_bytes(leaf: Tensor) -> Tensor:
    """Messages between processes know no truth values."""
    return leaf.to(torch.uint8) if leaf.dtype == torch.bool else leaf
