"""One call of `loci evaluate`: which models, which clips, which figures. What has been found is kept at any moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loci_looped.configs.experiments import (
    BATCH,
    DEFAULT_GATES,
    DEFAULT_SCENES,
    MODES,
    PAIRS,
    PROBABILITIES,
    PUBLISHED_PROBABILITY,
    STEPS,
    ExperimentName,
    Mode,
)
from loci_looped.configs.network import Placement
from loci_looped.configs.scenes import FIRST_VALIDATION_SEED, VIOLATIONS, BallsScenario, ViolationKind
from loci_looped.configs.surprise import ROUGH, SurpriseScale
from loci_looped.data.store.clip_cache import ProgressCallback, no_progress
from loci_looped.data.store.clip_spec import AnyClipSpec, ClipSpec
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments import ball_references, imagination, interruptions, rollout
from loci_looped.evaluation.experiments.ablation import put_ablation
from loci_looped.evaluation.experiments.imagination import ImaginedClip
from loci_looped.evaluation.experiments.imagined_films import write_imagined_films
from loci_looped.evaluation.experiments.interruptions import InterruptedClip
from loci_looped.evaluation.experiments.results import Case, Results, Row
from loci_looped.evaluation.experiments.scoring import ScoredClip, watch_and_score, write_table
from loci_looped.evaluation.experiments.slotformer import collide_specs
from loci_looped.evaluation.experiments.surprise import put_surprise
from loci_looped.evaluation.experiments.test_sets import composition, stored_specs, vanish_specs
from loci_looped.evaluation.experiments.tracking import put_tracking
from loci_looped.evaluation.experiments.violations import all_pairs, put_violations
from loci_looped.model import GateKind, LociLooped
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class Options:
    """All that decides the numbers, and (workers) how fast they come."""

    experiment: ExperimentName
    gates: tuple[GateKind, ...] = ()
    scenes: int | None = None
    movers: int | None = None
    seed: int = 0
    pairs: int = PAIRS
    kinds: tuple[ViolationKind, ...] = VIOLATIONS
    probabilities: tuple[float, ...] = PROBABILITIES
    modes: tuple[Mode, ...] = MODES
    scenario: BallsScenario = "interaction"
    steps: int = STEPS
    placement: Placement = "incremental"
    clips: Path | None = None
    lpips: bool = True
    batch: int = BATCH
    workers: int = 1

    def __post_init__(self) -> None:
        if self.scenes is not None and self.scenes < 1:
            raise LociError(f"A test set of {self.scenes} scenes is empty: ask for one or more with --scenes.")
        if self.batch < 1 or self.workers < 1:
            raise LociError(f"Batch ({self.batch}) and threads ({self.workers}) must be 1 or more.")
        for probability in self.probabilities:
            if not 0 <= probability <= 1:
                raise LociError(f"A blackout probability lies between 0 and 1, not at {probability}.")

    @property
    def used_gates(self) -> tuple[GateKind, ...]:
        return self.gates or DEFAULT_GATES[self.experiment]

    def to_json(self) -> dict[str, Any]:
        """The part that decides the numbers of this experiment, for the results."""
        relevant = {"experiment", "gates", "seed", "batch", "clips"} | {
            "tracking": {"scenes", "movers"}, "ablation": {"scenes", "movers"},
            "surprise": {"scenes", "movers", "pairs", "kinds"}, "interruptions": {"scenes", "probabilities"},
            "imagination": {"scenes", "modes", "scenario", "steps", "placement"},
        }[self.experiment]
        values = {name: value for name, value in asdict(self).items() if name in relevant and value is not None}
        values["gates"] = list(self.used_gates)
        return {name: str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
                for name, value in values.items()}


def run(
    models: Sequence[EvaluatedModel], options: Options, on_progress: ProgressCallback = no_progress
) -> list[Row]:
    """One experiment from beginning to end: every figure as a row."""
    return Evaluation(models, options, on_progress).run().rows


class Evaluation:
    """An experiment under way; `results` and what the table of clips is made of grow while it runs."""

    def __init__(
        self, models: Sequence[EvaluatedModel], options: Options, on_progress: ProgressCallback = no_progress,
        command: str = "",
    ) -> None:
        if not models:
            raise LociError("There is nothing to evaluate: name a network, a run or kalman.")
        self.models, self.options, self.on_progress = models, options, on_progress
        described = [{"name": model.name, **model.facts} for model in models]
        about = described[0] if len(described) == 1 else {**described[0], "beside": described[1:]}
        self.results = Results(options.experiment, about, options.to_json(), command)
        self.scored: list[ScoredClip] = []
        self.interrupted: list[InterruptedClip] = []
        self.imagined: list[ImaginedClip] = []

    def run(self) -> Results:
        """All of it. Afterwards, and after an interruption, the results hold what has been found."""
        {
            "tracking": self._tracking, "surprise": self._surprise, "interruptions": self._interruptions,
            "imagination": self._imagination, "ablation": self._ablation,
        }[self.options.experiment]()
        self.results.complete = True
        return self.results

    def write_table(self, path: Path) -> int:
        """Every row behind the figures; returns how many there are."""
        if self.options.experiment == "interruptions":
            return interruptions.write_interruption_table(path, self.interrupted)
        if self.options.experiment == "imagination":
            return imagination.write_imagination_table(path, self.imagined)
        return write_table(path, self.scored)

    def write_films(self, folder: Path) -> list[Path]:
        """imagination: the first sequences as imagined, beside the true ones."""
        model = self._alone()
        return write_imagined_films(folder, model, self._gates(model)[0], self._balls_specs(model))

    # -------------------------------------------------------------------------------------------- the experiments

    def _tracking(self) -> None:
        model = self._alone()
        specs = self._vanish_specs(model)
        for gate in self._gates(model):
            clips = self._watch(model, specs, gate)
            case = self._case("tracking", model, gate)
            put_tracking(self.results, case, clips)
            if gate == "learned" and isinstance(model.network, LociLooped) and self.options.clips is None:
                count = min(rollout.SCENES, self.options.scenes or rollout.SCENES)
                rollout.put_rollout(self.results, case, model, gate, count, self.options.batch)

    def _surprise(self) -> None:
        model = self._alone()
        if model.network is None:
            raise LociError("Surprise is the error of a predicted frame, but the Kalman filter predicts none: "
                            "evaluate a network instead.")
        options = self.options
        specs = self._vanish_specs(model)
        if options.clips is None and not composition(options.scenes, options.movers).surprise:
            raise LociError("This experiment needs surprise scenes: leave --movers out and ask for more scenes.")
        scale = self._scale(model)
        for gate in self._gates(model):
            clips = self._watch(model, specs, gate, scale)
            put_surprise(self.results, self._case("surprise", model, gate), clips)
            if options.clips is None and options.kinds:
                pairs = all_pairs(options.pairs, model.frame, options.seed, options.kinds)
                self.scored += put_violations(
                    self.results, self._case("violations", model, gate), model, gate, pairs, batch=options.batch,
                    workers=options.workers, on_progress=self.on_progress, seed=options.seed,
                    scale=scale,
                )

    def _scale(self, model: EvaluatedModel) -> SurpriseScale | None:
        """What is ordinary to the network; None for what has no surprise in bits."""
        if not isinstance(model.network, LociLooped):
            return None
        if model.network.surprise_scale is None:
            self.results.warn(f"What is ordinary to {model.name} has not been measured, so its surprise is told by a "
                              f"rough scale: measure it with `loci calibrate {model.name}`.")
        return model.network.surprise_scale or ROUGH

    def _interruptions(self) -> None:
        model, options = self._alone(), self.options
        if model.network is None:
            raise LociError("This experiment scores predicted frames, but the Kalman filter predicts none: "
                            "evaluate a network instead.")
        self._compare_worlds(model, "collide")
        generated = collide_specs(self._scenes(), options.seed, model.frame) if options.clips is None else []
        specs: Sequence[AnyClipSpec] = self._stored(model) or generated
        lpips = interruptions.lpips_if_fetched(self.results) if options.lpips else None
        for gate in self._gates(model):
            case = self._case("interruptions", model, gate)
            for probability in options.probabilities:
                # LPIPS takes longer than all the rest, so it is measured where the paper did.
                published = abs(probability - PUBLISHED_PROBABILITY) < 1e-9
                clips = self._sorted(interruptions.watch_interrupted(
                    model, gate, specs, probability, seed=options.seed, batch=options.batch, workers=options.workers,
                    on_progress=self.on_progress, lpips=lpips if published else None,
                ), InterruptedClip)
                self.interrupted += clips
                interruptions.put_interruptions(self.results, case.under(f"{probability:g}"), clips)
            interruptions.put_sweep(self.results, case, options.probabilities)

    def _imagination(self) -> None:
        model, options = self._alone(), self.options
        specs = self._balls_specs(model)
        self._compare_worlds(model, f"balls-{options.scenario}")
        modes = [mode for mode in options.modes if model.network is not None or mode != "auto"]
        if "imagine" in modes and not model.can_imagine:
            modes.remove("imagine")
            sentence = f"{model.name} cannot imagine without a frame: all that it knows passes through its eyes."
            if not modes:
                raise LociError(f"{sentence} Ask for --modes black or auto.")
            self.results.warn(f"{sentence} Its place in the table is empty; black frames and its own are measured.")
            empty = self._case("imagination", model, "learned").under(options.scenario, "imagine")
            imagination.put_imagination(self.results, empty, [])
        # Of stored clips nobody says by which laws their balls move, nor how large they are.
        radius = ball_references.radius_of(options.scenario) if options.clips is None else None
        for gate in self._gates(model):
            for mode in modes:
                clips = self._sorted(imagination.watch_imagining(
                    model, gate, mode, specs, steps=options.steps, placement=options.placement, seed=options.seed,
                    batch=options.batch, workers=options.workers, on_progress=self.on_progress,
                ), ImaginedClip)
                case = self._case("imagination", model, gate).under(options.scenario, mode)
                self.imagined += imagination.put_imagination(self.results, case, clips, radius)
        self._put_references(clips, radius)

    def _put_references(self, clips: Sequence[ImaginedClip], radius: float | None) -> None:
        """What the same sequences would be to those who know less than the network, or more."""
        scenario = self.options.scenario
        for reference in ball_references.REFERENCES if radius is not None else ball_references.LAWLESS:
            answers = ball_references.imagined_by(reference, clips, scenario)
            case = Case("imagination", reference.name).under(scenario, reference.knows)
            if answers:
                imagination.put_imagination(self.results, case, answers, radius)

    def _ablation(self) -> None:
        models: dict[Case, list[ScoredClip]] = {}
        sizes = {model.frame for model in self.models if model.network is not None}
        if len(sizes) > 1:
            raise LociError(f"Networks are compared on the same clips, but these work at {sorted(sizes)} pixels.")
        size = next(iter(sizes), self.models[0].frame)
        try:
            for model in self.models:
                specs = self._vanish_specs(model, size)
                for gate in self._gates(model):
                    models[self._case("ablation", model, gate)] = self._watch(model, specs, gate)
        finally:
            put_ablation(self.results, models)

    # ---------------------------------------------------------------------------------------------------- helpers

    def _alone(self) -> EvaluatedModel:
        if len(self.models) > 1:
            raise LociError("Several networks are compared by --experiment ablation; the others take one at a time.")
        return self.models[0]

    def _gates(self, model: EvaluatedModel) -> tuple[GateKind, ...]:
        return self.options.used_gates if model.has_gate else ("learned",)

    def _case(self, experiment: str, model: EvaluatedModel, gate: GateKind) -> Case:
        return Case(experiment, model.name, gate if model.has_gate else "")

    def _scenes(self) -> int:
        return self.options.scenes or DEFAULT_SCENES[self.options.experiment]

    def _stored(self, model: EvaluatedModel) -> Sequence[AnyClipSpec]:
        folder = self.options.clips
        return [] if folder is None else stored_specs(folder, model.frame)

    def _square(self, model: EvaluatedModel) -> tuple[int, int]:
        height, width = (64, 64) if model.network is None else model.frame
        if height != width:
            raise LociError(
                f"Bouncing balls are square films, but {model.name} works at {height} x {width} pixels: evaluate a "
                "network that was trained on balls, such as balls-small."
            )
        return height, width

    def _balls_specs(self, model: EvaluatedModel) -> Sequence[AnyClipSpec]:
        options = self.options
        return self._stored(model) or [
            ClipSpec(f"balls-{options.scenario}-test", options.seed + index, self._square(model))
            for index in range(self._scenes())
        ]

    def _compare_worlds(self, model: EvaluatedModel, wanted: str) -> None:
        """A network is asked about its own world, or it is said that it is not."""
        own = model.facts.get("world")
        if own is not None and str(own).startswith("films of "):
            self.results.warn(f"{model.name} was trained on {own}, not in the world {wanted}: such scenes are new to "
                              "it. Its own films are told about during training; --clips takes others, with truth.")
        elif own is not None and own != wanted:
            self.results.warn(f"{model.name} was trained in the world {own}, not in {wanted}: such scenes are new.")

    def _vanish_specs(self, model: EvaluatedModel, size: tuple[int, int] | None = None) -> Sequence[AnyClipSpec]:
        options, frame = self.options, size or model.frame
        if options.clips is not None:
            return stored_specs(options.clips, frame)
        self._compare_worlds(model, "vanish")
        wanted = composition(options.scenes, options.movers)
        specs = vanish_specs(wanted, frame, options.seed)
        self.results.settings["test_set"] = {**asdict(wanted), "size": list(frame)}
        if max(spec.seed for spec in specs) >= FIRST_VALIDATION_SEED:
            self.results.warn(
                f"Some seeds are {FIRST_VALIDATION_SEED} or more: training looks at those scenes for its "
                "validation, so they are not a clean test."
            )
        return specs

    def _watch(
        self, model: EvaluatedModel, specs: Sequence[AnyClipSpec], gate: GateKind, scale: SurpriseScale | None = None
    ) -> list[ScoredClip]:
        clips, failures = watch_and_score(
            model, specs, gate, batch=self.options.batch, workers=self.options.workers, on_progress=self.on_progress,
            scale=scale,
        )
        for sentence in failures:
            self.results.fail(sentence)
        self.scored += clips
        return clips

    def _sorted(self, answers: Any, kind: type) -> list[Any]:
        """The clips among the answers; the sentences go to the failures."""
        clips = []
        for answer in answers:
            if isinstance(answer, kind):
                clips.append(answer)
            else:
                self.results.fail(str(answer))
        if not clips:
            raise LociError(f"None of the clips could be scored. {self.results.failures[-1]}")
        return clips
