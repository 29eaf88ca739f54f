"""Watching and scoring: a model that knows everything is perfect; what cannot be scored is told and left out."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from clairvoyant import FRAMES, GONE_AT, SIZE, ClipInMemory, clairvoyant, clip_of, spec_of

from loci_looped.baselines.protocol import Slots
from loci_looped.data.clip import Clip
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments.ablation import paired_difference, put_ablation
from loci_looped.evaluation.experiments.recording import in_batches
from loci_looped.evaluation.experiments.results import Case, Curve, Results, Row
from loci_looped.evaluation.experiments.scoring import COLUMNS, ScoredClip, watch_and_score, write_table
from loci_looped.evaluation.experiments.surprise import put_surprise, slots_of_vanished
from loci_looped.evaluation.experiments.tracking import put_tracking
from loci_looped.evaluation.experiments.violations import surprise
from loci_looped.utils.errors import LociError


def specs(controls: int = 3, surprises: int = 0) -> list[ClipInMemory]:
    return [spec_of(clip_of(seed, surprise=seed >= controls)) for seed in range(controls + surprises)]


def watched(model: EvaluatedModel | None = None, controls: int = 3, surprises: int = 0) -> list[ScoredClip]:
    clips, failures = watch_and_score(model or clairvoyant(), specs(controls, surprises), "learned")
    assert not failures
    return clips


M = Case("tracking", "m", "learned")


def results() -> Results:
    return Results("tracking", {"name": "test"}, {})


def figure(found: Results, metric: str) -> Row:
    row = found.find(M, metric)
    assert row is not None
    return row


def curve(found: Results, case: Case, metric: str) -> Curve:
    drawn = found.find_curve(case, metric)
    assert drawn is not None
    return drawn


def shifted(columns: float):  # type: ignore[no-untyped-def]
    """Everything it says is so many pixels too far to the right while the ball is hidden."""
    def bend(slots: Slots, t: int, clips: Sequence[Clip]) -> Slots:
        off = torch.tensor([0.0, 2 * columns / (SIZE[1] - 1)]) * (slots.occlusion == 1).float().unsqueeze(-1)
        return dataclasses.replace(slots, positions=slots.positions + off)
    return bend


def test_a_model_that_knows_everything_is_perfect() -> None:
    found = results()
    put_tracking(found, M, watched(surprises=2))
    for name in ("visible", "occluded", "overall"):
        assert found.value(M, f"error_{name}") == pytest.approx(0, abs=1e-4)
    assert found.value(M, "successful") == found.value(M, "movers_found") == 100
    assert found.value(M, "mota") == found.value(M, "slots_per_mover") == 1
    # In the surprise clips it believes in a ball that is not there.
    assert found.value(M, "mota_surprise") < 0.8                     # type: ignore[operator]
    assert found.value(M, "mota_surprise_false_positives") > 20      # type: ignore[operator]


def test_phantoms_are_the_frames_in_which_a_vanished_ball_is_believed_in() -> None:
    found = results()
    clips = watched(surprises=2)
    put_tracking(found, M, clips)
    assert found.value(M, "false_positives_per_frame") == found.value(M, "phantom_frames") == 0
    # From the frame at which the ball was taken away: first behind the screen, then beyond its right edge. Half out,
    # its centre is on a pixel of the screen, so it may stand for that.
    surprised = [clip for clip in clips if clip.set == "surprise"]
    columns = np.stack([clip.recording.positions[:, 0, 1] for clip in surprised])
    hidden = np.stack([clip.recording.hidden[:, 0] for clip in surprised])
    expected = (np.arange(FRAMES) >= GONE_AT) & (hidden | (columns > 24.5))
    assert np.array_equal(np.stack([clip.phantoms[:, 0] for clip in surprised]), expected)
    share = figure(found, "phantom_frames_surprise")
    assert share.value == pytest.approx(100 * expected.mean()) and share.n == 2 * FRAMES
    assert found.value(M, "false_positives_per_frame_surprise") == pytest.approx((FRAMES - GONE_AT) / FRAMES)


def test_gates_are_told_apart_by_what_can_be_seen() -> None:
    found = results()
    put_tracking(found, M, watched())
    assert found.value(M, "inner_loop_occluded") == 100
    assert found.value(M, "inner_loop_visible") == pytest.approx(25)         # gates of 0.5 and 1
    assert found.value(M, "gestalt_gate_visible") == pytest.approx(0.5)
    assert found.value(M, "position_gate_occluded") == 0
    assert len(curve(found, M, "error_over_time").y) == FRAMES
    hidden = curve(found, M, "hidden_share_over_time").y
    assert hidden[5] == 0 and hidden[30] == 1


def test_an_error_while_hidden_is_an_error_of_the_hidden_frames_alone() -> None:
    found = results()
    put_tracking(found, M, watched(clairvoyant(shifted(3))))
    assert found.value(M, "error_visible") == pytest.approx(0, abs=1e-4)
    number = figure(found, "error_occluded")
    assert number.value == pytest.approx(100 * 3 / np.hypot(*SIZE), rel=1e-3)
    assert number.low == pytest.approx(number.value, rel=1e-3) and number.unit == "%" and number.n and number.n > 20
    # The released error is not zero for the visible frames either: it stretches the truth's rows twice.
    assert found.value(M, "official_error_visible") > 0.5            # type: ignore[operator]
    assert figure(found, "official_successful").n == 3            # the movers, not the screens


def test_two_models_are_compared_scene_by_scene() -> None:
    good, bad = watched(), watched(clairvoyant(shifted(3)))
    difference = paired_difference(good, bad, visible=False)
    assert difference is not None and difference.value == pytest.approx(3 / np.hypot(*SIZE), rel=1e-3)
    assert difference.low > 0
    found = results()
    first, second = Case("ablation", "good", "learned"), Case("ablation", "bad", "learned")
    put_ablation(found, {first: good, second: bad})
    assert found.value(second, "difference_occluded") == pytest.approx(100 * difference.value)
    assert found.settings["difference_from"] == ["good", "learned"]
    assert found.cases("ablation", "difference_occluded") == [second]


def pale(slots: Slots, t: int, clips: Sequence[Clip]) -> Slots:
    """Its pictures are a little too dark, in each clip by another amount."""
    assert slots.expectation is not None
    dim = torch.tensor([1 - 0.01 * (1 + (clip.seed or 0) % 4) for clip in clips]).view(-1, 1, 1, 1)
    return dataclasses.replace(slots, expectation=dataclasses.replace(
        slots.expectation, frame=slots.expectation.frame * dim))


def test_a_ball_that_does_not_come_back_is_a_surprise() -> None:
    clips = watched(clairvoyant(pale), controls=6, surprises=5)
    assert len(slots_of_vanished(clips)) == 5
    found = results()
    put_surprise(found, M, clips)
    window = M.under("reappearance")
    assert found.value(window, "n_vanished") == 5 and found.value(window, "n_control") == 6
    assert found.value(window, "t") > 5                      # type: ignore[operator]
    assert found.value(window, "p_one_sided") < 1e-3         # type: ignore[operator]
    assert found.value(window, "control_peak") < 0.01        # type: ignore[operator]
    assert found.value(M.under("correlation_slot_error"), "r") > 0.6          # type: ignore[operator]
    assert found.value(M.under("correlation_visible_mask"), "r") > 0.6        # type: ignore[operator]
    errors = curve(found, M.under("vanished"), "slot_error_over_time")
    assert errors.y[10] < 0.01 < 0.1 < errors.y[45]      # type: ignore[operator]


def test_the_same_tests_of_bits_hear_only_slots_that_are_there() -> None:
    clips = watched(clairvoyant(pale), controls=6, surprises=5)
    silent = results()
    put_surprise(silent, M, clips)
    assert silent.value(M.under("reappearance", "bits"), "t") is None      # nobody told any bits

    def told(clip: ScoredClip, bits: float) -> ScoredClip:
        said = clip.recording
        surprise = np.zeros_like(said.slot_errors)
        surprise[40:46] = bits + 0.1 * (clip.seed or 0)
        present = said.present.copy()
        present[48:] = False                                # they have let go by the time the screen falls
        surprise[48:] = 15
        return dataclasses.replace(clip, recording=dataclasses.replace(said, surprise=surprise, present=present))

    found = results()
    put_surprise(found, M, [told(clip, 6.0 if clip.set == "surprise" else 1.0) for clip in clips])
    window, later = M.under("reappearance", "bits"), M.under("screen_falls", "bits")
    assert found.value(window, "vanished_peak") == pytest.approx(6.8)
    assert found.value(window, "p_one_sided") < 1e-3         # type: ignore[operator]
    assert found.value(later, "vanished_peak") == 0


def test_in_a_matched_pair_the_violation_surprises_more() -> None:
    usual = watched(controls=1)[0]
    strange = watch_and_score(clairvoyant(), [spec_of(clip_of(0, surprise=True))], "learned")[0][0]
    for measure in ("slot", "frame"):
        assert surprise(strange, strange, measure) > surprise(usual, strange, measure)
    # Before the event nothing counts: an error at the very beginning is in both.
    recording = dataclasses.replace(usual.recording, slot_errors=np.zeros_like(usual.recording.slot_errors))
    recording.slot_errors[: GONE_AT - 1] = 9        # type: ignore[index]
    assert surprise(dataclasses.replace(usual, recording=recording), strange, "slot") == 0


def test_clips_that_cannot_be_scored_are_told_and_left_out() -> None:
    def diverges(slots: Slots, t: int, clips: Sequence[Clip]) -> Slots:
        broken = torch.tensor([clip.seed == 1 and t > 20 for clip in clips])
        positions = torch.where(broken[:, None, None], torch.nan, slots.positions)
        return dataclasses.replace(slots, positions=positions)

    films = [*specs(3), spec_of(clip_of(7, told=False))]
    clips, failures = watch_and_score(clairvoyant(diverges), films, "learned")
    assert [clip.seed for clip in clips] == [0, 2]
    assert len(failures) == 2 and "no ground truth" in failures[1] and "seed 7" in failures[1]
    assert "seed 1" in failures[0] and "is not a number" in failures[0] and "earlier checkpoint" in failures[0]


def test_a_predicted_frame_that_is_not_a_number_spoils_its_own_clip_only() -> None:
    def blind(slots: Slots, t: int, clips: Sequence[Clip]) -> Slots:
        assert slots.expectation is not None
        broken = torch.tensor([clip.seed == 0 for clip in clips]).view(-1, 1, 1, 1)
        frame = torch.where(broken, torch.nan, slots.expectation.frame)
        return dataclasses.replace(slots, expectation=dataclasses.replace(slots.expectation, frame=frame))

    clips, failures = watch_and_score(clairvoyant(blind), specs(2), "learned")
    assert [clip.seed for clip in clips] == [1] and "not numbers" in failures[0]
    with pytest.raises(LociError, match="None of the 1 clips could be scored"):
        watch_and_score(clairvoyant(blind), specs(1), "learned")


def test_an_empty_test_set_is_refused() -> None:
    with pytest.raises(LociError, match="test set is empty"):
        watch_and_score(clairvoyant(), [], "learned")


def test_the_number_of_workers_changes_nothing() -> None:
    alone, together = (
        watch_and_score(clairvoyant(shifted(1)), specs(5), "learned", batch=2, workers=n)[0] for n in (1, 3)
    )
    for one, other in zip(alone, together, strict=True):
        assert one.seed == other.seed and np.array_equal(one.table.error, other.table.error, equal_nan=True)


def test_answers_come_in_the_order_of_the_jobs_and_progress_is_told() -> None:
    said: list[tuple[str, int, int]] = []
    answers = list(in_batches(range(7), lambda part: [n * n for n in part], batch=3, workers=2,
                              on_progress=lambda *words: said.append(words), label="squares"))
    assert answers == [n * n for n in range(7)]
    assert said == [("squares", 0, 7), ("squares", 3, 7), ("squares", 6, 7), ("squares", 7, 7)]


def test_the_table_of_frames_and_slots_gives_the_figures_again(tmp_path: Path) -> None:
    clips = watched(clairvoyant(shifted(3)), controls=2)
    assert write_table(tmp_path / "rows.csv", clips) == 2 * FRAMES * 2
    with (tmp_path / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS and len(rows) == 2 * FRAMES * 2
    hidden = {"scored": "1", "screen": "0", "visible": "0"}
    errors = [float(row["error"]) for row in rows if hidden.items() <= row.items()]
    found = results()
    put_tracking(found, M, clips)
    assert 100 * np.mean(errors) == pytest.approx(found.value(M, "error_occluded"), rel=1e-4)
    assert len(errors) == figure(found, "error_occluded").n
    assert {row["object_name"] for row in rows} == {"red ball", "screen"}
