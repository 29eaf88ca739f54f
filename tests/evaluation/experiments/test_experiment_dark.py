"""Interruptions and imagination: what is shown in the dark, what is scored, and with which result."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from clairvoyant import FRAMES, SIZE, Clairvoyant, clairvoyant, clip_of, spec_of
from torch import Tensor

from loci_looped.baselines.protocol import Slots
from loci_looped.configs.experiments import SEEN, Mode
from loci_looped.data.clip import Clip
from loci_looped.evaluation.evaluated_model import EvaluatedModel
from loci_looped.evaluation.experiments import imagination, interruptions
from loci_looped.evaluation.experiments.imagination import ImaginedClip, put_imagination, watch_imagining
from loci_looped.evaluation.experiments.interruptions import (
    InterruptedClip,
    blackouts,
    put_interruptions,
    put_sweep,
    score_frames,
    watch_interrupted,
)
from loci_looped.evaluation.experiments.results import Case, Results
from loci_looped.evaluation.metrics.perceptual import PerceptualDistance
from loci_looped.inference.pixels import to_tensor
from loci_looped.utils.errors import LociError

CASE = Case("interruptions", "m", "learned")


def results() -> Results:
    return Results("interruptions", {"name": "test"}, {})


def rows(found: Results, case: Case, metric: str) -> int | None:
    """How many values are behind a figure."""
    row = found.find(case, metric)
    assert row is not None
    return row.n


class SpyModel(EvaluatedModel):
    """Keeps what the model is shown."""

    def video_model(self, clips, gate="learned", **_):  # type: ignore[no-untyped-def, override]
        spy = Clairvoyant(clips)
        original, seen = spy.step, self.facts["seen"]

        def step(frame: Tensor | None, state: int, *, blackout: Tensor | None = None) -> tuple[int, Slots]:
            seen.append((frame, blackout))
            return original(frame, state, blackout=blackout)

        spy.step = step         # type: ignore[method-assign]
        return spy


def spying() -> EvaluatedModel:
    return SpyModel("spy", None, {"seen": []}, SIZE)


# --------------------------------------------------------------------------------------------------- interruptions

def test_each_clip_has_its_own_darkness_that_only_grows() -> None:
    clips = [clip_of(seed) for seed in range(40)]
    some, more = blackouts(clips, 0.2, 0), blackouts(clips, 0.5, 0)
    assert not some[:, :6].any() and not (some & ~more).any()
    assert some[:, 6:].mean() == pytest.approx(0.2, abs=0.02) and more[:, 6:].mean() == pytest.approx(0.5, abs=0.02)
    assert len({row.tobytes() for row in some}) == 40                           # not one draw for the whole batch
    assert np.array_equal(some[7], blackouts(clips[7:8], 0.2, 0)[0])            # nor does the batch matter
    assert not np.array_equal(some, blackouts(clips, 0.2, 1))
    assert not blackouts(clips, 0.0, 0).any() and blackouts(clips, 1.0, 0)[:, 6:].all()


def test_a_perfect_prediction_has_perfect_scores() -> None:
    clip = clip_of(0)
    assert clip.truth is not None
    target = to_tensor(clip.frames[10:14])
    visible = clip.truth.visible_masks[10:14].astype(np.float64)
    masks = np.concatenate([visible, 1 - visible.sum(axis=1, keepdims=True)], axis=1)
    labels = (visible * np.array([1, 2])[:, None, None]).max(axis=1).astype(np.int64)
    scores = score_frames(target, target, masks, labels)
    assert (scores["psnr"] == 100).all() and np.allclose(scores["ssim"], 1)     # infinite, cut so that means exist
    for name in ("ari", "fg_ari", "miou", "ar"):
        assert np.allclose(scores[name], 1)
    assert np.allclose(scores["official_miou"], 0.5)                            # the released union counts twice
    assert "lpips" not in scores


def test_predictions_in_the_dark_are_told_from_those_in_the_light() -> None:
    model = spying()
    answers = list(watch_interrupted(model, "learned", [spec_of(clip_of(seed)) for seed in (1, 2)], 0.5))
    clips = [answer for answer in answers if isinstance(answer, InterruptedClip)]
    assert len(clips) == 2 and clips[0].first == 5 and len(clips[0].dark) == FRAMES - 6
    shown = np.stack([dark.numpy() for _, dark in model.facts["seen"]])       # (T - 1, B)
    assert np.array_equal(shown[5:, 1], clips[1].dark) and not shown[:6].any() and shown.any()
    found = results()
    put_interruptions(found, CASE.under("0.5"), clips)
    parts = ("blackout", "visible", "complete")
    dark, light, both = (rows(found, CASE.under("0.5", part), "ssim") for part in parts)
    assert dark and light and dark + light == 2 * (FRAMES - 6) == both
    assert found.value(CASE.under("0.5", "complete"), "ari") == pytest.approx(1, abs=0.02)
    assert found.value(CASE.under("0.5"), "blackout_rate") == pytest.approx(100 * dark / (dark + light))
    put_sweep(found, CASE, (0.5,))
    sweep = found.find_curve(CASE.under("sweep", "blackout"), "ssim")
    assert sweep is not None and sweep.x == [50.0]


def test_clips_without_truth_and_diverged_ones_are_told() -> None:
    def blind(slots: Slots, t: int, clips: Sequence[Clip]) -> Slots:
        assert slots.expectation is not None
        broken = torch.tensor([clip.seed == 0 for clip in clips]).view(-1, 1, 1, 1)
        frame = torch.where(broken, torch.nan, slots.expectation.frame)
        return dataclasses.replace(slots, expectation=dataclasses.replace(slots.expectation, frame=frame))

    films = [spec_of(clip_of(0)), spec_of(clip_of(1)), spec_of(clip_of(2, told=False))]
    answers = list(watch_interrupted(clairvoyant(blind), "learned", films, 0.2))
    assert isinstance(answers[1], InterruptedClip)
    assert "not numbers" in str(answers[0]) and "no ground truth" in str(answers[2])


def test_a_model_without_predictions_is_told() -> None:
    def plain(slots: Slots, t: int, clips: Sequence[Clip]) -> Slots:
        return dataclasses.replace(slots, expectation=None)

    with pytest.raises(LociError, match="predicts no frames"):
        list(watch_interrupted(clairvoyant(plain), "learned", [spec_of(clip_of(0))], 0.2))


def test_lpips_is_left_out_with_a_sentence() -> None:
    def absent() -> PerceptualDistance:
        raise LociError("It is not there: run `loci fetch lpips`.")

    found = results()
    assert interruptions.lpips_if_fetched(found, absent) is None
    assert found.notes == ["LPIPS was left out. It is not there: run `loci fetch lpips`."]


def test_the_rows_of_the_table(tmp_path: Path) -> None:
    answers = list(watch_interrupted(clairvoyant(), "learned", [spec_of(clip_of(3))], 0.2))
    clips = [answer for answer in answers if isinstance(answer, InterruptedClip)]
    assert interruptions.write_interruption_table(tmp_path / "t.csv", clips) == FRAMES - 6
    with (tmp_path / "t.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["frame"] == "5" and rows[0]["seed"] == "3" and float(rows[0]["ssim"]) > 0.9


# ----------------------------------------------------------------------------------------------------- imagination

def imagined(model: EvaluatedModel, mode: Mode = "black", steps: int = 20, seeds: Sequence[int] = (0, 1)
             ) -> list[ImaginedClip]:
    answers = list(watch_imagining(model, "learned", mode, [spec_of(clip_of(seed)) for seed in seeds], steps=steps))
    assert all(isinstance(answer, ImaginedClip) for answer in answers), answers
    return [answer for answer in answers if isinstance(answer, ImaginedClip)]


def test_whoever_knows_the_way_does_not_drift() -> None:
    found = results()
    put_imagination(found, CASE, imagined(clairvoyant()))
    assert found.value(CASE, "distance_sum") == pytest.approx(0, abs=1e-5)
    assert found.value(CASE, "failed") == 0 and rows(found, CASE, "distance_sum") == 2
    curve = found.find_curve(CASE, "distance_over_time")
    assert curve is not None and len(curve.y) == 20 and curve.x[0] == 1


def test_the_sum_is_over_ten_steps_in_widths_of_the_image() -> None:
    def shifted(slots: Slots, t: int, clips: Sequence[Clip]) -> Slots:
        off = torch.tensor([0.0, 2 * 3.6 / (SIZE[1] - 1)])          # 3.6 pixels: a tenth of the width
        return dataclasses.replace(slots, positions=slots.positions + off)

    found = results()
    put_imagination(found, CASE, imagined(clairvoyant(shifted)))
    assert found.value(CASE, "distance_sum") == pytest.approx(10 * 0.1, rel=1e-4)


@pytest.mark.parametrize("mode", ["black", "imagine", "auto"])
def test_what_is_shown_after_the_tenth_frame(mode: Mode) -> None:
    model = spying()
    imagined(model, mode, steps=12, seeds=(0,))
    shown = model.facts["seen"]
    assert len(shown) == SEEN + 12
    truth = to_tensor(clip_of(0).frames)
    assert all(torch.equal(frame[0], truth[t]) for t, (frame, _) in enumerate(shown[:SEEN]))
    for frame, dark in shown[SEEN:]:
        if mode == "black":
            assert float(frame.abs().max()) == 0 and bool(dark.all())
        elif mode == "imagine":
            assert frame is None and dark is None
    if mode == "auto":                  # its predictions happen to be right
        assert torch.equal(shown[SEEN][0][0], truth[SEEN])


def test_too_few_slots_are_a_failed_sequence_not_a_small_error() -> None:
    def half_empty(slots: Slots, t: int, clips: Sequence[Clip]) -> Slots:
        presence = slots.presence.clone()
        presence[:, 0] = torch.tensor([clip.seed != 0 for clip in clips])
        return dataclasses.replace(slots, presence=presence)

    found = results()
    assert len(put_imagination(found, CASE, imagined(clairvoyant(half_empty)))) == 1
    assert found.value(CASE, "failed") == 50 and rows(found, CASE, "distance_sum") == 1 and "1 of 2" in found.notes[0]
    nobody = results()
    put_imagination(nobody, CASE, imagined(clairvoyant(half_empty), seeds=(0,)))
    assert nobody.value(CASE, "distance_sum") is None and nobody.value(CASE, "failed") == 100


def test_divergence_and_short_films_are_told() -> None:
    def diverges(slots: Slots, t: int, clips: Sequence[Clip]) -> Slots:
        return dataclasses.replace(slots, positions=slots.positions * (torch.nan if t > 12 else 1))

    films = [spec_of(clip_of(0))]
    assert "not numbers" in str(next(iter(watch_imagining(clairvoyant(diverges), "learned", "black", films, steps=5))))
    assert "fewer steps" in str(next(iter(watch_imagining(clairvoyant(), "learned", "black", films, steps=FRAMES))))
    with pytest.raises(LociError, match="test set is empty"):
        list(watch_imagining(clairvoyant(), "learned", "black", [], steps=5))


def test_the_imagination_table_gives_the_distances_again(tmp_path: Path) -> None:
    clips = imagined(clairvoyant(), steps=12)
    assert imagination.write_imagination_table(tmp_path / "t.csv", clips) == 2 * 12 * 2
    with (tmp_path / "t.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["step"] == "1" and {row["ball"] for row in rows} == {"0", "1"}
    assert max(float(row["distance"]) for row in rows) < 1e-4
